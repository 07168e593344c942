import {
  caseFix,
  didYouMean,
  type FieldFix,
  type FieldProblem,
  fieldError,
  fieldWarning,
  typeFix,
  withFix,
} from '../../manifest/problem.ts';
import { typeWord } from '../../manifest/schema-problems.ts';
import type { FindingReason } from '../../model/diagnostic.ts';
import { displayPath, type FieldPath } from '../../model/field-path.ts';
import { compareText, isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import type { Format } from './formats.ts';

/** One check of one value: where it is, and what it has found. */
export interface Run {
  /** From the root of the object to the value that is looked at. */
  readonly path: (string | number)[];
  readonly problems: FieldProblem[];
  /** Messages must not quote values. */
  readonly isSecret: boolean;
}

/** Of one object; a list with a million wrong items needs no million messages. */
const MOST_PROBLEMS = 100;
const LONGEST_QUOTE = 60;

/** Adds an error at the value that is looked at. */
export function report(run: Run, reason: FindingReason, words: string, hint?: string, fix?: FieldFix): void {
  add(run, withFix(fieldError(reason, [...run.path], `${nameOf(run.path)} ${words}`, hint), fix));
}

function add(run: Run, problem: FieldProblem): void {
  if (!isFull(run)) run.problems.push(problem);
}

function isFull({ problems }: Run): boolean {
  return problems.length >= MOST_PROBLEMS;
}

function nameOf(path: FieldPath): string {
  return path.length === 0 ? 'the object' : displayPath(path);
}

/** The value for a message; empty for a Secret and for what is long or no scalar. */
function quoted(run: Run, value: JsonValue): string {
  if (run.isSecret || typeof value === 'object') return '';
  const text = JSON.stringify(value);
  return text.length > LONGEST_QUOTE ? '' : `, not ${text}`;
}

/** A field that the schema does not have; `lists` are the fields of each mapping one level below, by their name. */
export function reportUnknownField(
  run: Run,
  key: string,
  known: readonly string[],
  below: () => readonly string[],
  siblings: JsonObject,
): void {
  // The search for a similar word takes longer than the check of the value.
  if (isFull(run)) return;
  const at = [...run.path, key];
  const [place, ...others] = below();
  const list =
    known.length > 0 && known.length <= 12 ? `known fields: ${[...known].sort(compareText).join(', ')}` : undefined;
  const elsewhere = place === undefined || others.length > 0 ? undefined : `did you mean ${place}.${key}?`;
  const hint = didYouMean(key, known) ?? elsewhere ?? list;
  const message = `${displayPath(at)} is not a field that is known here`;
  const meant = caseFix(key, known);
  const fix = meant === undefined || Object.hasOwn(siblings, meant) ? undefined : { key: meant };
  add(run, withFix({ ...fieldError('UnknownField', at, message, hint), atKey: true }, fix));
}

/** A required field that is missing, null or, of a built-in kind, empty. */
export function reportMissing(run: Run, name: string, value: JsonValue | undefined): void {
  const at = [...run.path, name];
  if (value === undefined) add(run, fieldError('MissingField', [...run.path], `${displayPath(at)} is missing`));
  else add(run, fieldError('MissingField', at, `${displayPath(at)} must not be empty`));
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'a mapping',
  array: 'a list',
  'int-or-string': 'a whole number or text',
};

/** A value of another type than the schema says. */
export function reportType(run: Run, type: string, value: JsonValue): void {
  const wanted = TYPE_WORDS[type] ?? type;
  const found = typeof value === 'number' && wanted.startsWith('a whole number') ? 'a fraction' : typeWord(value);
  report(run, 'WrongType', `must be ${wanted}, not ${found}`, typeHint(type, value), typeFix(value, type));
}

function typeHint(type: string, value: JsonValue): string | undefined {
  if (type === 'string' && (typeof value === 'number' || typeof value === 'boolean'))
    return 'quote it if text is meant';
  if (type === 'array' && isJsonObject(value)) return 'begin each item with a dash';
  if (typeof value !== 'string') return undefined;
  const isNumber = (type === 'integer' || type === 'number') && /^-?\d+$/.test(value);
  return isNumber || (type === 'boolean' && /^(true|false)$/.test(value)) ? 'remove the quotes' : undefined;
}

/** A number outside the range of its Go type. */
export function reportRange(run: Run, format: string, value: number): void {
  report(run, 'WrongValue', `must fit into ${format}${quoted(run, value)}`);
}

/** A text whose form is not that of its format. */
export function reportFormat(run: Run, { words }: Format, value: JsonValue): void {
  report(run, 'WrongFormat', `must be ${words}${quoted(run, value)}`);
}

/** A value that is not in the list of allowed ones. */
export function reportEnum(run: Run, value: JsonValue, allowed: Iterable<JsonValue>): void {
  if (isFull(run)) return;
  const values = [...allowed];
  const words = values.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)));
  const hint = typeof value === 'string' ? didYouMean(value, words) : undefined;
  const meant = typeof value === 'string' ? caseFix(value, words) : undefined;
  const fix = meant === undefined ? undefined : { value: meant };
  const listed = words.map((word) => (word === '' ? '""' : word)).join(', ');
  report(run, 'WrongValue', `must be one of ${listed}${quoted(run, value)}`, hint, fix);
}

/** Two items of a list that stand for the same entry; `isAccepted`: an API server takes it when it creates the object. */
export function reportDuplicate(
  run: Run,
  index: number,
  keys: readonly string[],
  item: JsonValue,
  isAccepted: boolean,
): void {
  const key = isJsonObject(item) ? keys.find((name) => item[name] !== undefined) : undefined;
  const place = [...run.path, index];
  const path = key === undefined ? place : [...place, key];
  const same = keys.length === 0 ? 'value' : keys.join(' and ');
  const value = key === undefined || !isJsonObject(item) || run.isSecret ? '' : ` ${JSON.stringify(item[key])}`;
  const message = `${displayPath(place)} has the same ${same}${keys.length === 1 ? value : ''} as an item above it`;
  const reason = key === 'name' ? 'DuplicateName' : 'DuplicateValue';
  if (!isAccepted) add(run, fieldError(reason, path, message));
  else add(run, fieldWarning(reason, path, `${message}, which server-side apply refuses`));
}
