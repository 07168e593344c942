import { expect, test } from 'vitest';
import { createSharing } from '../../../../src/model/values/shared-values.ts';

test('equal values become the same object, and different ones do not', () => {
  const shared = createSharing<readonly number[]>();
  const first = shared([80, 443]);
  expect(shared([80, 443])).toBe(first);
  expect(shared([443, 80])).toEqual([443, 80]);
});

test('a long value is not remembered, and neither are more than a thousand', () => {
  const shared = createSharing<readonly (string | number)[]>();
  const long = shared(['x'.repeat(1_000)]);
  expect(shared(['x'.repeat(1_000)])).not.toBe(long);
  const first = shared([0]);
  for (let at = 1; at <= 1_000; at += 1) shared([at]);
  expect(shared([0])).not.toBe(first);
  expect(shared([0])).toEqual([0]);
});
