import { expect, test } from 'vitest';
import { microTime } from '../../../../../src/adapters/kubernetes/api/micro-time.ts';

test('a time has six digits of a second', () => {
  expect(microTime(Date.UTC(2026, 0, 2, 3, 4, 5, 67))).toBe('2026-01-02T03:04:05.067000Z');
});
