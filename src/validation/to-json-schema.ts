import type { JsonObject, JsonValue } from '../model/text/json.ts';
import type { KindSchema, Schema } from './values/schema.ts';

/**
 * Returns the JSON Schema of a kind in one document, as kubeconform and the language servers of editors read it: fields that
 * the kind does not have are refused, and a field that may be missing may be null.
 */
export function jsonSchemaOf(kind: KindSchema): JsonObject {
  const { group, version, definition } = kind;
  const definitions: Record<string, JsonValue> = {};
  const waiting: string[] = [];
  const refer = (ref: string): void => {
    if (!Object.hasOwn(definitions, nameOf(ref))) {
      definitions[nameOf(ref)] = {};
      waiting.push(ref);
    }
  };
  const { type: _, ...root } = convert(kind.schema, true, refer);
  for (let ref = waiting.pop(); ref !== undefined; ref = waiting.pop()) {
    definitions[nameOf(ref)] = convert(definition(ref) ?? {}, true, refer);
  }
  const required = [...new Set(['apiVersion', 'kind', 'metadata', ...(kind.schema.required ?? [])])];
  const properties = {
    metadata: { type: 'object' },
    ...(root.properties as JsonObject | undefined),
    apiVersion: { type: 'string', enum: [group === '' ? version : `${group}/${version}`] },
    kind: { type: 'string', enum: [kind.kind] },
  };
  const schema = { $schema: 'http://json-schema.org/draft-07/schema#', ...root, type: 'object', required, properties };
  return Object.keys(definitions).length === 0 ? schema : { ...schema, definitions };
}

/** `deployment-apps-v1.json`: kubeconform's `{{ .ResourceKind }}{{ .KindSuffix }}.json`. */
export function schemaFileName({ group, version, kind }: Pick<KindSchema, 'group' | 'version' | 'kind'>): string {
  const parts = [kind, group.split('.')[0] ?? '', version].filter((part) => part !== '');
  return `${parts.join('-').toLowerCase()}.json`;
}

const REFERENCE = '#/definitions/';

function nameOf(ref: string): string {
  return ref.slice(REFERENCE.length);
}

/** The keywords that mean the same in both forms. */
const SAME: readonly (keyof Schema)[] = [
  ...(['default', 'pattern', 'minimum', 'maximum', 'multipleOf', 'minLength', 'maxLength'] as const),
  ...(['minItems', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties', 'required'] as const),
];

/** Formats that JSON Schema does not have, or that checkers do not know. */
const OWN_FORMATS = new Set(['quantity', 'micro-time', 'int-or-string', 'int32', 'int64']);

/** @param isStrict false below `allOf`, `anyOf`, `oneOf` and `not`, where a schema has no say in which fields exist */
function convert(schema: Schema, isStrict: boolean, refer: (ref: string) => void): Record<string, JsonValue> {
  const into = (inner: Schema): JsonObject => convert(inner, isStrict, refer);
  const loosely = (inner: Schema): JsonObject => convert(inner, false, refer);
  const made: Record<string, JsonValue> = {};
  if (schema.$ref !== undefined) {
    refer(schema.$ref);
    // In draft 7 everything beside a reference is ignored.
    return { $ref: schema.$ref };
  }
  for (const keyword of SAME) if (schema[keyword] !== undefined) made[keyword] = schema[keyword] as JsonValue;
  const types = typesOf(schema);
  if (types.length > 0) made.type = types;
  if (schema.format !== undefined && !OWN_FORMATS.has(schema.format)) made.format = schema.format;
  if (schema.enum !== undefined) made.enum = [...schema.enum, null];
  // Draft 7 writes an exclusive limit as the limit itself.
  for (const [limit, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (schema[exclusive] === true && schema[limit] !== undefined) made[exclusive] = schema[limit];
  }
  if (schema.items !== undefined) made.items = into(schema.items);
  for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const) {
    if (schema[keyword] !== undefined) made[keyword] = schema[keyword].map(loosely);
  }
  if (schema.not !== undefined) made.not = loosely(schema.not);
  addFields(schema, made, isStrict, into);
  return made;
}

function addFields(
  schema: Schema,
  made: Record<string, JsonValue>,
  isStrict: boolean,
  into: (inner: Schema) => JsonObject,
): void {
  const { properties, additionalProperties: rest } = schema;
  const isResource = schema['x-kubernetes-embedded-resource'] === true;
  if (properties !== undefined || isResource) {
    const own = Object.entries(properties ?? {}).map(([name, field]) => {
      const isRequired = schema.required?.includes(name) === true;
      return [name, isRequired ? withoutNull(into(field)) : into(field)] as const;
    });
    const added = isResource ? { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: {} } : {};
    made.properties = { ...added, ...Object.fromEntries(own) };
  }
  if (typeof rest === 'object') made.additionalProperties = into(rest);
  else if (isStrict && made.properties !== undefined && !takesAnyField(schema)) made.additionalProperties = false;
}

function withoutNull({ type, enum: values, ...rest }: JsonObject): JsonObject {
  const kept = (list: JsonValue | undefined, absent: JsonValue): JsonValue =>
    Array.isArray(list) ? list.filter((item) => item !== absent) : null;
  return {
    ...(type === undefined ? {} : { type: kept(type, 'null') }),
    ...(values === undefined ? {} : { enum: kept(values, null) }),
    ...rest,
  };
}

function takesAnyField(schema: Schema): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties === true;
}

function typesOf(schema: Schema): readonly string[] {
  if (schema['x-kubernetes-int-or-string'] === true) return ['string', 'integer', 'null'];
  if (schema.type === undefined) return [];
  return schema.format === 'quantity' ? ['string', 'number', 'null'] : [schema.type, 'null'];
}
