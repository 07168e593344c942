import type { Expr, Expr_Call, Expr_Comprehension } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';
import { didYouMean } from '../../../manifest/problem.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../model/text/json.ts';
import type { CallFault } from './declared-functions.ts';
import { OPTIONAL_SELECT } from './optional-syntax.ts';
import { escapedName, RESERVED } from './values.ts';
import { childrenOf } from './walk.ts';

/** A schema of a CustomResourceDefinition, as it is written there. */
export interface WrittenSchema {
  readonly json: JsonObject;
  /** It is the schema of an object with apiVersion, kind and metadata. */
  readonly isResource: boolean;
}

/** The variables with a known schema; undefined: the variable is declared, and its schema is not known. */
export type FieldScope = ReadonlyMap<string, WrittenSchema | undefined>;

/** Of the metadata, rules see the names only. */
const METADATA: JsonObject = {
  type: 'object',
  properties: { name: { type: 'string' }, generateName: { type: 'string' } },
};

/**
 * Returns the first field that an expression reads from a variable, and that its schema does not have. Only fields, items and the
 * variables of loops over lists are followed: of all other expressions the type is not known here.
 */
export function faultOfFields(expr: Expr, scope: FieldScope): CallFault | undefined {
  const faults: CallFault[] = [];
  schemaOf(expr, scope, faults);
  return faults[0];
}

/** The schema of the value of an expression, as far as it is known. Adds fields that are read and are not there. */
export function schemaOf(expr: Expr, scope: FieldScope, faults: CallFault[] = []): WrittenSchema | undefined {
  switch (expr.exprKind.case) {
    case 'identExpr':
      return scope.get(expr.exprKind.value.name);
    case 'selectExpr': {
      const { operand, field } = expr.exprKind.value;
      return operand === undefined ? undefined : fieldOf(schemaOf(operand, scope, faults), field, faults);
    }
    case 'callExpr':
      return schemaOfCall(expr.exprKind.value, scope, faults);
    case 'comprehensionExpr':
      visitLoop(expr.exprKind.value, scope, faults);
      return undefined;
    default:
      for (const child of childrenOf(expr)) schemaOf(child, scope, faults);
      return undefined;
  }
}

function schemaOfCall(call: Expr_Call, scope: FieldScope, faults: CallFault[]): WrittenSchema | undefined {
  const { function: name, target, args } = call;
  const of = target === undefined ? undefined : schemaOf(target, scope, faults);
  // The variables of macros that the parser leaves as calls: their values are not known.
  const bound =
    target === undefined
      ? []
      : args.flatMap(({ exprKind }) => (exprKind.case === 'identExpr' ? exprKind.value.name : []));
  const inner: FieldScope =
    bound.length === 0 ? scope : new Map([...scope, ...bound.map((each) => [each, undefined] as const)]);
  const [first, ...others] = args.map((arg) => schemaOf(arg, inner, faults));
  if (name === OPTIONAL_SELECT) {
    const constant = args[0]?.exprKind.case === 'constExpr' ? args[0].exprKind.value.constantKind : undefined;
    return constant?.case === 'stringValue' ? fieldOf(of, constant.value, faults) : undefined;
  }
  if (name !== '_[_]' || first === undefined || others.length !== 1) return undefined;
  const { type, items, additionalProperties } = first.json;
  return written(type === 'array' ? items : type === 'object' ? additionalProperties : undefined);
}

function visitLoop(loop: Expr_Comprehension, scope: FieldScope, faults: CallFault[]): void {
  const { iterRange, iterVar, accuVar, accuInit, loopCondition, loopStep, result } = loop;
  const range = iterRange === undefined ? undefined : schemaOf(iterRange, scope, faults);
  // The variable of a mapping is a key.
  const item = range?.json.type === 'array' ? written(range.json.items) : undefined;
  const inner: FieldScope = new Map([...scope, [accuVar, undefined], [iterVar, item]]);
  for (const part of [accuInit, loopCondition, loopStep, result]) {
    if (part !== undefined) schemaOf(part, inner, faults);
  }
}

/** The schema of a field of a mapping. Reports a field that is missing there. */
function fieldOf(of: WrittenSchema | undefined, field: string, faults: CallFault[]): WrittenSchema | undefined {
  if (of === undefined || of.json.type !== 'object' || of.json['x-kubernetes-int-or-string'] === true) return undefined;
  const { properties, additionalProperties } = of.json;
  if (additionalProperties !== undefined) return written(additionalProperties);
  const own = isJsonObject(properties) ? Object.keys(properties) : [];
  const names = of.isResource ? [...new Set([...own, 'apiVersion', 'kind', 'metadata'])] : own;
  const name = names.find((each) => escapedName(each) === field || (RESERVED.has(each) && each === field));
  if (name === undefined) {
    const known = names.flatMap((each) => escapedName(each) ?? []);
    faults.push({
      fault: `reads the field ${field}, which the schema does not have there`,
      hint: didYouMean(field, known),
    });
    return undefined;
  }
  if (of.isResource && name === 'metadata') return { json: METADATA, isResource: false };
  return written(isJsonObject(properties) ? properties[name] : undefined);
}

function written(json: JsonValue | undefined): WrittenSchema | undefined {
  return isJsonObject(json) ? { json, isResource: json['x-kubernetes-embedded-resource'] === true } : undefined;
}
