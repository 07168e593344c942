import { ok, problem, type Result } from '../values/result.ts';
import type { JsonValue } from './json.ts';

/** The units of durations of Go. */
export const NANOSECONDS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  // The micro sign and the Greek letter.
  '\u00b5s': 1_000n,
  '\u03bcs': 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

/** The longest duration that Go has: 64 bits of nanoseconds, about 292 years. */
const LONGEST = 2n ** 63n - 1n;
/** Longer texts are refused unread; a duration of Go needs about 30 characters. */
const LONGEST_TEXT = 128;

/**
 * Parses a duration in Go's form (`1m`, `1h30m`, `-1.5h`, `0`) to milliseconds. The problem says what is wrong with the text.
 * Source: `time.ParseDuration`.
 */
export function parseGoDuration(text: string): Result<number> {
  const refused = (why: string) => problem(`is no duration like 90s, 1h30m or 720h: ${why}`);
  if (text.length > LONGEST_TEXT) return refused(`it has more than ${LONGEST_TEXT} characters`);
  const sign = /^[+-]/.exec(text)?.[0] ?? '';
  const amounts = text.slice(sign.length);
  if (amounts === '0') return ok(0);
  if (amounts === '') return refused('it is empty');
  let nanoseconds = 0n;
  for (let rest = amounts; rest !== ''; ) {
    const found = /^(\d*)(?:\.(\d*))?([^\d.]*)/.exec(rest);
    const [all = '', whole = '', fraction = '', unit = ''] = found ?? [];
    if (whole === '' && fraction === '') return refused(`${JSON.stringify(rest)} does not begin with a number`);
    if (unit === '') return refused(`${JSON.stringify(all)} has no unit`);
    const size = Object.hasOwn(NANOSECONDS, unit) ? NANOSECONDS[unit] : undefined;
    if (size === undefined) return refused(`${JSON.stringify(unit)} is no unit; units are ns, us, ms, s, m, h`);
    nanoseconds += BigInt(whole || 0) * size + (BigInt(fraction || 0) * size) / 10n ** BigInt(fraction.length);
    rest = rest.slice(all.length);
  }
  // The shortest negative duration has one nanosecond more.
  if (nanoseconds > LONGEST + (sign === '-' ? 1n : 0n)) return refused('it is longer than 292 years');
  // Whole milliseconds stay exact.
  const milliseconds = Number(nanoseconds / 1_000_000n) + Number(nanoseconds % 1_000_000n) / 1e6;
  return ok(sign === '-' ? -milliseconds : milliseconds);
}

/** The milliseconds of a duration of Go (`1m30s`); undefined if the value is none. */
export function durationMs(value: JsonValue | undefined): number | undefined {
  const read = typeof value === 'string' ? parseGoDuration(value) : undefined;
  return read?.ok === true ? read.value : undefined;
}

/**
 * Formats milliseconds in Go's form, rounded to nanoseconds: `8760h0m0s`, `1m0s`, `1.5s`, `20ms`, `0s`. What is longer than
 * Go's longest duration is shown as that one. Source: `time.Duration.String`.
 */
export function formatGoDuration(milliseconds: number): string {
  const size = Math.abs(milliseconds);
  const isLonger = size >= Number(LONGEST) / 1e6;
  const nanoseconds = isLonger ? LONGEST : BigInt(Math.trunc(size)) * 1_000_000n + BigInt(Math.round((size % 1) * 1e6));
  if (nanoseconds === 0n) return '0s';
  const sign = milliseconds < 0 ? '-' : '';
  if (nanoseconds < 1_000n) return `${sign}${nanoseconds}ns`;
  if (nanoseconds < 1_000_000n) return `${sign}${decimal(nanoseconds, 3)}\u00b5s`;
  if (nanoseconds < 1_000_000_000n) return `${sign}${decimal(nanoseconds, 6)}ms`;
  const minutes = nanoseconds / 60_000_000_000n;
  const seconds = `${decimal(nanoseconds % 60_000_000_000n, 9)}s`;
  if (minutes === 0n) return `${sign}${seconds}`;
  const hours = minutes / 60n;
  return `${sign}${hours === 0n ? '' : `${hours}h`}${minutes % 60n}m${seconds}`;
}

/** A whole number with its last `digits` after the point, without zeros at its end. */
function decimal(number: bigint, digits: number): string {
  const text = String(number).padStart(digits + 1, '0');
  const fraction = text.slice(-digits).replace(/0+$/, '');
  return `${text.slice(0, -digits)}${fraction === '' ? '' : `.${fraction}`}`;
}
