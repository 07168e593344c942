import { hash } from 'node:crypto';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** The most that one record holds. */
const CHUNK_BYTES = 256 * 1024;
/** Below this size compressing saves nothing worth its time. */
const COMPRESS_FROM = 512;
/** A damaged frame may ask for a window of gigabytes; 8 MiB is what every decoder should have. */
const MAX_WINDOW_LOG = 23;
/** Nothing that was written unpacks to more. */
const MAX_UNPACKED_BYTES = 1024 * 1024 * 1024;

/** How much longer a text usually is than its packed bytes; what is longer still comes in several pieces. */
const USUAL_RATIO = 6;
const SMALLEST_PIECE = 1024;
const LARGEST_PIECE = 64 * 1024;

const PLAIN = 0;
const ZSTD = 1;

/** Short digest of a text, 132 bits of its sha256: names and checks a record, and does not make manifests long. */
export function textDigest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}

/** The bytes of a text as records hold them, in order; compressed where that pays. */
export function pack(text: string): readonly Uint8Array[] {
  const bytes = Buffer.from(text);
  const compressed =
    bytes.length < COMPRESS_FROM
      ? bytes
      : zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
  const [kind, body] = compressed.length < bytes.length ? [ZSTD, compressed] : [PLAIN, bytes];
  const whole = Buffer.concat([Uint8Array.of(kind), body]);
  const chunks: Uint8Array[] = [];
  for (let start = 0; start < whole.length; start += CHUNK_BYTES) {
    chunks.push(whole.subarray(start, start + CHUNK_BYTES));
  }
  return chunks;
}

/** The text again, or undefined if these are not the bytes of a text with this digest. */
export function unpack(chunks: readonly Uint8Array[], digest: string): string | undefined {
  const [first] = chunks;
  const whole = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
  const body = whole.subarray(1);
  const bytes = whole[0] === ZSTD ? decompress(body) : whole[0] === PLAIN ? body : undefined;
  if (bytes === undefined) return undefined;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  return textDigest(text) === digest ? text : undefined;
}

function decompress(body: Uint8Array): Uint8Array | undefined {
  try {
    const params = { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG };
    // A buffer is taken for each piece of the result, however small: most buckets are, and there are very many of them.
    const chunkSize = Math.min(Math.max(body.length * USUAL_RATIO, SMALLEST_PIECE), LARGEST_PIECE);
    return zstdDecompressSync(body, { maxOutputLength: MAX_UNPACKED_BYTES, chunkSize, params });
  } catch {
    return undefined;
  }
}
