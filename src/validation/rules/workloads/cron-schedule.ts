/*
 * The schedule of a CronJob, as Kubernetes reads it: five fields, or a word like @daily, or `@every` with a duration of Go.
 * Other parsers of cron allow more (seconds, L, W, #, 7 for Sunday), so none of them is used.
 */

import { isDuration } from '../../values/formats.ts';

/** A field of a schedule. */
interface CronField {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  readonly words: Readonly<Record<string, number>>;
}

const MONTHS = wordsFrom('jan feb mar apr may jun jul aug sep oct nov dec', 1);
const DAYS = wordsFrom('sun mon tue wed thu fri sat', 0);

const FIELDS: readonly CronField[] = [
  { name: 'minute', least: 0, most: 59, words: {} },
  { name: 'hour', least: 0, most: 23, words: {} },
  { name: 'day of the month', least: 1, most: 31, words: {} },
  { name: 'month', least: 1, most: 12, words: MONTHS },
  { name: 'day of the week', least: 0, most: 6, words: DAYS },
];

const WORDS: readonly string[] = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];

function wordsFrom(words: string, first: number): Readonly<Record<string, number>> {
  return Object.fromEntries(words.split(' ').map((word, index) => [word, index + first]));
}

/** The rule that a schedule breaks, as the rest of a sentence; undefined if it can be read. */
export function scheduleRule(schedule: string): string | undefined {
  if (schedule.includes('TZ')) return 'must not have a time zone; spec.timeZone has it';
  if (schedule.startsWith('@')) return wordRule(schedule);
  const parts = schedule.split(/[\s\u0085]+/).filter((part) => part !== '');
  if (parts.length !== FIELDS.length) {
    return `must have 5 fields (minute, hour, day of the month, month, day of the week), but has ${parts.length}`;
  }
  for (const [index, field] of FIELDS.entries()) {
    for (const range of (parts[index] ?? '').split(',')) {
      const broken = range === '' ? undefined : rangeRule(range, field);
      if (broken !== undefined) return `must have a ${field.name} that ${broken}, not ${JSON.stringify(range)}`;
    }
  }
  return undefined;
}

function wordRule(word: string): string | undefined {
  if (WORDS.includes(word)) return undefined;
  const every = '@every ';
  if (word.startsWith(every) && isDuration(word.slice(every.length))) return undefined;
  return `must be one of ${WORDS.join(', ')}, or "@every" and a duration like 1h30m`;
}

function rangeRule(range: string, { least, most, words }: CronField): string | undefined {
  const [span = '', step, ...moreSteps] = range.split('/');
  const [low = '', high, ...moreEnds] = span.split('-');
  if (moreSteps.length > 0) return 'has at most one "/"';
  const isStar = low === '*' || low === '?';
  if (!isStar && moreEnds.length > 0) return 'has at most one "-"';
  const start = isStar ? least : numberOf(low, words);
  const end = isStar ? most : high === undefined ? (step === undefined ? start : most) : numberOf(high, words);
  const width = step === undefined ? 1 : numberOf(step, {});
  const hint = Object.keys(words).length === 0 ? '' : ', or a name like those in "MON-FRI" and "JAN"';
  if (start === undefined || end === undefined) return `is a number from ${least} to ${most}, "*" or "?"${hint}`;
  if (start < least || end > most) return `is ${least} to ${most}`;
  if (start > end) return 'begins before it ends';
  return width === undefined || width === 0 ? 'has a step above 0' : undefined;
}

function numberOf(text: string, words: Readonly<Record<string, number>>): number | undefined {
  const word = text.toLowerCase();
  if (Object.hasOwn(words, word)) return words[word];
  return /^\+?\d+$/.test(text) ? Number(text) : undefined;
}
