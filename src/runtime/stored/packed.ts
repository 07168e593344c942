import { hash } from 'node:crypto';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** Size limit of one record. */
const CHUNK_BYTES = 256 * 1024;
/** Smaller texts are not compressed: the gain is not worth the time. */
const COMPRESS_FROM = 512;
/** A damaged frame may request a window of gigabytes; 8 MiB is what every zstd decoder must support. */
const MAX_WINDOW_LOG = 23;
/** No written text is longer. */
const MAX_UNPACKED_BYTES = 1024 * 1024 * 1024;

/** Usual ratio of a text to its packed bytes: sizes the first output buffer. */
const USUAL_RATIO = 6;
const SMALLEST_PIECE = 1024;
const LARGEST_PIECE = 64 * 1024;

const PLAIN = 0;
const ZSTD = 1;

/** Short digest of a text, 132 bits of its sha256: names and checks a record, and keeps manifests short. */
export function textDigest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}

/** The bytes of a text as records hold them, in order; compressed if that makes them shorter. */
export function pack(text: string): readonly Uint8Array[] {
  const bytes = Buffer.from(text);
  const compressed =
    bytes.length < COMPRESS_FROM
      ? bytes
      : zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
  const [kind, body] = compressed.length < bytes.length ? [ZSTD, compressed] : [PLAIN, bytes];
  const packed = Buffer.concat([Uint8Array.of(kind), body]);
  const chunks: Uint8Array[] = [];
  for (let start = 0; start < packed.length; start += CHUNK_BYTES) {
    chunks.push(packed.subarray(start, start + CHUNK_BYTES));
  }
  return chunks;
}

/** The text, or undefined if the bytes do not match the digest. */
export function unpack(chunks: readonly Uint8Array[], digest: string): string | undefined {
  const [first] = chunks;
  const packed = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
  const body = packed.subarray(1);
  const bytes = packed[0] === ZSTD ? decompress(body) : packed[0] === PLAIN ? body : undefined;
  if (bytes === undefined) return undefined;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  return textDigest(text) === digest ? text : undefined;
}

function decompress(body: Uint8Array): Uint8Array | undefined {
  try {
    const params = { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG };
    // zlib allocates a buffer of this size per piece of the result; most buckets are small, and there are very many.
    const chunkSize = Math.min(Math.max(body.length * USUAL_RATIO, SMALLEST_PIECE), LARGEST_PIECE);
    return zstdDecompressSync(body, { maxOutputLength: MAX_UNPACKED_BYTES, chunkSize, params });
  } catch {
    return undefined;
  }
}
