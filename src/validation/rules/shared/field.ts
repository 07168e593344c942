import { didYouMean, type FieldProblem } from '../../../manifest/problem.ts';
import type { FindingReason } from '../../../model/fleet/diagnostic.ts';
import { quote } from '../../../model/fleet/ids.ts';
import { mayBeSecret } from '../../../model/objects/secret-values.ts';
import { displayPath, type FieldPath } from '../../../model/text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../model/text/json.ts';
import { given } from '../../../model/values/given.ts';

/** A problem that a rule reports. */
export interface RuleProblem extends FieldProblem {
  /** API servers before this minor version of Kubernetes accept the object. */
  readonly since?: number;
  /** API servers from this minor version on accept the object. */
  readonly until?: number;
}

/** What an API server checks of a built-in kind beyond its schema, in all versions of Kubernetes. Never throws. */
export type ObjectRule = (object: JsonObject) => readonly RuleProblem[];

/** The most problems of one object: each costs a search for similar words. */
const MOST_PROBLEMS = 100;

/** Ends the check of an object that has enough problems. */
class EnoughProblems extends Error {}

/** Makes an {@link ObjectRule} of a function that reports the problems of the root. */
export function rule(check: (root: Field) => void): ObjectRule {
  return (object) => {
    const root = rootOf(object);
    try {
      check(root);
    } catch (error) {
      if (!(error instanceof EnoughProblems)) throw error;
    }
    return root.problems;
  };
}

