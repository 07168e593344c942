import { didYouMean, type FieldProblem } from '../../../manifest/problem.ts';
import type { FindingReason } from '../../../model/fleet/diagnostic.ts';
import { quote } from '../../../model/fleet/ids.ts';
import { mayBeSecret } from '../../../model/objects/secret-values.ts';
import { displayPath, type FieldPath } from '../../../model/text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../model/text/json.ts';

/** A problem that a rule reports. */
export interface RuleProblem extends FieldProblem {
  /** API servers before this minor version of Kubernetes accept the object. */
  readonly since?: number;
  /** API servers from this minor version on accept the object. */
  readonly until?: number;
}

/** What an API server checks of a built-in kind beyond its schema, in all versions of Kubernetes. Never throws. */
export type ObjectRule = (object: JsonObject) => readonly RuleProblem[];

/** A value of the object under check, with its way from the root. Missing fields are fields too. */
export interface Field {
  /** Undefined: the field is missing, or null, which an API server reads as missing. */
  readonly value: JsonValue | undefined;
  /** Undefined: the root. */
  readonly parent: Field | undefined;
  /** From the parent; empty for the root. */
  readonly step: string | number;
  /** The problems of the complete object. */
  readonly problems: RuleProblem[];
}

/** The most problems of one object: each costs a search for similar words. */
const MOST_PROBLEMS = 100;

/** Ends the check of an object that has enough problems. */
class EnoughProblems extends Error {}

/** Makes an {@link ObjectRule} of a function that reports the problems of the root. */
export function rule(check: (root: Field) => void): ObjectRule {
  return (object) => {
    const problems: RuleProblem[] = [];
    try {
      check({ value: object, parent: undefined, step: '', problems });
    } catch (error) {
      if (!(error instanceof EnoughProblems)) throw error;
    }
    return problems;
  };
}

/** A field of a mapping. Missing if the parent is no mapping. */
export function get(parent: Field, step: string): Field {
  const value = isJsonObject(parent.value) ? parent.value[step] : undefined;
  // What a mapping inherits, such as `constructor`, is no JSON value.
  const isThere = value !== null && typeof value !== 'function';
  return { value: isThere ? value : undefined, parent, step, problems: parent.problems };
}

/** Whether the parent is a mapping with the field set: {@link isSet} of {@link get}, for checks that most objects do not need. */
export function has({ value }: Field, step: string): boolean {
  return isJsonObject(value) && (value[step] ?? undefined) !== undefined;
}

/** A field below fields. */
export function getIn(parent: Field, ...steps: readonly string[]): Field {
  let field = parent;
  for (const step of steps) field = get(field, step);
  return field;
}

/** Whether the field is there, empty or not. */
export function isSet(field: Field): boolean {
  return field.value !== undefined;
}

/** Whether the field is missing, or an empty text, list or mapping, which an API server treats alike in most places. */
export function isEmpty({ value }: Field): boolean {
  if (value === undefined || value === '') return true;
  if (typeof value !== 'object' || value === null) return false;
  for (const _ in value) return false;
  return true;
}

/** The items of a list; none if the value is no list. */
export function items(list: Field): readonly Field[] {
  const { value, problems } = list;
  if (!Array.isArray(value)) return NONE;
  return value.map((item, step) => ({ value: item === null ? undefined : item, parent: list, step, problems }));
}

/** The items of a list of texts. An API server reads an item without value as the empty text. */
export function textItems(list: Field): readonly Field[] {
  const all = items(list);
  return all.some(({ value }) => value === undefined) ? all.map((item) => ({ ...item, value: item.value ?? '' })) : all;
}

/** The members of a mapping, each with its key as `step`; none if the value is no mapping. */
export function members(mapping: Field): readonly (Field & { readonly step: string })[] {
  const { value, problems } = mapping;
  if (!isJsonObject(value)) return NONE;
  return Object.keys(value).map((step) => ({ value: value[step] ?? undefined, parent: mapping, step, problems }));
}

const NONE: readonly never[] = [];

/** The text, an empty one too; undefined for another type. */
export function text({ value }: Field): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The text; undefined if it is empty, or for another type. An API server treats an empty text as missing in most places. */
export function word({ value }: Field): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The whole number; undefined for another type. */
export function integer({ value }: Field): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) ? value : undefined;
}

