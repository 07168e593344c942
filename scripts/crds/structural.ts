import { isJsonObject, type JsonObject, type JsonValue } from '../../src/model/text/json.ts';

/** Kept as they are: an API server reads them as JSON Schema does. */
const SAME = ['minimum', 'maximum', 'minLength', 'maxLength', 'pattern', 'minItems', 'maxItems', 'minProperties'];

/** How one kind's schema becomes structural. */
export interface StructuralOptions {
  /** Fields that the schema does not know are kept, at every level: the kind belongs to another project that goes on. */
  readonly keepsUnknownFields: boolean;
}

/**
 * The structural schema (`apiextensions.k8s.io/v1`) of a JSON Schema: references are put in, `const` is an enum of one,
 * what people read only in the schema's own file is left out. Defaults are told of and not set: what a person leaves out
 * stays out of the object.
 *
 * @param root the whole schema, for references
 */
export function structuralSchema(root: JsonObject, schema: JsonObject, options: StructuralOptions): JsonObject {
  const { $ref, ...beside } = schema;
  if (typeof $ref === 'string') return structuralSchema(root, { ...resolve(root, $ref), ...beside }, options);
  const described = { ...descriptionOf(schema), ...typeOf(schema), ...valuesOf(schema), ...listOf(schema) };
  const inner = (member: JsonValue | undefined): JsonObject => structuralSchema(root, object(member), options);
  const properties = isJsonObject(schema.properties)
    ? { properties: Object.fromEntries(Object.entries(schema.properties).map(([key, member]) => [key, inner(member)])) }
    : {};
  return {
    ...described,
    ...(schema.required === undefined ? {} : { required: schema.required }),
    ...properties,
    ...(schema.items === undefined ? {} : { items: inner(schema.items) }),
    ...(isJsonObject(schema.additionalProperties) ? { additionalProperties: inner(schema.additionalProperties) } : {}),
    ...(isOpen(schema, options) ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
  };
}

function isOpen(schema: JsonObject, { keepsUnknownFields }: StructuralOptions): boolean {
  if (schema.type !== 'object' || isJsonObject(schema.additionalProperties)) return false;
  return keepsUnknownFields || schema.additionalProperties === true || schema.properties === undefined;
}

function descriptionOf({ description, default: preset }: JsonObject): JsonObject {
  if (description === undefined) return {};
  return { description: preset === undefined ? description : `${description} Default: ${JSON.stringify(preset)}.` };
}

function typeOf({ type }: JsonObject): JsonObject {
  // The one mixture that structural schemas know.
  if (Array.isArray(type)) return { 'x-kubernetes-int-or-string': true };
  return type === undefined ? {} : { type };
}

function valuesOf(schema: JsonObject): JsonObject {
  const same = Object.fromEntries(SAME.filter((name) => name in schema).map((name) => [name, schema[name]]));
  if (schema.const !== undefined) return { ...same, enum: [schema.const] };
  return schema.enum === undefined ? same : { ...same, enum: schema.enum };
}

/** Conditions are one a type, each with its own owner. */
function listOf({ title, items }: JsonObject): JsonObject {
  const isConditions = isJsonObject(items) && items.$ref === '#/$defs/condition';
  if (isConditions) return { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] };
  return title === 'LabelSelector' ? { 'x-kubernetes-map-type': 'atomic' } : {};
}

function resolve(root: JsonObject, reference: string): JsonObject {
  const definitions = object(root.$defs);
  return object(definitions[reference.replace('#/$defs/', '')]);
}

function object(value: JsonValue | undefined): JsonObject {
  if (!isJsonObject(value)) throw new Error(`a schema is not an object: ${JSON.stringify(value)}`);
  return value;
}
