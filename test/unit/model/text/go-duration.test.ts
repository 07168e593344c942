import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatGoDuration, parseGoDuration } from '../../../../src/model/text/go-duration.ts';
import { must } from '../../../../src/model/values/result.ts';

const HOUR = 3_600_000;

describe('durations in the form of Go', () => {
  test.each([
    ['1m', 60_000],
    ['720h', 720 * HOUR],
    ['8760h0m0s', 8760 * HOUR],
    ['1h30m', 1.5 * HOUR],
    ['1.5h', 1.5 * HOUR],
    ['.5s', 500],
    ['1.s', 1000],
    ['-1m', -60_000],
    ['+40s', 40_000],
    ['0', 0],
    ['100ns', 0.0001],
    ['3us', 0.003],
    ['3\u00b5s', 0.003],
    ['3\u03bcs', 0.003],
    ['1m1m', 120_000],
  ])('%s is %d ms', (text, milliseconds) => {
    expect(parseGoDuration(text)).toEqual({ ok: true, value: milliseconds });
  });

  test.each([
    ['', 'it is empty'],
    ['-', 'it is empty'],
    ['90', '"90" has no unit'],
    ['1h30', '"30" has no unit'],
    ['.s', '".s" does not begin with a number'],
    ['one', '"one" does not begin with a number'],
    [' 1m', '" 1m" does not begin with a number'],
    ['1d', '"d" is no unit; units are ns, us, ms, s, m, h'],
    ['1constructor', '"constructor" is no unit; units are ns, us, ms, s, m, h'],
    ['1M', '"M" is no unit; units are ns, us, ms, s, m, h'],
    ['9223372036854775808ns', 'it is longer than 292 years'],
    ['99999999999999999999h', 'it is longer than 292 years'],
    [`${'1'.repeat(1_000_000)}h`, 'it has more than 128 characters'],
  ])('%.30s is none', (text, why) => {
    expect(parseGoDuration(text)).toEqual({
      ok: false,
      problem: `is no duration like 90s, 1h30m or 720h: ${why}`,
    });
  });

  test.each([
    [8760 * HOUR, '8760h0m0s'],
    [60_000, '1m0s'],
    [90_500, '1m30.5s'],
    [1000, '1s'],
    [1500, '1.5s'],
    [20, '20ms'],
    [0.0015, '1.5\u00b5s'],
    [0.000001, '1ns'],
    [0, '0s'],
    [-60_000, '-1m0s'],
    [Number.POSITIVE_INFINITY, '2562047h47m16.854775807s'],
  ])('%d ms is written %s', (milliseconds, text) => {
    expect(formatGoDuration(milliseconds)).toBe(text);
  });

  test('what is written is read as the same duration', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e12, max: 1e12 }), (milliseconds) => {
        expect(must(parseGoDuration(formatGoDuration(milliseconds)))).toBe(milliseconds);
      }),
    );
  });
});
