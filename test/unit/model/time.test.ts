import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rfc3339, writableTime } from '../../../src/model/time.ts';

describe('rfc3339', () => {
  it.each([
    [0, '1970-01-01T00:00:00Z'],
    [1_769_856_127_999, '2026-01-31T10:42:07Z'],
    [-1, '1969-12-31T23:59:59Z'],
    [253_402_300_799_999, '9999-12-31T23:59:59Z'],
    [253_402_300_800_000, '9999-12-31T23:59:59Z'],
    [9e15, '9999-12-31T23:59:59Z'],
    [Number.POSITIVE_INFINITY, '9999-12-31T23:59:59Z'],
    [-62_167_219_200_001, '0000-01-01T00:00:00Z'],
    [Number.NEGATIVE_INFINITY, '0000-01-01T00:00:00Z'],
    [Number.NaN, '1970-01-01T00:00:00Z'],
  ])('writes %d as %s', (milliseconds, text) => {
    expect(rfc3339(milliseconds)).toBe(text);
  });

  it('writes any number as a time that can be read again', () => {
    fc.assert(
      fc.property(fc.double(), (milliseconds) => {
        const text = rfc3339(milliseconds);
        expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        expect(Math.abs(Date.parse(text) - writableTime(milliseconds))).toBeLessThan(1_000);
      }),
    );
  });
});
