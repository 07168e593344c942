import type { Declaration, DeclarationValues, DocumentContent } from '../../model/desired.ts';
import { type DeclaredName, declarationKey, type EngineKind, engineKinds } from '../../model/engine-kinds.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import type { FieldProblem } from '../problem.ts';
import { schemaProblems } from '../schema-problems.ts';
import type { SchemaValidator } from '../schema-validator.ts';

/** What one document says: its content, absent if it cannot be read, and all that is wrong with it. */
export interface DocumentReading {
  readonly content?: DocumentContent;
  /** Identity without the repetition mark; absent as long as the document does not state one. */
  readonly identity?: string;
  readonly problems: readonly FieldProblem[];
}

/** What a document's metadata says, as Kubernetes writes it. */
interface Metadata extends Omit<DeclaredName, 'namespace'> {
  readonly namespace?: string;
}

/** The identity of a declaration in its file. */
export function identityOf(kind: EngineKind, { namespace = '', name }: Metadata): string {
  return `${engineKinds[kind].group}/${engineKinds[kind].kind}/${namespace}/${name}`;
}

/** The content of a document that declares `value`. */
export function declare<Kind extends EngineKind>(
  kind: Kind,
  { namespace = '', name, mesh }: Metadata,
  value: DeclarationValues[Kind],
): Declaration<Kind> {
  const declared = mesh === undefined ? { namespace, name } : { namespace, name, mesh };
  return { type: 'declaration', kind, key: declarationKey(kind, declared), namespace, name, value };
}

/** A value checked by a generated validator. */
export type Checked<Type> =
  | { readonly ok: true; readonly value: Type }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] };

/** Checks a document against its schema; null members count as left out, as everywhere in Kubernetes. */
export function check<Type>(document: JsonObject, validate: SchemaValidator<Type>): Checked<Type> {
  const value: unknown = withoutNulls(document);
  if (validate(value)) return { ok: true, value };
  return { ok: false, problems: schemaProblems(value as JsonValue, validate.errors ?? []) };
}

/** A copy without members that are null; nulls in lists stay. */
export function withoutNulls(value: JsonObject): JsonObject {
  return strip(value) as JsonObject;
}

function strip(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(strip);
  if (!isJsonObject(value)) return value;
  const kept: Record<string, JsonValue> = {};
  for (const [key, member] of Object.entries(value)) {
    if (member !== null && member !== undefined) kept[key] = strip(member);
  }
  return kept;
}

/**
 * For kinds that others define: an unknown field becomes a warning. `value` is the checked document without such fields;
 * undefined if something else is wrong with it.
 */
export function withUnknownFieldsIgnored<Type>(
  document: JsonObject,
  checkValue: (candidate: JsonObject) => Checked<Type>,
): { readonly problems: readonly FieldProblem[]; readonly value?: Type } {
  const first = checkValue(document);
  if (first.ok) return { problems: [], value: first.value };
  const unknown = first.problems.filter((problem) => problem.reason === 'UnknownField');
  const warnings = unknown.map((problem) => ({ ...problem, severity: 'warning' as const }));
  const second = unknown.length === 0 ? first : checkValue(without(document, unknown));
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

/** True if nothing among the problems is an error. */
export function isReadable(problems: readonly FieldProblem[]): boolean {
  return problems.every((problem) => problem.severity !== 'error');
}
