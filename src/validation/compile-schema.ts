import type { JsonValue } from '../model/json.ts';
import { builtInFormats, type Format } from './formats.ts';
import type { Schema } from './schema.ts';

/**
 * Who reads the value: `built-in` kinds are decoded into Go types, in which null and a zero value are the same as absent;
 * `custom` kinds are checked against the structural schema of their CustomResourceDefinition.
 */
export type Reader = 'built-in' | 'custom';

/** A schema in the form that the interpreter reads; made once for each schema. */
export interface Node {
  readonly schema: Schema;
  readonly type: Schema['type'] | 'int-or-string';
  readonly fields: ReadonlyMap<string, Slot> | undefined;
  readonly required: readonly string[];
  /** Other fields than those of `fields`. */
  readonly rest: 'refused' | 'any' | Slot;
  readonly items: Slot | undefined;
  readonly format: Format | undefined;
  readonly enum: ReadonlySet<JsonValue> | undefined;
  /** The fields that identify an item of the list; empty: the item itself does. Undefined: items may repeat. */
  readonly itemKeys: readonly string[] | undefined;
  /** The schema has rules about values, which are in value-rules.ts. */
  readonly hasValueRules: boolean;
}

/** A place in a schema whose node is made when a value gets there. */
export interface Slot {
  readonly schema: Schema;
  readonly isNested: boolean;
  node: Node | undefined;
}

/** How schemas are compiled. */
export interface CompileOptions {
  readonly reader: Reader;
  definition(ref: string): Schema | undefined;
}

/** A place for a schema. `isNested`: below allOf, anyOf, oneOf or not, where a schema has no say in which fields exist. */
export function slotOf(schema: Schema, isNested: boolean): Slot {
  return { schema, isNested, node: undefined };
}

/** The node of a place, made if it is not there yet. */
export function nodeOf(slot: Slot, options: CompileOptions): Node {
  slot.node ??= compile(slot.schema, slot.isNested, options);
  return slot.node;
}

const VALUE_RULES: readonly (keyof Schema)[] = [
  ...(['pattern', 'minimum', 'maximum', 'multipleOf', 'minLength', 'maxLength', 'minItems', 'maxItems'] as const),
  ...(['uniqueItems', 'minProperties', 'maxProperties', 'allOf', 'anyOf', 'oneOf', 'not'] as const),
];

function compile(written: Schema, isNested: boolean, { reader, definition }: CompileOptions): Node {
  const schema = written.$ref === undefined ? written : { ...definition(written.$ref), ...withoutReference(written) };
  const isCustom = reader === 'custom';
  const slot = (inner: Schema): Slot => slotOf(inner, isNested);
  const fields = Object.entries({ ...resourceFields(schema), ...schema.properties });
  return {
    schema,
    type: schema['x-kubernetes-int-or-string'] === true ? 'int-or-string' : schema.type,
    fields: fields.length === 0 ? undefined : new Map(fields.map(([name, field]) => [name, slot(field)])),
    required: schema.required ?? [],
    rest: restOf(schema, isNested, slot),
    items: schema.items && slot(schema.items),
    format: isCustom || schema.format === undefined ? undefined : builtInFormats[schema.format],
    enum: schema.enum === undefined ? undefined : new Set(schema.enum),
    // API servers check the entries of built-in kinds in code (rules/), and allow the same key twice in some lists.
    itemKeys: isCustom ? itemKeysOf(schema) : undefined,
    hasValueRules: isCustom && VALUE_RULES.some((keyword) => schema[keyword] !== undefined),
  };
}

function withoutReference({ $ref: _, ...schema }: Schema): Schema {
  return schema;
}

function resourceFields(schema: Schema): Readonly<Record<string, Schema>> {
  if (schema['x-kubernetes-embedded-resource'] !== true) return {};
  return { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object', ...ANYTHING } };
}

const ANYTHING: Schema = { 'x-kubernetes-preserve-unknown-fields': true };

function restOf(schema: Schema, isNested: boolean, slot: (inner: Schema) => Slot): Node['rest'] {
  const { additionalProperties } = schema;
  if (typeof additionalProperties === 'object') return slot(additionalProperties);
  const takesAny = isNested || additionalProperties === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  return takesAny ? 'any' : 'refused';
}

function itemKeysOf(schema: Schema): readonly string[] | undefined {
  const { 'x-kubernetes-list-type': type, 'x-kubernetes-list-map-keys': keys } = schema;
  if (type === 'set') return [];
  return type === 'map' ? keys : undefined;
}
