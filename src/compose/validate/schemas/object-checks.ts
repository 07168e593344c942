import type { FieldProblem } from '../../../manifest/problem.ts';
import { parseApiVersion } from '../../../model/objects/object-key.ts';
import { type JsonObject, textOf } from '../../../model/text/json.ts';
import { problem, type Result } from '../../../model/values/result.ts';
import { createObjectCheck } from '../../../validation/check-object.ts';
import { createCustomKinds, hasRules } from '../../../validation/custom/custom-kinds.ts';
import { createLocatedKinds, type LocatedSchema } from '../../../validation/custom/located-kinds.ts';
import { type KubernetesVersion, openKubernetesSchemas } from '../../../validation/kubernetes-schemas.ts';
import type { ObjectCheck } from '../../../validation/values/schema.ts';
import type { ReadSchema } from './schema-locations.ts';

/** How objects are checked: plain data, as threads get it. */
export interface CheckSettings {
  /** Versions of Kubernetes; at least one. */
  readonly versions: readonly KubernetesVersion[];
  readonly withoutSchema: 'error' | 'warning' | 'nothing';
  /** `Kind`, `group/Kind` or `apiVersion/Kind`. */
  readonly skip: readonly string[];
  /** CustomResourceDefinitions; if several define one kind, the first one counts. */
  readonly definitions: readonly JsonObject[];
  /** What was found at the schema locations. */
  readonly located: readonly LocatedSchema[];
  /** The schemas that files name for their own documents. */
  readonly named: readonly NamedSchema[];
  /** Some file has expressions that an API server compiles. */
  readonly checksExpressions?: boolean;
  /** Fixes of warnings are looked for, which costs further checks. */
  readonly findsFixes: boolean;
  /** What rules across files need is collected. */
  readonly collectsFacts: boolean;
  /** What each document refers to is collected. */
  readonly collectsReferences: boolean;
}

/** A schema that a file names. */
export interface NamedSchema {
  /** The name of the file. */
  readonly file: string;
  readonly reference: string;
  readonly schema: ReadSchema;
}

/** The checks of objects. */
export interface ObjectChecks {
  readonly check: ObjectCheck;
  /** Whether the settings leave this kind out. */
  isSkipped(object: JsonObject): boolean;
  hasSchema(object: JsonObject): boolean;
  /** The check by the schema that a file names; undefined: the schema is not read yet. A problem is a sentence. */
  named(file: string, reference: string): Result<ObjectCheck> | undefined;
  readonly checksExpressions: boolean;
  /** Checks the expressions of a kind that the engine reads; undefined: they are not checked yet. */
  readonly checkOfEngineKind: ObjectCheck | undefined;
  readonly findsFixes: boolean;
  readonly collectsFacts: boolean;
  readonly collectsReferences: boolean;
  /** The rules that could not be evaluated until now, as sentences. */
  notEvaluated(): readonly string[];
  /** The steps of rules in CEL since the last call. */
  takeSteps(): number;
}

/** The library for CEL is loaded only where a definition has rules. */
async function celEvaluator(definitions: readonly JsonObject[]) {
  const { createCelEvaluator } = await import('../../../validation/custom/cel/evaluator.ts');
  return createCelEvaluator(definitions);
}

/** The library for patterns is loaded only where there are definitions. */
async function patternCompiler() {
  const { compilePattern } = await import('../../../validation/values/patterns.ts');
  return compilePattern;
}

/** The library for JSON Schemas is loaded only where there is one. */
async function jsonSchemaCompiler() {
  const { createJsonSchemaCompiler } = await import('../../../validation/custom/json-schema-compiler.ts');
  return createJsonSchemaCompiler();
}

/** Opens the schemas and makes the checks. */
export async function createObjectChecks(settings: CheckSettings): Promise<ObjectChecks> {
  const { versions, withoutSchema, skip, definitions, located, named, findsFixes } = settings;
  const { collectsFacts, collectsReferences } = settings;
  const { checksExpressions = false } = settings;
  const cel = checksExpressions || definitions.some(hasRules) ? await celEvaluator(definitions) : undefined;
  const checkExpressions = checksExpressions ? cel?.checkExpressions : undefined;
  const compile = located.length + named.length === 0 ? undefined : await jsonSchemaCompiler();
  const custom = [
    ...(definitions.length === 0 ? [] : [createCustomKinds(definitions, cel?.compileRules)]),
    ...(compile === undefined ? [] : [createLocatedKinds(located, compile)]),
  ];
  const namedChecks = new Map<string, Result<ObjectCheck>>();
  for (const { file, reference, schema } of named) {
    if ('problem' in schema) namedChecks.set(`${file}\n${reference}`, problem(schema.problem));
    else if (compile !== undefined) namedChecks.set(`${file}\n${reference}`, compile(schema.file));
  }
  const opened = await Promise.all(versions.map(openKubernetesSchemas));
  const compilePattern = definitions.length === 0 ? undefined : await patternCompiler();
  const checks = opened.map((kubernetes) =>
    createObjectCheck({ kubernetes, custom, compilePattern, withoutSchema, checkExpressions }),
  );
  const skipped = new Set(skip);
  return {
    check: inAll(checks),
    named: (file, reference) => namedChecks.get(`${file}\n${reference}`),
    checksExpressions,
    checkOfEngineKind: checkExpressions,
    findsFixes,
    collectsFacts,
    collectsReferences,
    notEvaluated: () => cel?.notEvaluated() ?? [],
    takeSteps: () => cel?.takeSteps() ?? 0,
    isSkipped: ({ apiVersion, kind, type }) => {
      if (skipped.size === 0) return false;
      const version = textOf(apiVersion);
      const name = textOf(kind ?? type);
      const slash = version.indexOf('/');
      const names = [name, `${version}/${name}`, ...(slash < 0 ? [] : [`${version.slice(0, slash)}/${name}`])];
      return names.some((each) => skipped.has(each));
    },
    hasSchema: ({ apiVersion, kind }) => {
      const parsed = parseApiVersion(textOf(apiVersion));
      if (!parsed.ok) return false;
      const { group, version } = parsed.value;
      return [...opened, ...custom].some((schemas) => schemas.find(group, version, textOf(kind)) !== undefined);
    },
  };
}

/** The problems that at least one check reports, each once. */
function inAll(checks: readonly ObjectCheck[]): ObjectCheck {
  const [first, ...others] = checks;
  if (first === undefined) return () => [];
  if (others.length === 0) return first;
  return (object) => {
    const problems = new Map<string, FieldProblem>();
    for (const check of checks) {
      for (const problem of check(object)) {
        const key = JSON.stringify([problem.severity, problem.reason, problem.path, problem.message]);
        if (!problems.has(key)) problems.set(key, problem);
      }
    }
    return [...problems.values()];
  };
}
