import { parseGoDuration } from '../../../model/text/go-duration.ts';
import { ok, problem, type Result } from '../../../model/values/result.ts';

/** A schedule of cron, as `robfig/cron` reads it in Gardener. */
export interface Cron {
  /** The first time after a moment, in milliseconds since 1970; undefined: there is none within five years. */
  readonly next: (after: number) => number | undefined;
}

/** Minutes, hours, days of the month, months and days of the week that match. */
interface Fields {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** A day must be in both `days` and `weekdays`, since one of them is a star; else in one of them. */
  readonly needsBoth: boolean;
}

const DAY = 24 * 3_600_000;
const DESCRIPTORS: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);
const EVERY = '@every ';
/** Longer texts are refused unread. */
const LONGEST = 512;

/**
 * Reads a schedule in five fields or as a descriptor such as `@daily`. The problem says what is wrong with the text or the zone.
 *
 * @param zone of the IANA database; empty: UTC
 */
export function parseCron(text: string, zone: string): Result<Cron> {
  if (text.length > LONGEST) return problem(`has more than ${LONGEST} characters`);
  if (text.startsWith(EVERY)) {
    const duration = parseGoDuration(text.slice(EVERY.length));
    if (!duration.ok) return duration;
    // Go rounds to whole seconds, and takes one at least.
    const period = Math.max(1000, Math.floor(duration.value / 1000) * 1000);
    return ok({ next: (after) => Math.floor(after / 1000) * 1000 + period });
  }
  const fields = parseFields(DESCRIPTORS.get(text) ?? text);
  if (!fields.ok) return fields;
  const offsetAt = offsetsOf(zone === '' ? 'UTC' : zone);
  if (offsetAt === undefined) return problem(`names the unknown time zone ${JSON.stringify(zone)}`);
  return ok({ next: (after) => nextTime(fields.value, offsetAt, after) });
}

const BOUNDS = [
  { least: 0, most: 59, names: [] },
  { least: 0, most: 23, names: [] },
  { least: 1, most: 31, names: [] },
  { least: 1, most: 12, names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'] },
  { least: 0, most: 6, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
] as const satisfies readonly Bounds[];

interface Bounds {
  readonly least: number;
  readonly most: number;
  /** The first one stands for `least`. */
  readonly names: readonly string[];
}

function parseFields(text: string): Result<Fields> {
  const parts = text.split(/\s+/).filter((part) => part !== '');
  if (parts.length !== BOUNDS.length) return problem(`has ${parts.length} fields, not ${BOUNDS.length}`);
  const found: Set<number>[] = [];
  for (const [index, bounds] of BOUNDS.entries()) {
    const values = new Set<number>();
    for (const range of (parts[index] ?? '').split(',').filter((each) => each !== '')) {
      const matched = parseRange(range, bounds);
      if (matched === undefined) return problem(`has the wrong field ${JSON.stringify(parts[index])}`);
      for (const value of matched) values.add(value);
    }
    found.push(values);
  }
  const [minutes = [], hours = [], days = new Set(), months = new Set(), weekdays = new Set()] = found;
  const isStar = (part = ''): boolean => /(^|,)[*?]/.test(part);
  const sorted = (values: Iterable<number>): readonly number[] => [...values].sort((a, b) => a - b);
  return ok({
    minutes: sorted(minutes),
    hours: sorted(hours),
    days,
    months,
    weekdays,
    needsBoth: isStar(parts[2]) || isStar(parts[4]),
  });
}

/** The numbers of a range like `*`, `5`, `1-5`, `mon-fri`, `0-30/10` or `5/10`; undefined: it is none. */
function parseRange(text: string, { least, most, names }: Bounds): readonly number[] | undefined {
  const [, low = '', high, by] = /^([^-/]+)(?:-([^-/]+))?(?:\/(\d+))?$/.exec(text) ?? [];
  const numberOf = (word: string): number => {
    const named = names.indexOf(word.toLowerCase());
    if (named >= 0) return named + least;
    return /^\d+$/.test(word) ? Number(word) : Number.NaN;
  };
  const isAll = low === '*' || low === '?';
  const begin = isAll ? least : numberOf(low);
  const end = isAll || (high === undefined && by !== undefined) ? most : numberOf(high ?? low);
  const step = by === undefined ? 1 : Number(by);
  if (!(begin >= least && end <= most && begin <= end && step > 0)) return undefined;
  return Array.from({ length: Math.floor((end - begin) / step) + 1 }, (_, index) => begin + index * step);
}

/** How far the clocks of a zone are ahead of UTC at a moment, both in milliseconds. */
type Offset = (moment: number) => number;

/** Undefined: there is no such zone. */
function offsetsOf(zone: string): Offset | undefined {
  if (zone === 'UTC') return () => 0;
  // Go knows zones by name only.
  if (!/^[A-Za-z]/.test(zone)) return undefined;
  const fields = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const;
  const options = { ...fields, second: 'numeric', hourCycle: 'h23', timeZone: zone } as const;
  try {
    const format = new Intl.DateTimeFormat('en-US', options);
    return (moment) => {
      const parts = new Map(format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]));
      const part = (type: keyof Intl.DateTimeFormatPartTypesRegistry): number => parts.get(type) ?? 0;
      const wall = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
      return wall - Math.floor(moment / 1000) * 1000;
    };
  } catch {
    return undefined;
  }
}

function nextTime(fields: Fields, offsetAt: Offset, after: number): number | undefined {
  const today = Math.floor((after + offsetAt(after)) / DAY) * DAY;
  const lastYear = new Date(today).getUTCFullYear() + 5;
  for (let day = today; new Date(day).getUTCFullYear() <= lastYear; day += DAY) {
    const found = isDay(fields, new Date(day)) ? nextOfDay(fields, offsetAt, day, after) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function isDay({ days, months, weekdays, needsBoth }: Fields, day: Date): boolean {
  if (!months.has(day.getUTCMonth() + 1)) return false;
  const [isOfMonth, isOfWeek] = [days.has(day.getUTCDate()), weekdays.has(day.getUTCDay())];
  return needsBoth ? isOfMonth && isOfWeek : isOfMonth || isOfWeek;
}

/** A day on which clocks are changed skips times, or has them twice. */
function nextOfDay({ hours, minutes }: Fields, offsetAt: Offset, day: number, after: number): number | undefined {
  const offsets = [...new Set([offsetAt(day - DAY), offsetAt(day + 2 * DAY)])];
  let first = Number.POSITIVE_INFINITY;
  for (const hour of hours) {
    for (const minute of minutes) {
      const wall = day + (hour * 60 + minute) * 60_000;
      for (const offset of offsets) {
        const moment = wall - offset;
        if (moment <= after || moment >= first) continue;
        if (offsets.length === 1) return moment;
        if (offsetAt(moment) === offset) first = moment;
      }
    }
  }
  return first === Number.POSITIVE_INFINITY ? undefined : first;
}
