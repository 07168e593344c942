import type { LiveObject } from '../model/agent/agent.ts';
import type { Digest } from '../model/fleet/ids.ts';
import type { LedgerEntry } from '../model/fleet/ledger.ts';
import type { RecordedEntry, RecordedOutput } from '../model/fleet/recording.ts';
import { liveObjectOf } from '../model/objects/live-object.ts';
import type { ObjectKey } from '../model/objects/object-key.ts';
import { isKeyOfSecret } from '../model/objects/secret-values.ts';
import {
  canonicalJson,
  compareText,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  textOf,
} from '../model/text/json.ts';
import type { Collection, Input } from './collections/types.ts';
import type { Engine } from './graph.ts';
import type { FileProvenance } from './inputs.ts';

/** An entry of an input as it was at one barrier. */
export interface CapturedEntry {
  readonly input: string;
  readonly partition: string;
  readonly key: string;
  readonly value: unknown;
  readonly blob?: string;
  /** Of an entry of the ledger: the content that it names the digest of, if it is a Secret that is declared now. */
  readonly content?: JsonObject;
}

/** All inputs of the engine by name. The name of a domain's input begins with the domain, as in `health/connections`. */
export function namedInputs({ inputs, domainInputs }: Engine): ReadonlyMap<string, Input<unknown>> {
  const all: [string, Input<unknown>][] = Object.entries(inputs as Readonly<Record<string, Input<unknown>>>);
  for (const [domain, own] of Object.entries(domainInputs)) {
    for (const [name, input] of Object.entries(own)) all.push([`${domain}/${name}`, input as Input<unknown>]);
  }
  return new Map(all.sort(([a], [b]) => compareText(a, b)));
}

/** Lists the entries of all inputs, in no particular order inside of an input. Yields after each of them. */
export function* captureInputs(engine: Engine): Generator<undefined, readonly CapturedEntry[]> {
  const captured: CapturedEntry[] = [];
  for (const [name, input] of namedInputs(engine)) {
    for (const partition of input.partitions()) {
      for (const { key, value } of input.entries(partition)) {
        // A file whose removal is staged has none any more.
        const provenance = name === 'files' ? input.provenance(partition, key) : undefined;
        const { blob } = (provenance ?? {}) as Partial<FileProvenance>;
        const content = name === 'ledger' ? secretOf(engine, partition, key, value as LedgerEntry) : undefined;
        captured.push({ input: name, partition, key, value, ...(blob && { blob }), ...(content && { content }) });
        yield;
      }
    }
  }
  return captured;
}

/** The Secret that an entry of the ledger names the digest of. */
function secretOf({ outputs }: Engine, cluster: string, key: string, { digest }: LedgerEntry): JsonObject | undefined {
  if (!isKeyOfSecret(key)) return undefined;
  const output = outputs.get(cluster, key);
  return output?.type === 'object' && output.digest === digest ? output.value : undefined;
}

/** The entry as JSON. */
export function recordedEntry({ input, partition, key, value, blob }: CapturedEntry): RecordedEntry {
  const json = input === 'live' ? liveJson(value as LiveObject) : (value as JsonValue);
  return { input, partition, key, value: json, ...(blob === undefined ? {} : { blob }) };
}

function liveJson({ digest, value }: LiveObject): JsonValue {
  return { digest, value };
}

/** Returns a function that stages entries; it returns false for an input that this engine does not have. */
export function stagerOf(engine: Engine): (entry: RecordedEntry) => boolean {
  const inputs = namedInputs(engine);
  return ({ input: name, partition, key, value, blob }) => {
    const input = inputs.get(name);
    if (input === undefined) return false;
    const staged = name === 'live' ? liveObject(key, value) : value;
    input.set(partition, key, staged, blob === undefined ? undefined : { blob });
    return true;
  };
}

function liveObject(key: string, json: JsonValue): LiveObject {
  const { digest, value = null } = isJsonObject(json) ? json : {};
  return liveObjectOf(key as ObjectKey, textOf(digest) as Digest, canonicalJson(value));
}

/** What a recording says of the results, in canonical order. The content of an object is left out: its digest is there. */
export function* recordedOutputs(engine: Engine): Generator<RecordedOutput> {
  const { outputs, pending, statuses, deadlines, domains } = engine;
  const documents = domains.flatMap(({ report }) => report.documents?.of ?? []);
  const collections: readonly Collection<unknown>[] = [outputs, pending, statuses, deadlines, ...documents];
  for (const collection of collections) {
    for (const partition of [...collection.partitions()].sort(compareText)) {
      const entries = [...collection.entries(partition)].sort((a, b) => compareText(a.key, b.key));
      for (const { key, value } of entries) {
        yield { collection: collection.name, partition, key, text: canonicalJson(withoutContent(value as JsonValue)) };
      }
    }
  }
}

function withoutContent(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  if (value.type === 'object') return { ...value, value: undefined };
  if (value.type === 'upsert' && isJsonObject(value.object)) return { ...value, object: withoutContent(value.object) };
  return value;
}
