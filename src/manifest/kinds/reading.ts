import type { DocumentContent } from '../../model/desired.ts';
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

/** True if nothing among the problems is an error. */
export function isReadable(problems: readonly FieldProblem[]): boolean {
  return problems.every((problem) => problem.severity !== 'error');
}
