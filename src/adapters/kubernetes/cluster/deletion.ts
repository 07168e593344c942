import { isJsonObject, type JsonObject, type JsonValue } from '../../../model/json.ts';
import { metadataOf, objectsOf, textOf } from './annotations.ts';

/** It has been asked to go, by whomever. */
export function isBeingDeleted(live: JsonObject): boolean {
  return metadataOf(live).deletionTimestamp !== undefined;
}

/** What keeps an object that is being deleted, in words. */
export function whatHolds(live: JsonObject): string {
  const { spec, status } = live;
  const finalizers = [
    ...texts(metadataOf(live).finalizers),
    ...(live.kind === 'Namespace' && isJsonObject(spec) ? texts(spec.finalizers) : []),
  ];
  const held = finalizers.length === 0 ? 'it is given time to end' : `held by finalizers: ${finalizers.join(', ')}`;
  const said = live.kind === 'Namespace' && isJsonObject(status) ? objectsOf(status.conditions) : [];
  // A Namespace that does not end says in its conditions what is still in it.
  const reasons = said.filter(({ status: is }) => is === 'True').map(({ message }) => textOf(message));
  return [held, ...reasons].join('; ');
}

function texts(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
