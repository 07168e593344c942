import type { FieldPath } from '../../model/text/field-path.ts';
import type { JsonValue } from '../../model/text/json.ts';
import { customFormat } from './custom-formats.ts';
import { builtInFormats, type Format } from './formats.ts';
import type { KeptPatterns } from './metered-patterns.ts';
import type { Matcher } from './patterns.ts';
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
  /** The fields that `fields` does not name. */
  readonly rest: 'refused' | 'any' | Slot;
  readonly items: Slot | undefined;
  readonly format: Format | undefined;
  readonly enum: ReadonlySet<JsonValue> | undefined;
  /** The fields that identify an item of the list; empty: the item itself does. Undefined: items may repeat. */
  readonly itemKeys: readonly string[] | undefined;
  /** The schema has rules about values, which are in value-rules.ts. */
  readonly hasValueRules: boolean;
  readonly branches: Branches | undefined;
  readonly slot: Slot;
}

/** The alternatives and conditions of a schema. */
export interface Branches {
  readonly allOf: readonly Slot[];
  readonly anyOf: readonly Slot[];
  readonly oneOf: readonly Slot[];
  readonly not: Slot | undefined;
}

/** A place in a schema whose node is made when a value gets there. */
export interface Slot {
  readonly schema: Schema;
  readonly nesting: Nesting;
  node: Node | undefined;
  /** Absent: it stands alone. */
  readonly within?: Within;
}

/** The place around a place: the keyword of its schema, and the name or index below the keyword. */
interface Within {
  readonly slot: Slot;
  readonly keyword: keyof Schema;
  readonly key?: string | number;
}

/**
 * Undefined, or the fields with a default of the schema around, for a schema below its allOf, anyOf, oneOf or not. There it
 * has no say in which fields exist, and fields with a default are filled in before it is looked at.
 */
type Nesting = ReadonlySet<string> | undefined;

/** How schemas are compiled. */
export interface CompileOptions {
  readonly reader: Reader;
  definition(ref: string): Schema | undefined;
  /** Matchers of patterns in custom kinds. Without it, or where it returns undefined, every text matches. */
  readonly patterns?: KeptPatterns<Matcher | undefined> | undefined;
}

/** A place for a schema that stands alone. */
export function slotOf(schema: Schema): Slot {
  return { schema, nesting: undefined, node: undefined };
}

/** The node of a place, made if it is not there yet. */
export function nodeOf(slot: Slot, options: CompileOptions): Node {
  slot.node ??= compile(slot, options);
  return slot.node;
}

/** The path of a place in its schema, for people. */
export function schemaPathOf({ within }: Slot): FieldPath {
  if (within === undefined) return [];
  const { slot, keyword, key } = within;
  return [...schemaPathOf(slot), keyword, ...(key === undefined ? [] : [key])];
}

const VALUE_RULES: readonly (keyof Schema)[] = [
  ...(['pattern', 'minimum', 'maximum', 'multipleOf', 'minLength', 'maxLength', 'minItems', 'maxItems'] as const),
  ...(['uniqueItems', 'minProperties', 'maxProperties', 'allOf', 'anyOf', 'oneOf', 'not'] as const),
];

function compile(at: Slot, { reader, definition }: CompileOptions): Node {
  const { schema: written, nesting } = at;
  const schema = written.$ref === undefined ? written : { ...definition(written.$ref), ...withoutReference(written) };
  const isCustom = reader === 'custom';
  const slot = (inner: Schema, keyword: keyof Schema, key?: string): Slot => {
    const within = key === undefined ? { slot: at, keyword } : { slot: at, keyword, key };
    return { schema: inner, nesting: nesting && new Set(), node: undefined, within };
  };
  const fields = Object.entries({ ...resourceFields(schema), ...schema.properties });
  const { format, required = [] } = schema;
  return {
    schema,
    type: schema['x-kubernetes-int-or-string'] === true ? 'int-or-string' : schema.type,
    fields:
      fields.length === 0 ? undefined : new Map(fields.map(([name, field]) => [name, slot(field, 'properties', name)])),
    required: required.filter((name) => !nesting?.has(name) && schema.properties?.[name]?.default === undefined),
    rest: restOf(schema, nesting !== undefined, slot),
    items: schema.items && slot(schema.items, 'items'),
    format: format === undefined ? undefined : isCustom ? customFormat(format) : builtInFormats[format],
    enum: schema.enum === undefined ? undefined : new Set(schema.enum),
    itemKeys: itemKeysOf(schema),
    hasValueRules: isCustom && VALUE_RULES.some((keyword) => schema[keyword] !== undefined),
    branches: isCustom ? branchesOf(schema, at) : undefined,
    slot: at,
  };
}

function branchesOf(schema: Schema, at: Slot): Branches | undefined {
  const { allOf = [], anyOf = [], oneOf = [], not, properties = {} } = schema;
  if (allOf.length + anyOf.length + oneOf.length === 0 && not === undefined) return undefined;
  const filled = Object.entries(properties).flatMap(([name, field]) => (field.default === undefined ? [] : [name]));
  const inner: Nesting = new Set([...(at.nesting ?? []), ...filled]);
  const nested = (schema: Schema, within: Within): Slot => ({ schema, nesting: inner, node: undefined, within });
  const all = (keyword: keyof Schema, branches: readonly Schema[]) =>
    branches.map((branch, key) => nested(branch, { slot: at, keyword, key }));
  return {
    allOf: all('allOf', allOf),
    anyOf: all('anyOf', anyOf),
    oneOf: all('oneOf', oneOf),
    not: not && nested(not, { slot: at, keyword: 'not' }),
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

function restOf(schema: Schema, isNested: boolean, slot: (inner: Schema, keyword: keyof Schema) => Slot): Node['rest'] {
  const { additionalProperties } = schema;
  if (typeof additionalProperties === 'object') return slot(additionalProperties, 'additionalProperties');
  const takesAny = isNested || additionalProperties === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  return takesAny ? 'any' : 'refused';
}

function itemKeysOf(schema: Schema): readonly string[] | undefined {
  const { 'x-kubernetes-list-type': type, 'x-kubernetes-list-map-keys': keys } = schema;
  if (type === 'set') return [];
  return type === 'map' ? keys : undefined;
}
