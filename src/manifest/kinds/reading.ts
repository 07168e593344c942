import type { Declaration, ObjectContent } from '../../model/fleet/desired.ts';
import type { DeclaredName } from '../../model/fleet/engine-kinds.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/text/json.ts';
import type { FieldProblem } from '../problem.ts';
import { schemaProblems } from '../schema-problems.ts';
import type { SchemaValidator } from '../schema-validator.ts';

/** A document after decoding: its content, if it can be read, and all problems. */
export interface DocumentReading {
  readonly content?: Omit<ObjectContent, 'digest'> | Declaration;
  /** Without the repetition mark; absent: the document does not state its identity. */
  readonly identity?: string;
  /** Of an object for clusters: what is checked further. A misspelt apiVersion or kind is corrected in it. */
  readonly object?: JsonObject;
  readonly problems: readonly FieldProblem[];
}

/** A document of an engine kind after decoding. */
export interface Decoded<Value> {
  readonly problems: readonly FieldProblem[];
  /** Absent: the document breaks its schema. */
  readonly metadata?: Metadata;
  /** Absent: the document cannot be read. */
  readonly value?: Value | undefined;
}

interface Metadata extends Omit<DeclaredName, 'namespace'> {
  readonly namespace?: string;
}

/** A value that a generated validator has checked, or its problems. */
export type Checked<Type> =
  | { readonly ok: true; readonly value: Type }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] };

/** Checks a document against its schema. A null member counts as missing, as in Kubernetes. */
export function check<Type>(document: JsonObject, validate: SchemaValidator<Type>): Checked<Type> {
  const value = withoutNulls(document);
  if (validate(value)) return { ok: true, value };
  return { ok: false, problems: schemaProblems(value, validate.errors ?? []) };
}

/** A copy without null members; nulls in lists stay. */
export function withoutNulls(value: JsonObject): JsonObject;
export function withoutNulls(value: JsonValue): JsonValue;
export function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => withoutNulls(item));
  if (!isJsonObject(value)) return value;
  const kept: Record<string, JsonValue> = {};
  for (const [key, member] of Object.entries(value)) {
    if (member !== null && member !== undefined) kept[key] = withoutNulls(member);
  }
  return kept;
}

/** Makes the decoder of a kind: checks the schema, then `read` makes the value, and adds the problems that no schema finds. */
export function decoder<Type extends { readonly metadata: Metadata }, Value>(
  validate: SchemaValidator<Type>,
  read: (checked: Type, problems: FieldProblem[]) => Value | undefined,
): (document: JsonObject) => Decoded<Value> {
  return (document) => {
    const checked = check(document, validate);
    if (!checked.ok) return checked;
    const problems: FieldProblem[] = [];
    const value = read(checked.value, problems);
    return { problems, metadata: checked.value.metadata, value };
  };
}

/**
 * Checks a document of another project's kind: an unknown field is a warning. `value` is the checked document without such
 * fields; undefined if the document has other problems.
 */
export function checkForeign<Type>(
  document: JsonObject,
  validate: SchemaValidator<Type>,
): { readonly problems: readonly FieldProblem[]; readonly value?: Type } {
  const first = check(document, validate);
  if (first.ok) return { problems: [], value: first.value };
  const unknown = first.problems.filter((problem) => problem.reason === 'UnknownField');
  const warnings = unknown.map((problem) => ({ ...problem, severity: 'warning' as const }));
  const second = unknown.length === 0 ? first : check(without(document, unknown), validate);
  return second.ok ? { problems: warnings, value: second.value } : { problems: [...warnings, ...second.problems] };
}

function without(document: JsonObject, problems: readonly FieldProblem[]): JsonObject {
  const copy = structuredClone(document) as JsonObject;
  for (const { path } of problems) {
    let parent: unknown = copy;
    for (const step of path.slice(0, -1)) parent = (parent as Record<string | number, unknown> | undefined)?.[step];
    const key = path.at(-1);
    if (typeof parent === 'object' && parent !== null && key !== undefined) Reflect.deleteProperty(parent, key);
  }
  return copy;
}

/** Whether no problem is an error. */
export function isReadable(problems: readonly FieldProblem[]): boolean {
  return problems.every((problem) => problem.severity !== 'error');
}
