import type { CapturedEntry } from '../../engine/recording.ts';
import type { RecordedEntry } from '../../model/fleet/recording.ts';
import { isKeyOfSecret, mayBeSecret, withSecretValues } from '../../model/objects/secret-values.ts';
import { objectDigest } from '../../model/text/digest.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf } from '../../model/text/json.ts';

/** A keyed hash in hex, under a key that only this recording has. */
export type KeyedHash = (text: string) => string;

/**
 * Replaces the values of Secrets by keyed hashes, and the digest of a Secret by the digest of the masked Secret. So an engine
 * computes the same from masked entries. Digests of unknown contents and blobs of files with Secrets become keyed hashes, too, so
 * that no value can be found by trying. Entries must arrive as they are captured: the ledger before the results.
 */
export function createMask(hash: KeyedHash): (captured: CapturedEntry, entry: RecordedEntry) => RecordedEntry {
  /** The digests of masked Secrets by the digests of the Secrets. */
  const digests = new Map<string, string>();
  const digestOf = (digest: string, content?: JsonObject): string => {
    const known = digests.get(digest);
    if (known !== undefined) return known;
    const masked = content === undefined ? hash(digest) : objectDigest(maskSecret(hash, content));
    digests.set(digest, masked);
    return masked;
  };
  return ({ content }, entry) => {
    const { input, key, value } = entry;
    if (input === 'files') return maskFile(hash, entry);
    if (!isKeyOfSecret(key)) return entry;
    if (input === 'live') {
      const masked = maskSecret(hash, objectOf(objectOf(value).value));
      return { ...entry, value: { digest: objectDigest(masked), value: masked } };
    }
    if (!isJsonObject(value) || typeof value.digest !== 'string') return entry;
    return { ...entry, value: { ...value, digest: digestOf(value.digest, content) } };
  };
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
  const { type, value } = objectOf(objectOf(document).content);
  return type === 'object' && mayBeSecret(objectOf(value));
}

function maskDocument(hash: KeyedHash, document: JsonObject): JsonObject {
  const content = objectOf(document.content);
  const value = maskSecret(hash, objectOf(content.value));
  return { ...document, content: { ...content, value, digest: objectDigest(value) } };
}

/** A Secret with keyed hashes in the place of its values; values of `data` are base64, as before. */
function maskSecret(hash: KeyedHash, value: JsonObject): JsonObject {
  return withSecretValues(value, (found, member) => {
    const hashOf = (each: JsonValue): string => {
      const text = hash(JSON.stringify(each));
      return member === 'data' ? Buffer.from(text).toString('base64') : text;
    };
    if (!isJsonObject(found)) return hashOf(found);
    return Object.fromEntries(Object.entries(found).map(([name, each]) => [name, hashOf(each ?? null)]));
  });
}