/** Whether the value is `true`. */
export function isTrue({ value }: Field): boolean {
  return value === true;
}

/** The mapping; undefined for another type. */
export function mapping({ value }: Field): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

/** The entry of a table; undefined for a key that it does not have itself, as `constructor`. */
export function entryOf<Entry>(table: Readonly<Record<string, Entry>>, key: string | undefined): Entry | undefined {
  return key !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}

/** The way from the root. */
export function pathOf(field: Field): FieldPath {
  const path: (string | number)[] = [];
  for (let at = field; at.parent !== undefined; at = at.parent) path.push(at.step);
  return path.reverse();
}

/** The path for people: `spec.containers[0]`. */
export function nameOf(field: Field): string {
  return field.parent === undefined ? 'the object' : displayPath(pathOf(field));
}

/** How a problem is reported. */
interface ReportOptions {
  readonly hint?: string | undefined;
  /** The problem is at the key of the field, not at its value. */
  readonly atKey?: boolean;
  /** The field is missing, and the problem is no other. */
  readonly isMissing?: boolean;
  readonly severity?: 'error' | 'warning';
  /** The minor version of Kubernetes since which API servers refuse it; those before accept it. */
  readonly since?: number;
  /** The minor version of Kubernetes from which on API servers accept it. */
  readonly until?: number;
}

/** Reports a problem of a field in a sentence of its own. */
export function report(
  field: Field,
  reason: FindingReason,
  message: string,
  { hint, atKey, isMissing = false, severity = 'error', since, until }: ReportOptions = {},
): void {
  const path = pathOf(field);
  field.problems.push({
    severity,
    reason,
    message,
    path,
    ...(isMissing ? { missing: path } : {}),
    ...(hint === undefined ? {} : { hint }),
    ...(atKey === true ? { atKey } : {}),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  });
  if (field.problems.length >= MOST_PROBLEMS) throw new EnoughProblems();
}

/** Reports a value that breaks a rule. The rule continues a sentence: `must be at least 0`. */
export function invalid(
  field: Field,
  rule: string,
  { reason = 'WrongValue', ...options }: ReportOptions & { readonly reason?: FindingReason } = {},
): void {
  const found = shown(field);
  const message = found === undefined ? `${nameOf(field)} ${rule}` : `${nameOf(field)} is ${found} but ${rule}`;
  report(field, reason, message, options);
}

/** The value, if it is short and the object is no Secret. */
function shown(field: Field): string | undefined {
  const { value } = field;
  if (value === undefined || value === null || typeof value === 'object') return undefined;
  let root = field;
  while (root.parent !== undefined) root = root.parent;
  if (isJsonObject(root.value) && mayBeSecret(root.value) && field.parent !== root) return undefined;
  return typeof value === 'string' ? quote(value) : String(value);
}

/** Reports that a field is missing, or empty where it must not be. */
export function required(field: Field, hint?: string): void {
  if (isSet(field)) report(field, 'MissingField', `${nameOf(field)} must not be empty`, { hint });
  else report(field, 'MissingField', `${nameOf(field)} is missing`, { hint, isMissing: true });
}

/** Reports a value that is none of the allowed words. */
export function notSupported(field: Field, allowed: readonly string[]): void {
  const found = text(field);
  const hint = found === undefined ? undefined : didYouMean(found, allowed);
  invalid(field, `must be ${allowed.length === 1 ? '' : 'one of '}${allowed.join(', ')}`, { hint });
}

/** Reports a value that another entry of the same list has already. */
export function duplicate(field: Field, reason: FindingReason = 'DuplicateName', hint?: string): void {
  invalid(field, 'must not be the same as in an entry above', { reason, hint });
}

/** Reports a field that must not be here, at its key. `why` continues a sentence: `with hostNetwork: true`. */
export function forbidden(field: Field, why: string, hint?: string): void {
  report(field, 'FieldNotAllowed', `${nameOf(field)} is not allowed ${why}`, { hint, atKey: true });
}

/** Reports a field that is missing or empty; nothing if the parent has another type than a mapping, which the schema reports. */
export function needed(field: Field, hint?: string): void {
  const parent = field.parent?.value;
  if (isEmpty(field) && (parent === undefined || isJsonObject(parent))) required(field, hint);
}

