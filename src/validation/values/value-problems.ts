import {
  caseFix,
  didYouMean,
  type FieldFix,
  type FieldProblem,
  fieldError,
  fieldWarning,
  SECRET_TEXT_HINT,
  unknownField,
  withFix,
  wrongType,
} from '../../manifest/problem.ts';
import type { FindingReason } from '../../model/fleet/diagnostic.ts';
import { displayPath, type FieldPath } from '../../model/text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/text/json.ts';
import type { CompileOptions, Node } from './compile-schema.ts';
import type { Format } from './formats.ts';
import type { Meter } from './meter.ts';
import { meaningOf } from './misplaced-fields.ts';
import type { Matcher } from './patterns.ts';

/** One check of one value: where it is, and what it has found. */
export interface Run {
  /** From the root of the object to the value that is looked at. */
  readonly path: (string | number)[];
  readonly problems: FieldProblem[];
  /** Messages must not quote values. */
  readonly isSecret: boolean;
  /** The object, or the part of it that is checked. */
  readonly root: { readonly node: Node; readonly value: JsonValue };
  /** Counts the visits of values, and the work of a visit that depends on the schema. */
  readonly meter: Meter;
  /** Compiles a pattern. Undefined: every text matches. Throws `PatternTooLarge`. */
  readonly matcherOf: (pattern: string) => Matcher | undefined;
}

/** Most problems of one object: a list with a million wrong items needs no million messages. */
const MOST_PROBLEMS = 100;
const LONGEST_QUOTE = 60;

/** Steps of a message: making one takes ten times as long as visiting a value. */
const STEPS_OF_PROBLEM = 10;

/** Adds an error at the value that is looked at. */
export function report(run: Run, reason: FindingReason, words: string, hint?: string, fix?: FieldFix): void {
  if (isFull(run)) return;
  run.meter.charge(STEPS_OF_PROBLEM);
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
export function quoted(run: Run, value: JsonValue): string {
  if (run.isSecret || typeof value === 'object') return '';
  const text = JSON.stringify(value);
  return text.length > LONGEST_QUOTE ? '' : `, not ${text}`;
}

/** A field that the schema does not have. */
export function reportUnknownField(
  run: Run,
  key: string,
  node: Node,
  mapping: JsonObject,
  options: CompileOptions,
): void {
  // The search for what was meant takes longer than the check of the value.
  if (isFull(run)) return;
  const known = [...(node.fields?.keys() ?? [])];
  run.meter.charge(STEPS_OF_PROBLEM * (1 + known.length));
  const path = [...run.path];
  const meaning = meaningOf({ key, mapping, node, path, root: run.root }, options);
  add(run, { ...unknownField([...path, key], known, mapping), ...meaning });
}

/** A required field that is missing, null or, of a built-in kind, empty. */
export function reportMissing(run: Run, name: string, value: JsonValue | undefined): void {
  if (isFull(run)) return;
  run.meter.charge(STEPS_OF_PROBLEM);
  const at = [...run.path, name];
  if (value === undefined) {
    const message = `${displayPath(at)} is missing`;
    add(run, { ...fieldError('MissingField', [...run.path], message), missing: at });
  } else add(run, fieldError('MissingField', at, `${displayPath(at)} must not be empty`));
}

/** A value of another type than the schema says. */
export function reportType(run: Run, type: string, value: JsonValue, fields?: readonly string[]): void {
  const { wanted, words, hint, fix } = wrongType(value, [type], fields);
  if (!run.isSecret) report(run, 'WrongType', words, hint, fix);
  else report(run, 'WrongType', wanted, type === 'string' ? SECRET_TEXT_HINT : undefined, fix);
}

/** A number outside the range of its Go type. */
export function reportRange(run: Run, format: string, value: number): void {
  report(run, 'WrongValue', `must fit into ${format}${quoted(run, value)}`);
}

/** Reports a text that does not have the form of its format. */
export function reportFormat(run: Run, { words, meant }: Format, value: JsonValue): void {
  const isData = run.isSecret && run.path[0] === 'data';
  const near = typeof value === 'string' && !run.isSecret ? meant?.(value) : undefined;
  const hint = isData ? 'plain text belongs in stringData' : near && `did you mean ${near}?`;
  report(run, 'WrongFormat', `must be ${words}${quoted(run, value)}`, hint);
}

/** A value that is not in the list of allowed ones. */
export function reportEnum(run: Run, value: JsonValue, allowed: Iterable<JsonValue>): void {
  if (isFull(run)) return;
  const values = [...allowed];
  run.meter.charge(STEPS_OF_PROBLEM * (1 + values.length));
  const words = values.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)));
  const hint = typeof value === 'string' && !run.isSecret ? didYouMean(value, words) : undefined;
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
  else add(run, fieldWarning(reason, path, `${message}, which server-side apply refuses`, 'remove one of them'));
}
