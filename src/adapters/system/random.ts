import { randomFillSync } from 'node:crypto';
import type { Random } from '../../ports/random.ts';

const ID_BYTES = 16;
/** Bytes are drawn for many ids at once: a draw takes longer than an id. An agent needs an id for each new object. */
const POOL_BYTES = 256 * ID_BYTES;

/** The platform's randomness. Ids come from its cryptography, which `draw` fills bytes from. */
export function createSystemRandom(draw: (bytes: Uint8Array) => void = randomFillSync): Random {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  return {
    next: () => Math.random(),
    id: () => {
      if (used === POOL_BYTES) {
        draw(pool);
        used = 0;
      }
      const id = pool.toString('hex', used, used + ID_BYTES);
      // An id in use is not left behind.
      pool.fill(0, used, used + ID_BYTES);
      used += ID_BYTES;
      return id;
    },
  };
}
