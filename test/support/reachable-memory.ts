import { createHash } from 'node:crypto';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of memory of this process that are reachable: in the heap of V8, and in buffers outside of it. */
export function reachableMemory(): { readonly heap: number; readonly buffers: number } {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // The memory of a buffer is released after its collection.
  for (let round = 0; round < 3; round += 1) collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return { heap: heapUsed, buffers: arrayBuffers };
}

/** Canonical JSON of about that length, the same for the same number, which no compression makes half as long. */
export function noise(number: number, length: number): string {
  const hash = createHash('shake256', { outputLength: Math.ceil((length * 3) / 4) });
  return JSON.stringify({ noise: hash.update(String(number)).digest('base64'), number });
}
