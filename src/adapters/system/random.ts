import { randomBytes } from 'node:crypto';
import type { Random } from '../../ports/random.ts';

/** The platform's randomness. */
export function createSystemRandom(): Random {
  return {
    next: () => Math.random(),
    id: () => randomBytes(16).toString('hex'),
  };
}
