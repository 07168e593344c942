const SMALLEST = 1024;
const LARGEST = 64 * 1024;
/** Usual ratio of a text to its compressed bytes. */
const USUAL_RATIO = 6;

/**
 * The option `chunkSize` for compressing `length` bytes: zlib allocates a buffer of this size for each piece of the result. V8 marks
 * the whole heap after some thousands of buffers of the default size, 64 KiB, and most results are small.
 */
export function pieceToCompress(length: number): number {
  return pieceFor(length / 2);
}

/** As {@link pieceToCompress}, for decompressing `length` bytes. */
export function pieceToDecompress(length: number): number {
  return pieceFor(length * USUAL_RATIO);
}

function pieceFor(length: number): number {
  return Math.min(Math.max(Math.ceil(length), SMALLEST), LARGEST);
}
