const SMALLEST = 1024;
const LARGEST = 64 * 1024;

/**
 * The option `chunkSize` for a result of about this length, in bytes: zlib allocates a buffer of it for each piece of the result. V8
 * marks the whole heap after some thousands of buffers of the default, 64 KiB, and most results are small.
 */
export function pieceFor(length: number): number {
  return Math.min(Math.max(Math.ceil(length), SMALLEST), LARGEST);
}
