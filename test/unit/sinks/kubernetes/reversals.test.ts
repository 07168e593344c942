import { expect, it } from 'vitest';
import { objectKey } from '../../../../src/model/objects/object-key.ts';
import { createReversals } from '../../../../src/sinks/kubernetes/reversals.ts';

const key = objectKey({ group: 'core.gardener.cloud', kind: 'Shoot', namespace: 'garden', name: 'roses' });

it.each([
  ['conditions', 'lastTransitionTime'],
  ['conditions', 'lastUpdateTime'],
  ['constraints', 'lastTransitionTime'],
  ['constraints', 'lastUpdateTime'],
])('a status that another manager reverses repeatedly waits, with any times in its %s (%s)', (list, time) => {
  let now = 0;
  const reversals = createReversals(() => now);
  const statusAt = (second: number) => ({
    [list]: [{ type: 'Accepted', status: 'True', [time]: `2026-01-01T00:00:0${second}Z` }],
  });
  const waits: number[] = [];
  for (let second = 0; second < 8; second += 1) {
    now = second * 2_000;
    waits.push(reversals.waitFor(key, 'uid', statusAt(second)));
    reversals.written(key, 'uid', statusAt(second));
  }
  expect(waits.slice(0, 4)).toEqual([0, 0, 0, 0]);
  expect(waits.slice(4).every((wait) => wait > 0)).toBe(true);
});

it('another status does not wait for the reversals of the one before', () => {
  const reversals = createReversals(() => 0);
  for (let time = 0; time < 8; time += 1) reversals.written(key, 'uid', { phase: 'a' });
  expect(reversals.waitFor(key, 'uid', { phase: 'a' })).toBeGreaterThan(0);
  expect(reversals.waitFor(key, 'uid', { phase: 'b' })).toBe(0);
});
