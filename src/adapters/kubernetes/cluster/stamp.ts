import { objectDigest } from '../../../model/digest.ts';
import { type Digest, parseClusterName, parseDigest, parseFleetName, parseSourceName } from '../../../model/ids.ts';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../../../model/json.ts';
import { metadataOf, parseObjectKey } from '../../../model/object-key.ts';
import type { Origin } from '../../../model/output.ts';
import { must } from '../../../model/result.ts';
import type { ApplyRequest, Stamp } from '../../../ports/cluster-api.ts';

/** For label selectors; owns nothing, since controllers copy labels to what they make. */
export const FLEET_LABEL = 'fleetrelay.dev/fleet';

const FLEET = 'fleetrelay.dev/fleet';
const OBJECT = 'fleetrelay.dev/object';
const ORIGINS = 'fleetrelay.dev/origins';
const SCOPE = 'fleetrelay.dev/scope';
const DIGEST = 'fleetrelay.dev/digest';
const ANNOTATIONS: readonly string[] = [FLEET, OBJECT, ORIGINS, SCOPE, DIGEST];

/** The stamp as it is written on an object; equal texts are equal stamps of equal contents. */
export type StampText = string;

const digests = new WeakMap<JsonObject, string>();

/** What the stamp of a request will be on the object: the digest of what is declared is a part of it. */
export function stampTextOf({ stamp, value }: ApplyRequest): StampText {
  return canonicalJson(stampAnnotations(stamp, declaredDigest(value)));
}

/** The object with the stamp on it. */
export function withStamp(value: JsonObject, { stamp, value: declared }: ApplyRequest): JsonObject {
  const { labels, annotations, ...metadata } = metadataOf(value);
  return {
    ...value,
    metadata: {
      ...metadata,
      labels: { ...objectOf(labels), [FLEET_LABEL]: stamp.fleet },
      annotations: {
        ...without(objectOf(annotations), ANNOTATIONS),
        ...stampAnnotations(stamp, declaredDigest(declared)),
      },
    },
  };
}

/** The object as if it had never been stamped; empty labels and annotations are left out. */
export function withoutStamp(value: JsonObject): JsonObject {
  const { labels, annotations, ...metadata } = metadataOf(value);
  const bare = {
    ...metadata,
    ...(isJsonObject(labels) ? unlessEmpty('labels', without(labels, [FLEET_LABEL])) : {}),
    ...(isJsonObject(annotations) ? unlessEmpty('annotations', without(annotations, ANNOTATIONS)) : {}),
  };
  return { ...value, metadata: bare };
}

/** The stamp on a live object; undefined if there is none. One that contradicts the object's label is none. */
export function readStampText(value: JsonObject): StampText | undefined {
  const { labels, annotations } = metadataOf(value);
  if (!isJsonObject(annotations) || annotations[OBJECT] === undefined) return undefined;
  const label = isJsonObject(labels) ? labels[FLEET_LABEL] : undefined;
  if (label !== undefined && label !== annotations[FLEET]) return undefined;
  const said = Object.fromEntries(
    ANNOTATIONS.filter((name) => annotations[name] !== undefined).map((name) => [name, annotations[name]]),
  );
  return canonicalJson(said);
}

/** What a stamp says; undefined if it cannot be read (then it owns nothing). */
export function parseStamp(text: StampText): Stamp | undefined {
  const said: JsonValue = JSON.parse(text);
  if (!isJsonObject(said)) return undefined;
  const fleet = parseFleetName(textOf(said[FLEET]));
  const key = parseObjectKey(textOf(said[OBJECT]));
  if (!fleet.ok || !key.ok) return undefined;
  const scope = textOf(said[SCOPE])
    .split(',')
    .flatMap((name) => {
      const parsed = parseClusterName(name);
      return parsed.ok ? [parsed.value] : [];
    });
  return { fleet: fleet.value, key: key.value, origins: originsOf(textOf(said[ORIGINS])), scope };
}

const NO_CONTENT = must(parseDigest('0'.repeat(64)));

/** The digest of what was declared, as a stamp says it; one that no content has if it says none. */
export function digestInStamp(text: StampText): Digest {
  const said: JsonValue = JSON.parse(text);
  const digest = parseDigest(isJsonObject(said) ? textOf(said[DIGEST]) : '');
  return digest.ok ? digest.value : NO_CONTENT;
}

function declaredDigest(value: JsonObject): string {
  const known = digests.get(value);
  if (known !== undefined) return known;
  const digest = objectDigest(value);
  digests.set(value, digest);
  return digest;
}

function stampAnnotations(stamp: Stamp, digest: string): JsonObject {
  return {
    [FLEET]: stamp.fleet,
    [OBJECT]: stamp.key,
    [ORIGINS]: listed(stamp.origins.map(({ source, path }) => `${source}:${toItem(path)}`)),
    ...(stamp.scope.length === 0 ? {} : { [SCOPE]: listed(stamp.scope) }),
    [DIGEST]: digest,
  };
}

/** An API server takes 256 KiB of annotations in all, and people want some of it. */
const LIST_BYTES = 48 * 1024;

/** As many as there is room for; the inventory has them all. How many were left out is no item to whoever reads it. */
function listed(items: readonly string[]): string {
  let bytes = 0;
  const fitting = items.findIndex((item) => {
    bytes += Buffer.byteLength(item) + 1;
    return bytes > LIST_BYTES;
  });
  if (fitting < 0) return items.join(',');
  return [...items.slice(0, fitting), `+${items.length - fitting} more`].join(',');
}

function originsOf(text: string): readonly Origin[] {
  return text.split(',').flatMap((item) => {
    const colon = item.indexOf(':');
    const source = parseSourceName(item.slice(0, Math.max(0, colon)));
    return source.ok ? [{ source: source.value, path: fromItem(item.slice(colon + 1)) }] : [];
  });
}

/** One origin is one item, whatever its path holds. */
function toItem(path: string): string {
  return path.replaceAll('%', '%25').replaceAll(',', '%2C').replaceAll('\n', '%0A').replaceAll('\r', '%0D');
}

function fromItem(path: string): string {
  return path.replaceAll('%0D', '\r').replaceAll('%0A', '\n').replaceAll('%2C', ',').replaceAll('%25', '%');
}

function without(members: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));
}

function unlessEmpty(name: string, members: JsonObject): JsonObject {
  return Object.keys(members).length === 0 ? {} : { [name]: members };
}
