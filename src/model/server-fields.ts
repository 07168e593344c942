import { isJsonObject, type JsonObject } from './json.ts';
import { LAST_APPLIED } from './secret-values.ts';

/** Metadata that only an API server sets and that carries no information about the object. */
export const SERVERS_OWN: readonly string[] = [
  'creationTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'managedFields',
  'resourceVersion',
  'selfLink',
  'uid',
];

/** Of them, what is read of live objects of a kind. */
const KIND_FIELDS: Readonly<Record<string, readonly string[]>> = {
  // EndpointSlices name a Pod by its UID, and its deletion begins a grace period before its time.
  Pod: ['deletionGracePeriodSeconds', 'uid'],
  // People are shown the age of a Shoot.
  Shoot: ['creationTimestamp', 'generation'],
};
/** Of them, what is read of other live objects: a status can be of an earlier generation. */
const LIVE_FIELDS: readonly string[] = ['generation'];

/** The metadata of a custom resource of this kind without what only an API server sets, and without kubectl's copy of the manifest. */
export function withoutServerFields(metadata: JsonObject, kind: string): JsonObject {
  return withoutUnread(metadata, kind === 'Shoot' ? ['creationTimestamp'] : []);
}

/** The metadata of a live object of this kind without what only an API server sets and nothing reads. */
export function liveMetadata(metadata: JsonObject, kind: string): JsonObject {
  const ofKind = Object.hasOwn(KIND_FIELDS, kind) ? KIND_FIELDS[kind] : undefined;
  return withoutUnread(metadata, ofKind ?? LIVE_FIELDS);
}

function withoutUnread(metadata: JsonObject, read: readonly string[]): JsonObject {
  const kept = Object.fromEntries(
    Object.entries(metadata).filter(([name]) => !SERVERS_OWN.includes(name) || read.includes(name)),
  );
  const { annotations, ...others } = kept;
  if (!isJsonObject(annotations) || annotations[LAST_APPLIED] === undefined) return kept;
  const { [LAST_APPLIED]: _lastApplied, ...rest } = annotations;
  return Object.keys(rest).length === 0 ? others : { ...others, annotations: rest };
}