/** The root of an object. */
export function rootOf(object: JsonObject): Field {
  return new Field(object, undefined, '', []);
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

const NONE: readonly never[] = [];

/**
 * A value of the object under check, with its way from the root. Missing fields are fields too. What reports a problem has
 * the name that it has in the package `field` of Kubernetes: `invalid`, `required`, `forbidden`, `notSupported`, `duplicate`.
 */
export class Field<Step extends string | number = string | number> {
  /** Undefined: the field is missing, or null, which an API server reads as missing. */
  readonly value: JsonValue | undefined;
  /** Undefined: the root. */
  readonly parent: Field | undefined;
  /** From the parent; empty for the root. */
  readonly step: Step;
  /** The problems of the complete object. */
  readonly problems: RuleProblem[];

  constructor(value: JsonValue | undefined, parent: Field | undefined, step: Step, problems: RuleProblem[]) {
    this.value = value;
    this.parent = parent;
    this.step = step;
    this.problems = problems;
  }

  /** The same field with another value. */
  withValue(value: JsonValue): Field {
    return new Field(value, this.parent, this.step, this.problems);
  }

  /** A field of a mapping. Missing if this value is no mapping. */
  get(step: string): Field {
    const value = isJsonObject(this.value) ? this.value[step] : undefined;
    // What a mapping inherits, such as `constructor`, is no JSON value.
    const isThere = value !== null && typeof value !== 'function';
    return new Field(isThere ? value : undefined, this, step, this.problems);
  }

  /** Whether this is a mapping with the field set: `isSet` of {@link get}, for checks that most objects do not need. */
  has(step: string): boolean {
    return isJsonObject(this.value) && (this.value[step] ?? undefined) !== undefined;
  }

  /** A field below fields. */
  getIn(...steps: readonly string[]): Field {
    let field: Field = this;
    for (const step of steps) field = field.get(step);
    return field;
  }

  /** Whether the field is there, empty or not. */
  get isSet(): boolean {
    return this.value !== undefined;
  }

  /** Whether the field is missing, or an empty text, list or mapping, which an API server treats alike in most places. */
  get isEmpty(): boolean {
    if (this.value === undefined || this.value === '') return true;
    if (typeof this.value !== 'object' || this.value === null) return false;
    for (const _ in this.value) return false;
    return true;
  }

  /** The items of a list; none if the value is no list. */
  items(): readonly Field[] {
    if (!Array.isArray(this.value)) return NONE;
    return this.value.map((item, step) => new Field(item === null ? undefined : item, this, step, this.problems));
  }

  /** The items of a list of texts. An API server reads an item without value as the empty text. */
  textItems(): readonly Field[] {
    return this.items().map((item) => (item.isSet ? item : item.withValue('')));
  }

  /** The members of a mapping, each with its key as `step`; none if the value is no mapping. */
  members(): readonly Field<string>[] {
    const { value } = this;
    if (!isJsonObject(value)) return NONE;
    return Object.keys(value).map((step) => new Field(value[step] ?? undefined, this, step, this.problems));
  }

  /** The text, an empty one too; undefined for another type. */
  get text(): string | undefined {
    return typeof this.value === 'string' ? this.value : undefined;
  }

  /** The text; undefined if it is empty, or for another type. An API server treats an empty text as missing in most places. */
  get word(): string | undefined {
    return this.text === '' ? undefined : this.text;
  }

  /** The whole number; undefined for another type. */
  get integer(): number | undefined {
    return typeof this.value === 'number' && Number.isInteger(this.value) ? this.value : undefined;
  }

  /** Whether the value is `true`. */
  get isTrue(): boolean {
    return this.value === true;
  }

  /** The mapping; undefined for another type. */
  get mapping(): JsonObject | undefined {
    return isJsonObject(this.value) ? this.value : undefined;
  }

  /** The way from the root. */
  get path(): FieldPath {
    const path: (string | number)[] = [];
    for (let at: Field = this; at.parent !== undefined; at = at.parent) path.push(at.step);
    return path.reverse();
  }

  /** The path for people: `spec.containers[0]`. */
  get name(): string {
    return this.parent === undefined ? 'the object' : displayPath(this.path);
  }

  /** Reports a problem in a sentence of its own. */
  report(
    reason: FindingReason,
    message: string,
    { hint, atKey, isMissing = false, severity = 'error', since, until }: ReportOptions = {},
  ): void {
    const { path } = this;
    this.problems.push({
      severity,
      reason,
      message,
      path,
      ...(isMissing ? { missing: path } : {}),
      ...given({ hint }),
      ...(atKey === true ? { atKey } : {}),
      ...given({ since, until }),
    });
    if (this.problems.length >= MOST_PROBLEMS) throw new EnoughProblems();
  }

  /** Reports a value that breaks a rule. The rule continues a sentence: `must be at least 0`. */
  invalid(
    rule: string,
    { reason = 'WrongValue', ...options }: ReportOptions & { readonly reason?: FindingReason } = {},
  ): void {
    const found = shown(this);
    this.report(reason, found === undefined ? `${this.name} ${rule}` : `${this.name} is ${found} but ${rule}`, options);
  }

  /** Reports that the field is missing, or empty where it must not be. */
  required(hint?: string): void {
    if (this.isSet) this.report('MissingField', `${this.name} must not be empty`, { hint });
    else this.report('MissingField', `${this.name} is missing`, { hint, isMissing: true });
  }

  /** Reports a value that is none of the allowed words. */
  notSupported(allowed: readonly string[]): void {
    const hint = this.text === undefined ? undefined : didYouMean(this.text, allowed);
    this.invalid(`must be ${allowed.length === 1 ? '' : 'one of '}${allowed.join(', ')}`, { hint });
  }

  /** Reports a value that another entry of the same list has already. */
  duplicate(reason: FindingReason = 'DuplicateName', hint?: string): void {
    this.invalid('must not be the same as in an entry above', { reason, hint });
  }

  /** Reports a field that must not be here, at its key. `why` continues a sentence: `with hostNetwork: true`. */
  forbidden(why: string, hint?: string): void {
    this.report('FieldNotAllowed', `${this.name} is not allowed ${why}`, { hint, atKey: true });
  }

  /** Reports a field that is missing or empty; nothing if the parent has another type than a mapping, which the schema reports. */
  needed(hint?: string): void {
    const parent = this.parent?.value;
    if (this.isEmpty && (parent === undefined || isJsonObject(parent))) this.required(hint);
  }

  /** Reports an empty value; a missing field passes. */
  notEmpty(hint?: string): void {
    if (this.isSet && this.isEmpty) this.required(hint);
  }

  /** Checks a text against a list of words. Missing and empty texts pass, as most of them have a default. */
  oneOf(allowed: readonly string[]): void {
    if (this.word !== undefined) this.isOneOf(allowed);
  }

  /** Checks a text against a list of words, where an API server refuses the empty text too. */
  isOneOf(allowed: readonly string[]): void {
    if (this.text !== undefined && !allowed.includes(this.text)) this.notSupported(allowed);
  }

  /** Checks a text with a function of names.ts, which returns the rule that it breaks. Missing and empty texts pass. */
  hasForm(brokenRule: (text: string) => string | undefined, reason: FindingReason = 'BadName'): void {
    const broken = this.word === undefined ? undefined : brokenRule(this.word);
    if (broken !== undefined) this.invalid(broken, { reason });
  }

  /** Checks each text of a list as {@link hasForm} does; none may be empty. */
  haveForm(brokenRule: (text: string) => string | undefined, reason: FindingReason = 'BadName'): void {
    for (const item of this.items()) {
      const found = item.isSet ? item.text : '';
      const broken = found === undefined ? undefined : brokenRule(found);
      if (broken !== undefined) item.invalid(broken, { reason });
    }
  }

  /** Checks the range of a whole number. */
  inRange(least: number, most = Number.POSITIVE_INFINITY, hint?: string): void {
    const found = this.integer;
    if (found === undefined || (found >= least && found <= most)) return;
    this.invalid(`must be ${most === Number.POSITIVE_INFINITY ? `at least ${least}` : `${least} to ${most}`}`, {
      hint,
    });
  }

  /** Checks the length of a list. */
  atMost(most: number): void {
    if (this.items().length > most) this.invalid(`must have at most ${most} items`);
  }

  /**
   * Checks that exactly one of the fields of a mapping is set, and returns it. Reports each further one at its key, and a
   * mapping without one at the mapping.
   */
  exactlyOne(choices: readonly string[]): Field | undefined {
    if (this.mapping === undefined) return undefined;
    const chosen = this.atMostOne(choices);
    if (chosen === undefined) this.report('WrongChoice', `${this.name} needs one of ${choices.join(', ')}`);
    return chosen;
  }

  /** Checks that exactly one of two fields of a mapping is set. Reports another number at the mapping, and returns false. */
  eitherOf(one: Field, other: Field): boolean {
    if (one.isSet !== other.isSet) return true;
    this.report('WrongChoice', `${this.name} needs exactly one of ${one.step}, ${other.step}`);
    return false;
  }

  /** Checks that at most one of the fields of a mapping is set, and returns it. Reports each further one at its key. */
  atMostOne(choices: readonly string[]): Field | undefined {
    const [chosen, ...others] = this.members().filter(({ step, isSet }) => isSet && choices.includes(step));
    for (const other of others) {
      const message = `${other.name} is not allowed beside ${chosen?.step}: only one of them can be set`;
      other.report('WrongChoice', message, { atKey: true });
    }
    return chosen;
  }
}

/** The entry of a table; undefined for a key that it does not have itself, such as `constructor`. */
export function entryOf<Entry>(table: Readonly<Record<string, Entry>>, key: string | undefined): Entry | undefined {
  return key !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
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

/** Reports empty texts in fields that may be missing: only a missing one has a default. */
export function filledIfSet(...fields: readonly Field[]): void {
  for (const field of fields) if (field.value === '') field.required();
}

/** Checks that each value occurs once. Missing and empty texts may occur more often. */
export function distinct(fields: readonly Field[], reason?: FindingReason): void {
  if (fields.length < 2) return;
  const seen = new Set<JsonValue>();
  for (const field of fields) {
    const { value } = field;
    if (value === undefined || value === '' || typeof value === 'object') continue;
    if (seen.has(value)) field.duplicate(reason);
    seen.add(value);
  }
}