/** Reports an empty value; a missing field passes. */
export function notEmpty(field: Field, hint?: string): void {
  if (isSet(field) && isEmpty(field)) required(field, hint);
}

/** Checks a text against a list of words. Missing and empty texts pass, as most of them have a default. */
export function oneOf(field: Field, allowed: readonly string[]): void {
  const found = word(field);
  if (found !== undefined && !allowed.includes(found)) notSupported(field, allowed);
}

/** Checks a text against a list of words, where an API server refuses the empty text too. */
export function isOneOf(field: Field, allowed: readonly string[]): void {
  const found = text(field);
  if (found !== undefined && !allowed.includes(found)) notSupported(field, allowed);
}

/** Reports empty texts in fields that may be missing: only a missing one has a default. */
export function filledIfSet(...fields: readonly Field[]): void {
  for (const field of fields) if (field.value === '') required(field);
}

/** Checks a text with a function of names.ts, which returns the rule that it breaks. Missing and empty texts pass. */
export function hasForm(
  field: Field,
  brokenRule: (text: string) => string | undefined,
  reason: FindingReason = 'BadName',
): void {
  const found = word(field);
  const broken = found === undefined ? undefined : brokenRule(found);
  if (broken !== undefined) invalid(field, broken, { reason });
}

/** Checks each text of a list as {@link hasForm} does; none may be empty. */
export function haveForm(
  list: Field,
  brokenRule: (text: string) => string | undefined,
  reason: FindingReason = 'BadName',
): void {
  for (const item of items(list)) {
    const found = item.value === undefined ? '' : text(item);
    const broken = found === undefined ? undefined : brokenRule(found);
    if (broken !== undefined) invalid(item, broken, { reason });
  }
}

/** Checks the range of a whole number. */
export function inRange(field: Field, least: number, most = Number.POSITIVE_INFINITY, hint?: string): void {
  const found = integer(field);
  if (found === undefined || (found >= least && found <= most)) return;
  const range = most === Number.POSITIVE_INFINITY ? `at least ${least}` : `${least} to ${most}`;
  invalid(field, `must be ${range}`, { hint });
}

/** Checks the length of a list. */
export function atMost(list: Field, most: number): void {
  if (items(list).length > most) invalid(list, `must have at most ${most} items`);
}

/** Checks that each value occurs once. Missing and empty texts may occur more often. */
export function distinct(fields: readonly Field[], reason?: FindingReason): void {
  if (fields.length < 2) return;
  const seen = new Set<JsonValue>();
  for (const field of fields) {
    const { value } = field;
    if (value === undefined || value === '' || typeof value === 'object') continue;
    if (seen.has(value)) duplicate(field, reason);
    seen.add(value);
  }
}

/**
 * Checks that exactly one of the fields of a mapping is set, and returns it. Reports each further one at its key, and a
 * mapping without one at the mapping.
 */
export function exactlyOne(parent: Field, choices: readonly string[]): Field | undefined {
  if (mapping(parent) === undefined) return undefined;
  const chosen = atMostOne(parent, choices);
  if (chosen === undefined) report(parent, 'WrongChoice', `${nameOf(parent)} needs one of ${choices.join(', ')}`);
  return chosen;
}

/** Checks that exactly one of two fields of a mapping is set. Reports another number at the mapping, and returns false. */
export function eitherOf(parent: Field, one: Field, other: Field): boolean {
  if (isSet(one) !== isSet(other)) return true;
  report(parent, 'WrongChoice', `${nameOf(parent)} needs exactly one of ${one.step}, ${other.step}`);
  return false;
}

/** Checks that at most one of the fields of a mapping is set, and returns it. Reports each further one at its key. */
export function atMostOne(parent: Field, choices: readonly string[]): Field | undefined {
  const [chosen, ...others] = members(parent).filter(
    ({ step, value }) => value !== undefined && choices.includes(step),
  );
  for (const other of others) {
    report(
      other,
      'WrongChoice',
      `${nameOf(other)} is not allowed beside ${chosen?.step}: only one of them can be set`,
      {
        atKey: true,
      },
    );
  }
  return chosen;
}
