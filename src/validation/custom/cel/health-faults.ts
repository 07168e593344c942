import { parse } from '@bufbuild/cel';
import type { Expr } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';
import { didYouMean, type FieldProblem, fieldError } from '../../../manifest/problem.ts';
import { parseApiVersion } from '../../../model/objects/object-key.ts';
import { displayPath } from '../../../model/text/field-path.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  textOf,
} from '../../../model/text/json.ts';
import type { DeclaredExpression } from '../../expressions.ts';
import type { CallFault } from './declared-functions.ts';
import type { Environment } from './environment.ts';
import { compileExpression, declared, namesIn } from './expression.ts';
import { type FieldScope, faultOfFields, schemaOf } from './field-references.ts';
import { withoutOptionalSyntax } from './optional-syntax.ts';

/** An expression of a health check. */
export type HealthExpression = DeclaredExpression & { readonly judges: NonNullable<DeclaredExpression['judges']> };

/**
 * Returns what is wrong with an expression of a health check: no agent can evaluate it, it reads a field that the definition of its
 * kind does not have, or its value is neither true nor false. Without a definition the fields are not checked.
 *
 * @param definitions the CustomResourceDefinitions that are known
 */
export function problemOfHealth(
  environment: Environment,
  { path, source, judges }: HealthExpression,
  definitions: readonly JsonObject[],
): FieldProblem | undefined {
  const found = schemaOfKind(judges, definitions);
  if (found?.type === 'noVersion') {
    const at = [...path.slice(0, -1), 'apiVersion'];
    const message = `${displayPath(at)} is ${judges.apiVersion}, and the definition of ${judges.kind} has ${found.versions.join(', ')}`;
    return fieldError('BadExpression', at, message, didYouMean(judges.apiVersion, found.versions));
  }
  const fields = found === undefined ? undefined : fieldsOf(found.schema);
  const fault = faultOf(environment, source, fields);
  return fault && fieldError('BadExpression', path, `${displayPath(path)} ${fault.fault}`, fault.hint);
}

function faultOf(environment: Environment, source: string, fields: FieldScope | undefined): CallFault | undefined {
  const names = fields === undefined ? namesIn(source) : [...fields.keys()];
  const compiled = compileExpression(environment, source, declared(names));
  if (typeof compiled === 'string') {
    const why = compiled.replace(/<input>:(\d+):(\d+): /, 'line $1, column $2 of it: ');
    const unknown = / is no variable$/.test(why) ? why.replace(/ .*/, '') : undefined;
    if (unknown === undefined) return { fault: `cannot be evaluated: ${why}` };
    return {
      fault: `reads ${unknown}, a field that the kind does not have`,
      hint: didYouMean(unknown, names) ?? `the kind has ${names.toSorted().join(', ')}`,
    };
  }
  const { expr } = parse(withoutOptionalSyntax(`${source}\n`));
  if (expr === undefined) return undefined;
  const ofFields = fields === undefined ? undefined : faultOfFields(expr, fields);
  return ofFields ?? (isNoBoolean(expr, fields) ? { fault: 'has a value that is neither true nor false' } : undefined);
}

/** Functions and operators whose value is never a boolean. */
const NO_BOOLEANS: ReadonlySet<string> = new Set(
  (
    '_+_ _-_ _*_ _/_ _%_ -_ size int uint double string timestamp duration filter map split join lowerAscii ' +
    'upperAscii trim replace substring indexOf'
  ).split(' '),
);

/** Whether the value is certainly neither true nor false. */
function isNoBoolean(expr: Expr, fields: FieldScope | undefined): boolean {
  switch (expr.exprKind.case) {
    case 'constExpr':
      return expr.exprKind.value.constantKind.case !== 'boolValue';
    case 'listExpr':
    case 'structExpr':
      return true;
    case 'callExpr':
      if (NO_BOOLEANS.has(expr.exprKind.value.function)) return true;
      break;
    case 'selectExpr':
      // `has(status.phase)`.
      if (expr.exprKind.value.testOnly) return false;
      break;
    default:
  }
  const type = fields === undefined ? undefined : schemaOf(expr, fields)?.json.type;
  return typeof type === 'string' && type !== 'boolean';
}

type FoundSchema =
  | { readonly type: 'schema'; readonly schema: JsonObject }
  | { readonly type: 'noVersion'; readonly versions: readonly string[] };

/** The schema of a kind; undefined: no definition of it is known. */
function schemaOfKind(
  { apiVersion, kind }: HealthExpression['judges'],
  definitions: readonly JsonObject[],
): FoundSchema | undefined {
  const parsed = parseApiVersion(apiVersion);
  if (!parsed.ok) return undefined;
  const { group, version } = parsed.value;
  const definition = definitions.find(
    ({ spec }) => objectOf(spec).group === group && objectOf(objectOf(spec).names).kind === kind,
  );
  if (definition === undefined) return undefined;
  const versions = objectsOf(objectOf(definition.spec).versions);
  const found = versions.find(({ name }) => name === version);
  if (found === undefined)
    return { type: 'noVersion', versions: versions.map(({ name }) => `${group}/${textOf(name)}`) };
  const schema = objectOf(found.schema).openAPIV3Schema;
  return isJsonObject(schema) ? { type: 'schema', schema } : undefined;
}

/** The fields of an object as variables, with their schemas. Agents see the complete metadata. */
function fieldsOf(schema: JsonObject): FieldScope | undefined {
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return undefined;
  const properties = Object.entries(objectOf(schema.properties)).map(([name, value]) => {
    const json = name === 'metadata' ? undefined : withUnknown(value ?? null);
    return [name, isJsonObject(json) ? { json, isResource: false } : undefined] as const;
  });
  const ofAll = ['apiVersion', 'kind', 'metadata'].map((name) => [name, undefined] as const);
  return new Map([...ofAll, ...properties]);
}

/** A schema as agents see the values: fields that it does not name can be there where it keeps unknown ones. */
function withUnknown(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return (schema as readonly JsonValue[]).map(withUnknown);
  if (!isJsonObject(schema)) return schema;
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return {};
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, withUnknown(value ?? null)]));
}
