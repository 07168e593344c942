import { sha256 } from '../../../../model/digest.ts';
import type { Digest } from '../../../../model/ids.ts';
import { canonicalJson, type JsonObject, objectOf, textOf } from '../../../../model/json.ts';
import { type ObjectHealth, objectHealth } from '../../../../model/object-health.ts';
import { annotationOf, metadataOf, type ObjectKey, objectKey, objectRefOf } from '../../../../model/object-key.ts';
import type { ObservedObject, Stamp } from '../../../../ports/cluster-api.ts';
import { resourcePath } from '../../api/paths.ts';
import type { ApiResource } from '../../api/types.ts';
import { DISCOVERY } from '../annotations.ts';
import { type FieldSet, ourFields } from '../field-ownership.ts';
import { digestInStamp, parseStamp, readStampText, type StampText } from '../stamp.ts';
import { trimObject } from './trim.ts';

/** A live object and what is needed to judge it. */
export interface LiveEntry extends ObservedObject {
  readonly uid: string;
  /** Goes on while nothing else changes. */
  resourceVersion: string;
  /** Of the stamp as it is written; empty: there is none. */
  readonly stampDigest: string;
  /** The fields that are held by us, only of objects that are ours; empty: none. */
  readonly fieldsText: string;
  /** These fields are what came of applying what the stamp says: nobody has taken any of them since. */
  settled: boolean;
  /** Somebody has said that it is not to be discovered. */
  readonly hidden: boolean;
  /** Equal texts are equal values. */
  readonly content: Uint8Array;
  fields(): FieldSet;
  /** The same, to be judged anew. */
  again(): LiveEntry;
}

/** Reads a live object as an API server hands it over. */
export function readEntry(raw: JsonObject, resource: ApiResource, settled = false): LiveEntry {
  const key = keyOfLive(raw, resource);
  const stampText = readStampText(raw);
  const stamp = stampText === undefined ? undefined : parseStamp(stampText);
  const ours = stamp?.key === key;
  const metadata = metadataOf(raw);
  const mine = ours ? ourFields(raw) : undefined;
  return new Entry(key, resource, {
    uid: textOf(metadata.uid),
    resourceVersion: textOf(metadata.resourceVersion),
    stampDigest: stampText === undefined ? '' : digestOfStamp(stampText),
    stamp: ours ? { ...stamp, key } : stamp,
    declared: ours && stampText !== undefined ? digestInStamp(stampText) : undefined,
    fieldsText: mine === undefined ? '' : JSON.stringify(mine),
    settled,
    hidden: annotationOf(raw, DISCOVERY) === 'disabled',
    content: new TextEncoder().encode(canonicalJson(trimObject(raw, ours))),
    health: ours ? objectHealth(raw) : undefined,
  });
}

/** Equal digests are equal stamps of equal contents. */
export function digestOfStamp(text: StampText): string {
  return sha256(text);
}

/** The key of a live object: the kind is the resource's, since an API server may leave it out in lists. */
export function keyOfLive(raw: JsonObject, { group, kind }: ApiResource): ObjectKey {
  const { name, namespace } = metadataOf(raw);
  return objectKey({ group, kind, namespace: textOf(namespace), name: textOf(name) });
}

/** Do two entries tell the same? Their versions may differ. */
export function sameEntry(a: LiveEntry, b: LiveEntry): boolean {
  return (
    a.uid === b.uid &&
    a.stampDigest === b.stampDigest &&
    a.fieldsText === b.fieldsText &&
    a.health?.state === b.health?.state &&
    a.health?.message === b.health?.message &&
    Buffer.compare(a.content, b.content) === 0
  );
}

type Parts = Pick<
  LiveEntry,
  'uid' | 'resourceVersion' | 'stampDigest' | 'fieldsText' | 'settled' | 'hidden' | 'content'
> & {
  readonly stamp: Stamp | undefined;
  readonly declared: Digest | undefined;
  readonly health: ObjectHealth | undefined;
};

/** A class, because getters of a literal would cost each of tens of thousands of objects functions of its own. */
class Entry implements LiveEntry {
  readonly key: ObjectKey;
  readonly uid: string;
  resourceVersion: string;
  readonly stampDigest: string;
  readonly fieldsText: string;
  settled: boolean;
  readonly hidden: boolean;
  readonly content: Uint8Array;
  declare readonly stamp?: Stamp;
  declare readonly declared?: Digest;
  declare readonly health?: ObjectHealth;
  readonly #resource: ApiResource;

  constructor(key: ObjectKey, resource: ApiResource, parts: Parts) {
    this.key = key;
    this.uid = parts.uid;
    this.resourceVersion = parts.resourceVersion;
    this.stampDigest = parts.stampDigest;
    this.fieldsText = parts.fieldsText;
    this.settled = parts.settled;
    this.hidden = parts.hidden;
    this.content = parts.content;
    this.#resource = resource;
    if (parts.stamp !== undefined) this.stamp = parts.stamp;
    if (parts.declared !== undefined) this.declared = parts.declared;
    if (parts.health !== undefined) this.health = parts.health;
  }

  get value(): JsonObject {
    return parseObject(new TextDecoder().decode(this.content));
  }

  get where(): string {
    const { namespace, name } = objectRefOf(this.key);
    return resourcePath({ resource: this.#resource, name, ...(namespace === '' ? {} : { namespace }) });
  }

  again(): LiveEntry {
    const { health, stamp, declared } = this;
    return new Entry(this.key, this.#resource, { ...this, health, stamp, declared, settled: false });
  }

  fields(): FieldSet {
    return this.fieldsText === '' ? {} : parseObject(this.fieldsText);
  }
}

function parseObject(text: string): JsonObject {
  return objectOf(JSON.parse(text));
}
