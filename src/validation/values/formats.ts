import { isQuantity } from './quantities.ts';

/** A rule for the form of a text: what it demands, in words that complete "must be". */
export interface Format {
  readonly words: string;
  /** What Go reads beside text: an amount from a number, bytes from a list of numbers. */
  readonly alsoTakes?: 'number' | 'list';
  matches(text: string): boolean;
  /** What a text of another form was meant to be. */
  readonly meant?: (text: string) => string | undefined;
}

const DURATION = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)([.,]\d+)?(?:Z|[+-](\d\d):(\d\d))$/;
const NOT_BASE64 = /[^A-Za-z0-9+/]/;

/** The amount with the suffix of Kubernetes instead of the unit that people write: `500mb` is 500Mi. */
function meantQuantity(text: string): string | undefined {
  const [, amount, unit = ''] = /^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]{1,3})\s*$/.exec(text) ?? [];
  if (amount === undefined) return undefined;
  const prefix = /^([kmgtpe])i?b$/i.exec(unit)?.[1];
  const meant = `${amount}${prefix === undefined ? unit : `${prefix.toUpperCase()}i`}`;
  return isQuantity(meant) ? meant : undefined;
}

/** Whether the text is a duration of Go: `1h30m`, `2.5s`. */
export function isDuration(text: string): boolean {
  return DURATION.test(text);
}

/** Whether the text is an RFC 3339 time with a zone, as Go reads it. */
export function isTime(text: string): boolean {
  const match = TIME.exec(text);
  if (match === null) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && !isLeap ? 28 : (DAYS[month - 1] ?? 0);
  const [zoneHour = 0, zoneMinute = 0] = match.slice(8).map((part) => Number(part ?? 0));
  return day >= 1 && day <= days && hour < 24 && minute < 60 && second < 60 && zoneHour <= 24 && zoneMinute < 60;
}

/** Whether the text is base64 with padding; line breaks do not count. */
export function isBase64(text: string): boolean {
  const compact = /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]/g, '') : text;
  if (compact.length % 4 !== 0) return false;
  const end = compact.endsWith('==') ? compact.length - 2 : compact.length - (compact.endsWith('=') ? 1 : 0);
  return !NOT_BASE64.test(compact.slice(0, end));
}

/** The formats of the fields of built-in kinds. */
export const builtInFormats: Readonly<Record<string, Format>> = {
  quantity: {
    words: 'an amount such as 500m, 1.5 or 2Gi',
    alsoTakes: 'number',
    matches: (text) => isQuantity(text.trim()),
    meant: meantQuantity,
  },
  'date-time': { words: 'a time such as 2006-01-02T15:04:05Z', matches: isTime },
  'micro-time': {
    words: 'a time with six decimals such as 2006-01-02T15:04:05.000000Z',
    matches: (text) => isTime(text) && TIME.exec(text)?.[7]?.length === 7,
  },
  byte: { words: 'base64', alsoTakes: 'list', matches: isBase64 },
};
