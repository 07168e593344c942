import { describe, expect, test } from 'vitest';
import { parseCron } from '../../../../../src/domains/care/model/cron.ts';
import { must } from '../../../../../src/model/values/result.ts';

const next = (text: string, after: string, zone = ''): string => {
  const found = must(parseCron(text, zone)).next(Date.parse(after));
  return found === undefined ? 'never' : new Date(found).toISOString().replace('.000Z', 'Z');
};

describe('the next time of a schedule', () => {
  // 2024-01-08 is a Monday.
  test.each([
    ['0 20 * * *', '2024-01-08T15:00:00Z', '2024-01-08T20:00:00Z'],
    ['0 20 * * *', '2024-01-08T20:00:00Z', '2024-01-09T20:00:00Z'],
    ['0 20 * * *', '2024-01-08T19:59:59Z', '2024-01-08T20:00:00Z'],
    ['*/15 * * * *', '2024-01-08T15:16:01Z', '2024-01-08T15:30:00Z'],
    ['50/5 * * * *', '2024-01-08T15:51:00Z', '2024-01-08T15:55:00Z'],
    ['0 8 * * 1-5', '2024-01-12T08:00:00Z', '2024-01-15T08:00:00Z'],
    ['0 8 ? * MON,fri', '2024-01-08T08:00:00Z', '2024-01-12T08:00:00Z'],
    ['0 0 31 * *', '2024-01-31T00:00:00Z', '2024-03-31T00:00:00Z'],
    ['0 0 1-7 feb *', '2024-01-08T00:00:00Z', '2024-02-01T00:00:00Z'],
    ['0 0 29 2 *', '2024-03-01T00:00:00Z', '2028-02-29T00:00:00Z'],
    // A day of the month or one of the week, unless one of them is a star.
    ['0 0 20 * 3', '2024-01-08T00:00:00Z', '2024-01-10T00:00:00Z'],
    ['0 0 */2 * 3', '2024-01-08T00:00:00Z', '2024-01-17T00:00:00Z'],
    ['0 0 30 2 *', '2024-01-08T00:00:00Z', 'never'],
    [', 0 1 1 *', '2024-01-08T00:00:00Z', 'never'],
    ['@daily', '2024-01-08T15:00:00Z', '2024-01-09T00:00:00Z'],
    ['@midnight', '2024-01-08T15:00:00Z', '2024-01-09T00:00:00Z'],
    ['@hourly', '2024-01-08T15:30:00Z', '2024-01-08T16:00:00Z'],
    ['@weekly', '2024-01-08T15:00:00Z', '2024-01-14T00:00:00Z'],
    ['@monthly', '2024-01-08T15:00:00Z', '2024-02-01T00:00:00Z'],
    ['@yearly', '2024-01-08T15:00:00Z', '2025-01-01T00:00:00Z'],
    ['@every 1h30m', '2024-01-08T15:00:00Z', '2024-01-08T16:30:00Z'],
    ['@every 1ms', '2024-01-08T15:00:00Z', '2024-01-08T15:00:01Z'],
  ])('%s after %s is %s', (text, after, expected) => {
    expect(next(text, after)).toBe(expected);
  });

  test.each([
    ['0 20 * * *', '2024-01-08T15:00:00Z', 'Europe/Berlin', '2024-01-08T19:00:00Z'],
    ['0 20 * * *', '2024-07-08T15:00:00Z', 'Europe/Berlin', '2024-07-08T18:00:00Z'],
    ['0 6 * * 1', '2024-01-07T23:00:00Z', 'Asia/Tokyo', '2024-01-14T21:00:00Z'],
    ['30 0 * * *', '2024-01-08T15:00:00Z', 'Asia/Kolkata', '2024-01-08T19:00:00Z'],
    // Clocks skip the hour from 2 to 3 on 2024-03-31, and have it twice on 2024-10-27.
    ['30 2 * * *', '2024-03-30T12:00:00Z', 'Europe/Berlin', '2024-04-01T00:30:00Z'],
    ['30 3 * * *', '2024-03-30T12:00:00Z', 'Europe/Berlin', '2024-03-31T01:30:00Z'],
    ['30 2 * * *', '2024-10-26T12:00:00Z', 'Europe/Berlin', '2024-10-27T00:30:00Z'],
    ['30 2 * * *', '2024-10-27T00:30:00Z', 'Europe/Berlin', '2024-10-27T01:30:00Z'],
    ['30 3 * * *', '2024-10-26T12:00:00Z', 'Europe/Berlin', '2024-10-27T02:30:00Z'],
  ])('%s after %s in %s is %s', (text, after, zone, expected) => {
    expect(next(text, after, zone)).toBe(expected);
  });
});

test.each([
  ['', '', 'has 0 fields, not 5'],
  ['0 0 * *', '', 'has 4 fields, not 5'],
  ['0 0 0 * * *', '', 'has 6 fields, not 5'],
  ['60 * * * *', '', 'has the wrong field "60"'],
  ['* 24 * * *', '', 'has the wrong field "24"'],
  ['* * 0 * *', '', 'has the wrong field "0"'],
  ['* * * * 7', '', 'has the wrong field "7"'],
  ['5-1 * * * *', '', 'has the wrong field "5-1"'],
  ['*/0 * * * *', '', 'has the wrong field "*/0"'],
  ['1-2-3 * * * *', '', 'has the wrong field "1-2-3"'],
  ['1/2/3 * * * *', '', 'has the wrong field "1/2/3"'],
  ['-1 * * * *', '', 'has the wrong field "-1"'],
  ['x * * * *', '', 'has the wrong field "x"'],
  ['@fortnightly', '', 'has 1 fields, not 5'],
  ['@every now', '', 'is no duration like 90s, 1h30m or 720h: "now" does not begin with a number'],
  ['0 0 * * *', 'Mars/Olympus', 'names the unknown time zone "Mars/Olympus"'],
  ['0 0 * * *', '+01:00', 'names the unknown time zone "+01:00"'],
  [`0 0 * * ${'0,'.repeat(300)}`, '', 'has more than 512 characters'],
])('%s in zone "%s" is refused', (text, zone, problem) => {
  expect(parseCron(text, zone)).toEqual({ ok: false, problem });
});
