import { parseClusterName, parseFleetName, parseSourceName } from '../../model/ids.ts';
import { compareText, isJsonObject, type JsonObject, jsonEquals } from '../../model/json.ts';
import { objectOf, textOf } from '../../model/json-fields.ts';
import { parseObjectKey } from '../../model/object-key.ts';
import type { Origin } from '../../model/output.ts';
import type { Stamp } from '../../ports/cluster-api.ts';

/** The annotations that say whose an object is. */
export const FLEET_ANNOTATION = 'fleetrelay.dev/fleet';
export const OBJECT_ANNOTATION = 'fleetrelay.dev/object';
const ORIGIN_ANNOTATION = 'fleetrelay.dev/origin';
const SCOPE_ANNOTATION = 'fleetrelay.dev/scope';
const ANNOTATIONS: readonly string[] = [FLEET_ANNOTATION, OBJECT_ANNOTATION, ORIGIN_ANNOTATION, SCOPE_ANNOTATION];

/**
 * The object with the stamp on it, identity first. The stamp is near the beginning of its file whatever else the object
 * holds: of a file that ends early after a power failure it can still be told whose it is.
 */
export function withStamp(value: JsonObject, stamp: Stamp): JsonObject {
  const bare = withoutStamp(value);
  const metadata = objectOf(bare.metadata);
  const annotations = objectOf(metadata.annotations);
  return ordered(
    {
      ...bare,
      metadata: ordered(
        { ...metadata, annotations: ordered({ ...annotations, ...stampAnnotations(stamp) }, ANNOTATIONS) },
        ['name', 'namespace', 'annotations', 'labels'],
      ),
    },
    ['apiVersion', 'kind', 'metadata'],
  );
}

/**
 * The object as if it had never been stamped. Empty annotations are left out, since a stamp hides whether they were
 * there; two values are the same for us when what this returns is.
 */
export function withoutStamp(value: JsonObject): JsonObject {
  const metadata = value.metadata;
  if (!isJsonObject(metadata) || metadata.annotations === undefined) return value;
  const { annotations, ...others } = metadata;
  const kept = isJsonObject(annotations)
    ? Object.fromEntries(Object.entries(annotations).filter(([name]) => !ANNOTATIONS.includes(name)))
    : {};
  return { ...value, metadata: Object.keys(kept).length === 0 ? others : { ...others, annotations: kept } };
}

/** The stamp on an object; undefined if there is none, or if it cannot be read (then it owns nothing). */
export function stampOf(value: JsonObject): Stamp | undefined {
  const metadata = value.metadata;
  const annotations = isJsonObject(metadata) ? metadata.annotations : undefined;
  if (!isJsonObject(annotations)) return undefined;
  const fleet = parseFleetName(textOf(annotations[FLEET_ANNOTATION]));
  const key = parseObjectKey(textOf(annotations[OBJECT_ANNOTATION]));
  if (!fleet.ok || !key.ok) return undefined;
  const scope = textOf(annotations[SCOPE_ANNOTATION])
    .split(',')
    .flatMap((name) => {
      const parsed = parseClusterName(name);
      return parsed.ok ? [parsed.value] : [];
    });
  return { fleet: fleet.value, key: key.value, origins: originsOf(textOf(annotations[ORIGIN_ANNOTATION])), scope };
}

/** Do two stamps say the same? */
export function sameStamp(a: Stamp, b: Stamp | undefined): boolean {
  const said = b === undefined ? undefined : stampAnnotations(b);
  return jsonEquals(stampAnnotations(a), said);
}

function stampAnnotations(stamp: Stamp): JsonObject {
  return {
    [FLEET_ANNOTATION]: stamp.fleet,
    [OBJECT_ANNOTATION]: stamp.key,
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

/** One origin is one line, whatever its path holds. */
function toOneLine(path: string): string {
  return path.replaceAll('%', '%25').replaceAll('\n', '%0A').replaceAll('\r', '%0D');
}

function fromOneLine(path: string): string {
  return path.replaceAll('%0D', '\r').replaceAll('%0A', '\n').replaceAll('%25', '%');
}

function ordered(value: JsonObject, first: readonly string[]): JsonObject {
  const names = [
    ...first.filter((name) => value[name] !== undefined),
    ...Object.keys(value)
      .filter((name) => !first.includes(name))
      .sort(compareText),
  ];
  return Object.fromEntries(names.map((name) => [name, value[name]]));
}
