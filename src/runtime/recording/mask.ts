import type { Engine } from '../../engine/graph.ts';
import type { CapturedEntry } from '../../engine/recording.ts';
import { objectDigest } from '../../model/digest.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../../model/json.ts';
import { metadataOf, type ObjectKey } from '../../model/object-key.ts';
import type { RecordedEntry } from '../../model/recording.ts';

/** A keyed hash in hex, under a key that only this recording has. */
export type KeyedHash = (text: string) => string;

const SECRET = '/Secret/';
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * Replaces the values of Secrets by keyed hashes, and digests of Secrets by those of the masked ones, so that an engine
 * computes from the masked entries what it computes from the others. A digest whose content is not known, and the blob of a
 * file with a Secret, become keyed hashes, too, so that no value can be found by trying.
 */
export function createMask(hash: KeyedHash, engine: Engine, captured: readonly CapturedEntry[]) {
  const digests = digestsOfSecrets(hash, engine, captured);
  const digestOf = (digest: string): string => digests.get(digest) ?? hash(digest);

  const ofSecret = (value: JsonValue): JsonValue =>
    isJsonObject(value) && typeof value.digest === 'string' ? { ...value, digest: digestOf(value.digest) } : value;

  return (entry: RecordedEntry): RecordedEntry => {
    const { input, key, value } = entry;
    if (input === 'files') return maskFile(hash, entry);
    if (!key.startsWith(SECRET)) return entry;
    if (input !== 'live') return { ...entry, value: ofSecret(value) };
    const masked = maskSecret(hash, objectOf(objectOf(value).value));
    return { ...entry, value: { digest: objectDigest(masked), value: masked } };
  };
}

/** The digest of each masked Secret by that of the Secret. */
function digestsOfSecrets(
  hash: KeyedHash,
  { outputs }: Engine,
  captured: readonly CapturedEntry[],
): ReadonlyMap<string, string> {
  const digests = new Map<string, string>();
  for (const { input, partition, key } of captured) {
    if (input !== 'ledger' || !key.startsWith(SECRET)) continue;
    const output = outputs.get(partition, key as ObjectKey);
    if (output?.type !== 'object' || digests.has(output.digest)) continue;
    digests.set(output.digest, objectDigest(maskSecret(hash, output.value)));
  }
  return digests;
}

function maskFile(hash: KeyedHash, entry: RecordedEntry): RecordedEntry {
  const { blob } = entry;
  const value = objectOf(entry.value);
  const documents = Array.isArray(value.documents) ? value.documents : [];
  if (!documents.some(isSecretDocument)) return entry;
  const masked = documents.map((document) => (isSecretDocument(document) ? maskDocument(hash, document) : document));
  return {
    ...entry,
    value: { ...value, documents: masked },
    ...(blob === undefined ? {} : { blob: hash(blob) }),
  };
}

function isSecretDocument(document: JsonValue): document is JsonObject {
  const { type, ref } = objectOf(objectOf(document).content);
  const { group, kind } = objectOf(ref);
  return type === 'object' && group === '' && kind === 'Secret';
}

function maskDocument(hash: KeyedHash, document: JsonObject): JsonObject {
  const content = objectOf(document.content);
  const value = maskSecret(hash, objectOf(content.value));
  return { ...document, content: { ...content, value, digest: objectDigest(value) } };
}

/** A Secret with keyed hashes in the place of its values. */
export function maskSecret(hash: KeyedHash, value: JsonObject): JsonObject {
  const { data, stringData } = value;
  const metadata = metadataOf(value);
  const annotations = objectOf(metadata.annotations);
  const applied = annotations[LAST_APPLIED];
  return {
    ...value,
    ...(data === undefined ? {} : { data: maskValues(hash, data, (text) => Buffer.from(text).toString('base64')) }),
    ...(stringData === undefined ? {} : { stringData: maskValues(hash, stringData, (text) => text) }),
    ...(applied === undefined
      ? {}
      : { metadata: { ...metadata, annotations: { ...annotations, [LAST_APPLIED]: hash(textOf(applied)) } } }),
  };
}

function maskValues(hash: KeyedHash, values: JsonValue, encode: (text: string) => string): JsonValue {
  if (!isJsonObject(values)) return encode(hash(JSON.stringify(values)));
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, encode(hash(JSON.stringify(value ?? null)))]),
  );
}
