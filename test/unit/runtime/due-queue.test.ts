import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createDueQueue } from '../../../src/runtime/due-queue.ts';

/** Null takes the key out. Enough of everything that the last key has to rise, too, when it fills a gap. */
const number = fc.option(fc.integer({ min: 0, max: 1_000 }), { freq: 2 });
const step = fc.tuple(fc.integer({ min: 0, max: 100 }).map(String), number);

it('returns a key with the lowest number after any additions, moves and deletions', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 50, maxLength: 400, size: 'max' }), (steps) => {
      const queue = createDueQueue();
      const model = new Map<string, number>();
      for (const [key, at] of steps) {
        if (at === null) {
          queue.delete(key);
          model.delete(key);
        } else {
          queue.set(key, at);
          model.set(key, at);
        }
        const first = queue.first();
        expect(first?.at).toBe(model.size === 0 ? undefined : Math.min(...model.values()));
        if (first !== undefined) expect(model.get(first.key)).toBe(first.at);
      }
      const drained: number[] = [];
      for (let first = queue.first(); first !== undefined; first = queue.first()) {
        drained.push(first.at);
        queue.delete(first.key);
      }
      expect(drained).toEqual([...model.values()].sort((a, b) => a - b));
    }),
  );
});
