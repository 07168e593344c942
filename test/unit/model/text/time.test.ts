import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { humanDuration, rfc3339, writableTime } from '../../../../src/model/text/time.ts';

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

describe('a duration for people', () => {
  const [minute, hour, day] = [60, 3600, 86_400];
  it.each([
    [-5, '0s'],
    [119, '119s'],
    [2 * minute, '2m'],
    [9 * minute + 30, '9m30s'],
    [179 * minute + 59, '179m'],
    [3 * hour + 20 * minute, '3h20m'],
    [47 * hour, '47h'],
    [3 * day + 4 * hour, '3d4h'],
    [729 * day, '729d'],
    [771 * day, '2y41d'],
    [3650 * day, '10y'],
  ])('%d s are %s', (seconds, text) => {
    expect(humanDuration(seconds * 1000)).toBe(text);
  });
});
