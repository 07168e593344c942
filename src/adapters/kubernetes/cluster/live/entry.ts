import type { Judgement } from '../../../../model/objects/object-health/object-health.ts';
import {
  annotationOf,
  metadataOf,
  type ObjectKey,
  objectKey,
  objectRefOf,
} from '../../../../model/objects/object-key.ts';
import { sha256 } from '../../../../model/text/digest.ts';
import { canonicalJson, type JsonObject, objectOf, textOf } from '../../../../model/text/json.ts';
import type { ObservedObject } from '../../../../ports/cluster-api.ts';
import { resourcePath } from '../../api/paths.ts';
import type { ApiResource } from '../../api/types.ts';
import { DISCOVERY } from '../annotations.ts';
import { type FieldManager, type FieldSet, fieldManagers, isOurs, ourFields } from '../ownership.ts';
import { readStamp, type StampText } from '../stamp.ts';
import { type Trim, trimObject } from './trim.ts';

/** A live object with everything that is needed to judge it. */
export interface LiveEntry extends ObservedObject {
  readonly uid: string;
  /** Moves on while nothing else of the entry changes. */
  resourceVersion: string;
  /** Of the stamp as it is written; empty: there is none. */
  readonly stampDigest: string;
  /** The fields that we own, of objects that are ours; empty: none. */
  readonly fieldsText: string;
  /** {@link others} as text; empty: none. */
  readonly othersText: string;
  /** No other manager has taken a field since the content of the stamp was applied. */
  settled: boolean;
  /** An annotation excludes it from discovery. */
  readonly hidden: boolean;
  /** Equal bytes are equal values. */
  readonly content: Uint8Array;
  fields(): FieldSet;
  /** The other managers of an object that is ours, without managers of its status. */
  others(): readonly FieldManager[];
  /** When its health is to be judged again although it has not changed, in milliseconds since 1970; undefined: never. */
  readonly judgeAt?: number;
  /** As it was read, while it is to be judged again. */
  readonly raw?: JsonObject;
  /** The same entry, which is to be compared anew with what is declared. */
  again(): LiveEntry;
  /** The same entry with its health as it is judged now. Only of objects that are ours. */
  judged(judge: Judge): LiveEntry;
}

/** Judges the health of an object in the form in which an API server sends it. */
export type Judge = (raw: JsonObject) => Judgement;

/** How live objects are read. */
export interface Reading {
  readonly judge: Judge;
  /** Of objects that are not ours. */
  readonly trim: Trim;
}

/** Reads a live object in the form in which an API server sends it. Only objects that are ours are judged. */
export function readEntry(
  raw: JsonObject,
  resource: ApiResource,
  { judge, trim }: Reading,
  settled = false,
): LiveEntry {
  const key = keyOfLive(raw, resource);
  const read = readStamp(raw);
  const { stamp } = read ?? {};
  const ours = read !== undefined && stamp?.key === key;
  const metadata = metadataOf(raw);
  const fields = ours ? ourFields(raw) : undefined;
  const others = ours ? fieldManagers(raw).filter((each) => !isOurs(each) && each.subresource !== 'status') : [];
  return new Entry(resource, {
    key,
    uid: textOf(metadata.uid),
    resourceVersion: textOf(metadata.resourceVersion),
    stampDigest: read === undefined ? '' : digestOfStamp(read.text),
    fieldsText: fields === undefined ? '' : JSON.stringify(fields),
    othersText: others.length === 0 ? '' : JSON.stringify(others),
    settled,
    hidden: annotationOf(raw, DISCOVERY) === 'disabled',
    content: new TextEncoder().encode(canonicalJson(ours ? trimObject(raw) : trimObject(raw, trim))),
    ...(stamp === undefined ? {} : { stamp }),
    ...(ours ? { declared: read.declared, ...judgedParts(raw, judge), server: serverFields(metadata) } : {}),
  });
}

/** The health of an object. One whose deadline is open is kept as it was read: its rules can read what the content lacks. */
function judgedParts(raw: JsonObject, judge: Judge): Pick<Parts, 'health' | 'judgeAt' | 'raw'> {
  const { health, again } = judge(raw);
  return again === undefined ? { health } : { health, judgeAt: again, raw };
}

/** What rules of health read and the content lacks. */
function serverFields({ creationTimestamp, generation }: JsonObject): JsonObject {
  return {
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    ...(generation === undefined ? {} : { generation }),
  };
}

/** Equal digests are equal stamps of equal contents. */
export function digestOfStamp(text: StampText): string {
  return sha256(text);
}

/** The key of a live object. The kind is the resource's: items of a list have none. */
export function keyOfLive(raw: JsonObject, { group, kind }: ApiResource): ObjectKey {
  const { name, namespace } = metadataOf(raw);
  return objectKey({ group, kind, namespace: textOf(namespace), name: textOf(name) });
}

/** Whether two entries differ at most in their resourceVersion. */
export function sameEntry(a: LiveEntry, b: LiveEntry): boolean {
  return (
    a.uid === b.uid &&
    a.stampDigest === b.stampDigest &&
    a.fieldsText === b.fieldsText &&
    a.health?.state === b.health?.state &&
    a.health?.message === b.health?.message &&
    a.judgeAt === b.judgeAt &&
    Buffer.compare(a.content, b.content) === 0
  );
}

type Parts = Omit<LiveEntry, 'value' | 'where' | 'fields' | 'others' | 'again' | 'judged'> & {
  /** Metadata that the content lacks; absent: the object is not ours. */
  readonly server?: JsonObject;
};

/** A class, because getters of a literal would cost each of tens of thousands of objects functions of its own. */
class Entry implements LiveEntry {
  declare readonly key: LiveEntry['key'];
  declare readonly uid: string;
  declare resourceVersion: string;
  declare readonly stampDigest: string;
  declare readonly fieldsText: string;
  declare readonly othersText: string;
  declare settled: boolean;
  declare readonly hidden: boolean;
  declare readonly content: Uint8Array;
  declare readonly raw?: JsonObject;
  declare readonly server?: JsonObject;
  readonly #resource: ApiResource;

  constructor(resource: ApiResource, parts: Parts) {
    this.#resource = resource;
    Object.assign(this, parts);
  }

  get value(): JsonObject {
    return objectOf(JSON.parse(new TextDecoder().decode(this.content)));
  }

  get where(): string {
    const { namespace, name } = objectRefOf(this.key);
    return resourcePath({ resource: this.#resource, name, ...(namespace === '' ? {} : { namespace }) });
  }

  again(): LiveEntry {
    return new Entry(this.#resource, { ...this, settled: false });
  }

  judged(judge: Judge): LiveEntry {
    const { raw, judgeAt: _judgeAt, ...rest } = this as Parts;
    return new Entry(this.#resource, { ...rest, ...judgedParts(raw ?? this.#asRead(), judge) });
  }

  /** The object with the metadata that rules of health read. */
  #asRead(): JsonObject {
    const { value, uid, resourceVersion, server } = this;
    return { ...value, metadata: { ...metadataOf(value), ...server, uid, resourceVersion } };
  }

  fields(): FieldSet {
    return this.fieldsText === '' ? {} : objectOf(JSON.parse(this.fieldsText));
  }

  others(): readonly FieldManager[] {
    return this.othersText === '' ? [] : JSON.parse(this.othersText);
  }
}
