import { parseClusterName, parseFleetName, parseSourceName } from '../../model/fleet/ids.ts';
import type { Origin } from '../../model/fleet/output.ts';
import { metadataOf, parseObjectKey } from '../../model/objects/object-key.ts';
import { compareText, type JsonObject, jsonEquals, objectOf, textOf } from '../../model/text/json.ts';
import type { Stamp } from '../../ports/cluster-api.ts';

/** The annotations of the stamp, which names the owner of an object. */
export const FLEET_ANNOTATION = 'fleetrelay.dev/fleet';
export const OBJECT_ANNOTATION = 'fleetrelay.dev/object';
const ORIGIN_ANNOTATION = 'fleetrelay.dev/origin';
const SCOPE_ANNOTATION = 'fleetrelay.dev/scope';
export const NONCE_ANNOTATION = 'fleetrelay.dev/nonce';
const ANNOTATIONS: readonly string[] = [
  FLEET_ANNOTATION,
  OBJECT_ANNOTATION,
  NONCE_ANNOTATION,
  ORIGIN_ANNOTATION,
  SCOPE_ANNOTATION,
];

/**
 * The object with the stamp, its identity first. So the stamp is near the beginning of the file, and the owner of a file
 * that a power failure truncated is still known.
 */
export function withStamp(value: JsonObject, stamp: Stamp): JsonObject {
  const bare = withoutStamp(value);
  const metadata = metadataOf(bare);
  const annotations = ordered({ ...objectOf(metadata.annotations), ...stampAnnotations(stamp) }, ANNOTATIONS);
  const names = ['name', 'namespace', 'annotations', 'labels'];
  return ordered({ ...bare, metadata: ordered({ ...metadata, annotations }, names) }, [
    'apiVersion',
    'kind',
    'metadata',
  ]);
}

/**
 * The object without its stamp. Empty annotations are removed, because a stamp hides whether the object had them. Two
 * objects count as equal if the results of this function are equal.
 */
export function withoutStamp(value: JsonObject): JsonObject {
  const { annotations, ...others } = metadataOf(value);
  if (annotations === undefined) return value;
  const kept = Object.entries(objectOf(annotations)).filter(([name]) => !ANNOTATIONS.includes(name));
  return { ...value, metadata: kept.length === 0 ? others : { ...others, annotations: Object.fromEntries(kept) } };
}

/** The stamp of an object; undefined if there is none, or if it is invalid (then fleetrelay does not own the object). */
export function stampOf(value: JsonObject): Stamp | undefined {
  const annotations = objectOf(metadataOf(value).annotations);
  const fleet = parseFleetName(textOf(annotations[FLEET_ANNOTATION]));
  const key = parseObjectKey(textOf(annotations[OBJECT_ANNOTATION]));
  if (!fleet.ok || !key.ok) return undefined;
  const scope = textOf(annotations[SCOPE_ANNOTATION])
    .split(',')
    .flatMap((name) => {
      const parsed = parseClusterName(name);
      return parsed.ok ? [parsed.value] : [];
    });
  const nonce = textOf(annotations[NONCE_ANNOTATION]);
  const origins = originsOf(textOf(annotations[ORIGIN_ANNOTATION]));
  return { fleet: fleet.value, key: key.value, nonce, origins, scope };
}

/** Whether two stamps have equal annotations. */
export function sameStamp(a: Stamp, b: Stamp | undefined): boolean {
  return jsonEquals(stampAnnotations(a), b === undefined ? undefined : stampAnnotations(b));
}

function stampAnnotations(stamp: Stamp): JsonObject {
  return {
    [FLEET_ANNOTATION]: stamp.fleet,
    [OBJECT_ANNOTATION]: stamp.key,
    [NONCE_ANNOTATION]: stamp.nonce,
    [ORIGIN_ANNOTATION]: stamp.origins.map(({ source, path }) => `${source}:${toOneLine(path)}`).join('\n'),
    ...(stamp.scope.length === 0 ? {} : { [SCOPE_ANNOTATION]: stamp.scope.join(',') }),
  };
}

function originsOf(lines: string): readonly Origin[] {
  return lines.split('\n').flatMap((line) => {
    const colon = line.indexOf(':');
    const source = parseSourceName(line.slice(0, Math.max(0, colon)));
    return source.ok ? [{ source: source.value, path: fromOneLine(line.slice(colon + 1)) }] : [];
  });
}

/** Escapes line breaks, so that one origin is one line. */
function toOneLine(path: string): string {
  return path.replaceAll('%', '%25').replaceAll('\n', '%0A').replaceAll('\r', '%0D');
}

function fromOneLine(path: string): string {
  return path.replaceAll('%0D', '\r').replaceAll('%0A', '\n').replaceAll('%25', '%');
}

/** The members that `first` names, in its order; then the others in name order. */
function ordered(value: JsonObject, first: readonly string[]): JsonObject {
  const others = Object.keys(value).filter((name) => !first.includes(name));
  const names = [...first.filter((name) => value[name] !== undefined), ...others.sort(compareText)];
  return Object.fromEntries(names.map((name) => [name, value[name]]));
}
