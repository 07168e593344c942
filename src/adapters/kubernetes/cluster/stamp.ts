import {
  type Digest,
  parseClusterName,
  parseDigest,
  parseFleetName,
  parseSourceName,
} from '../../../model/fleet/ids.ts';
import type { Origin } from '../../../model/fleet/output.ts';
import { metadataOf, parseObjectKey } from '../../../model/objects/object-key.ts';
import { objectDigest } from '../../../model/text/digest.ts';
import { canonicalJson, isJsonObject, type JsonObject, objectOf, textOf } from '../../../model/text/json.ts';
import { must } from '../../../model/values/result.ts';
import type { ApplyRequest, Stamp } from '../../../ports/cluster-api.ts';

/** For label selectors. It proves no ownership: controllers copy labels to the objects that they create. */
export const FLEET_LABEL = 'fleetrelay.dev/fleet';

const FLEET = 'fleetrelay.dev/fleet';
const OBJECT = 'fleetrelay.dev/object';
const ORIGINS = 'fleetrelay.dev/origins';
const SCOPE = 'fleetrelay.dev/scope';
const NONCE = 'fleetrelay.dev/nonce';
const DIGEST = 'fleetrelay.dev/digest';
const ANNOTATIONS: readonly string[] = [FLEET, OBJECT, NONCE, ORIGINS, SCOPE, DIGEST];

/** The annotations of a stamp in canonical form. Equal texts are equal stamps of equal contents. */
export type StampText = string;

const digests = new WeakMap<JsonObject, string>();

/** The stamp that a request writes on its object, with the digest of the declared value. */
export function stampTextOf(request: ApplyRequest): StampText {
  return canonicalJson(stampAnnotations(request.stamp, request.digest ?? declaredDigest(request.value)));
}

/** The object with the stamp on it. */
export function withStamp(value: JsonObject, request: ApplyRequest): JsonObject {
  const { labels, annotations, ...metadata } = metadataOf(value);
  return {
    ...value,
    metadata: {
      ...metadata,
      labels: { ...objectOf(labels), [FLEET_LABEL]: request.stamp.fleet },
      annotations: {
        ...without(objectOf(annotations), ANNOTATIONS),
        ...stampAnnotations(request.stamp, request.digest ?? declaredDigest(request.value)),
      },
    },
  };
}

/** The object without a stamp, and without labels and annotations that are empty then. */
export function withoutStamp(value: JsonObject): JsonObject {
  const { labels, annotations, ...metadata } = metadataOf(value);
  const bare = {
    ...metadata,
    ...(isJsonObject(labels) ? unlessEmpty('labels', without(labels, [FLEET_LABEL])) : {}),
    ...(isJsonObject(annotations) ? unlessEmpty('annotations', without(annotations, ANNOTATIONS)) : {}),
  };
  return { ...value, metadata: bare };
}

/** The stamp of a live object. */
export interface ReadStamp {
  readonly text: StampText;
  /** Undefined: it cannot be parsed, and proves no ownership. */
  readonly stamp: Stamp | undefined;
  /** The digest of the declared value; a digest that no value has if the stamp lacks it. */
  readonly declared: Digest;
}

const NO_CONTENT = must(parseDigest('0'.repeat(64)));

/** Undefined: the object has no stamp, or one of another fleet than its label. */
export function readStamp(value: JsonObject): ReadStamp | undefined {
  const { labels, annotations } = metadataOf(value);
  const parts = objectOf(annotations);
  if (parts[OBJECT] === undefined) return undefined;
  const { [FLEET_LABEL]: label = parts[FLEET] } = objectOf(labels);
  if (label !== parts[FLEET]) return undefined;
  const declared = parseDigest(textOf(parts[DIGEST]));
  return {
    text: canonicalJson(Object.fromEntries(ANNOTATIONS.map((name) => [name, parts[name]]))),
    stamp: stampOf(parts),
    declared: declared.ok ? declared.value : NO_CONTENT,
  };
}

function stampOf(annotations: JsonObject): Stamp | undefined {
  const fleet = parseFleetName(textOf(annotations[FLEET]));
  const key = parseObjectKey(textOf(annotations[OBJECT]));
  if (!fleet.ok || !key.ok) return undefined;
  const clusters = textOf(annotations[SCOPE]).split(',').map(parseClusterName);
  const scope = clusters.flatMap((cluster) => (cluster.ok ? [cluster.value] : []));
  const nonce = textOf(annotations[NONCE]);
  return { fleet: fleet.value, key: key.value, nonce, origins: originsOf(textOf(annotations[ORIGINS])), scope };
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
    [NONCE]: stamp.nonce,
    [ORIGINS]: listed(stamp.origins.map(({ source, path }) => `${source}:${toItem(path)}`)),
    ...(stamp.scope.length === 0 ? {} : { [SCOPE]: listed(stamp.scope) }),
    [DIGEST]: digest,
  };
}

/** An API server accepts 256 KiB of annotations in all; some of it stays free for others. */
const LIST_BYTES = 48 * 1024;

/** As many items as fit, and the number of the others, which no reader takes for an item. The inventory has all of them. */
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

/** Escapes the characters that separate items and lines. */
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
