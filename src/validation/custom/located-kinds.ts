import { fieldError } from '../../manifest/problem.ts';
import type { JsonValue } from '../../model/text/json.ts';
import type { Result } from '../../model/values/result.ts';
import { createKindTable } from '../kind-table.ts';
import type { KindSchemas, ObjectCheck, Schema } from '../values/schema.ts';
import type { KindName } from './schema-template.ts';

/** A JSON Schema: plain data, as threads get it. */
export interface JsonSchemaFile {
  /** The path or URL that it was read from. */
  readonly location: string;
  /** The schema, and the files that its references name, by their location. */
  readonly documents: Readonly<Record<string, JsonValue>>;
}

/** What was found of a kind at the schema locations: plain data, as threads get it. */
export type LocatedSchema = KindName &
  (
    | { readonly file: JsonSchemaFile }
    /** The schema is there and cannot be used; the text is a sentence. */
    | { readonly problem: string }
  );

/** Compiles a JSON Schema; json-schema-compiler.ts has the compiler. */
export type JsonSchemaCompiler = (file: JsonSchemaFile) => Result<ObjectCheck>;

/** The JSON Schema alone judges the fields. */
const ANYTHING: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/**
 * Returns the kinds whose JSON Schemas were found at the schema locations. An object of a kind whose schema cannot be used has
 * an error at its kind.
 */
export function createLocatedKinds(located: readonly LocatedSchema[], compile: JsonSchemaCompiler): KindSchemas {
  return createKindTable(
    located.map((each) => {
      let check: ObjectCheck | undefined;
      return {
        group: each.group,
        version: each.version,
        kind: each.kind,
        // A JSON Schema does not say either.
        plural: '',
        namespaced: true,
        schema: () => ANYTHING,
        definition: () => undefined,
        rules: (object) => {
          check ??= checkOf(each, compile);
          return check(object);
        },
      };
    }),
  );
}

function checkOf(each: LocatedSchema, compile: JsonSchemaCompiler): ObjectCheck {
  const compiled = 'problem' in each ? { ok: false as const, problem: each.problem } : compile(each.file);
  if (compiled.ok) return compiled.value;
  const problems = [fieldError('SchemaUnreadable', ['kind'], compiled.problem)];
  return () => problems;
}
