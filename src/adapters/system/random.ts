import { randomBytes } from 'node:crypto';
import type { Random } from '../../ports/random.ts';

/** The platform's randomness. Ids come from its cryptography. */
export function createSystemRandom(): Random {
  return {
    next: () => Math.random(),
    id: () => randomBytes(16).toString('hex'),
  };
}
