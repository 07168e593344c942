import type { Random } from '../../../src/ports/random.ts';

/** One seeded source of randomness; the same seed gives the same history. */
export interface Dice extends Random {
  /** A whole number from 0 to `below` - 1. */
  int(below: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  /** One of them; there must be one. */
  pick<Value>(values: readonly Value[]): Value;
  /** A source of its own for a part of the world: what one part draws does not move another's. */
  fork(name: string): Dice;
}

/** Makes the dice of a seed (sfc32). */
export function createDice(seed: number, name = ''): Dice {
  let [a, b, c, d] = [seed | 0, hash(name), 0x9e3779b9 | 0, 1];
  const draw = (): number => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return (t >>> 0) / 4_294_967_296;
  };
  for (let warm = 0; warm < 12; warm += 1) draw();
  const int = (below: number): number => Math.floor(draw() * below);
  return {
    next: draw,
    id: () =>
      Array.from({ length: 4 }, () =>
        int(2 ** 32)
          .toString(16)
          .padStart(8, '0'),
      ).join(''),
    int,
    chance: (probability) => draw() < probability,
    pick: (values) => {
      const value = values[int(values.length)];
      if (value === undefined) throw new Error('there is nothing to pick from');
      return value;
    },
    fork: (part) => createDice(seed, `${name}/${part}`),
  };
}

function hash(text: string): number {
  let value = 2_166_136_261;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 16_777_619);
  return value | 0;
}
