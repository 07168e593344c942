import { isJsonObject, type JsonObject, type JsonValue } from '../../model/text/json.ts';
import { given } from '../../model/values/given.ts';
import type { CelRule, Schema } from '../values/schema.ts';

/**
 * Reads the schema of one version of a CustomResourceDefinition, with the parts that an API server adds to it and to embedded
 * resources: apiVersion, kind and any metadata. Members of the wrong type are left out: the schema of
 * CustomResourceDefinition reports them.
 *
 * @param hasStatus the kind has the subresource `status`: an API server drops the status of a manifest, so only the names of
 * its fields count
 */
export function readRootSchema(json: JsonObject, hasStatus: boolean): Schema {
  const read = asResource(readSchema(json));
  const status = read.properties?.status;
  if (!hasStatus || status === undefined) return read;
  return { ...read, properties: { ...read.properties, status: skeleton(status) } };
}

/** The keywords that hold a value as it is, with the test of its type. */
const PLAIN: Readonly<Record<string, (value: JsonValue) => boolean>> = {
  type: (value) => typeof value === 'string' && TYPES.has(value),
  nullable: isBoolean,
  format: isText,
  enum: Array.isArray,
  default: () => true,
  required: isTexts,
  pattern: isText,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isBoolean,
  exclusiveMaximum: isBoolean,
  multipleOf: isNumber,
  minLength: isNumber,
  maxLength: isNumber,
  minItems: isNumber,
  maxItems: isNumber,
  uniqueItems: isBoolean,
  minProperties: isNumber,
  maxProperties: isNumber,
  'x-kubernetes-preserve-unknown-fields': isBoolean,
  'x-kubernetes-embedded-resource': isBoolean,
  'x-kubernetes-int-or-string': isBoolean,
  'x-kubernetes-list-type': isText,
  'x-kubernetes-list-map-keys': isTexts,
};

const TYPES: ReadonlySet<string> = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean']);

function readSchema(json: JsonObject): Schema {
  const schema: Record<string, unknown> = {};
  for (const [keyword, hasType] of Object.entries(PLAIN)) {
    const value = json[keyword];
    if (value !== undefined && value !== null && hasType(value)) schema[keyword] = value;
  }
  const { properties, additionalProperties, items, not } = json;
  if (isJsonObject(properties)) schema.properties = readProperties(properties);
  if (isJsonObject(items)) schema.items = readSchema(items);
  if (isJsonObject(not)) schema.not = readSchema(not);
  if (isJsonObject(additionalProperties)) schema.additionalProperties = readSchema(additionalProperties);
  else if (typeof additionalProperties === 'boolean') schema.additionalProperties = additionalProperties;
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
    const branches = json[keyword];
    if (Array.isArray(branches)) schema[keyword] = branches.filter(isJsonObject).map(readSchema);
  }
  const rules = readRules(json['x-kubernetes-validations']);
  if (rules.length > 0) schema['x-kubernetes-validations'] = rules;
  return schema['x-kubernetes-embedded-resource'] === true ? asResource(schema) : schema;
}

function readProperties(json: JsonObject): Readonly<Record<string, Schema>> {
  // Without a prototype, because a property may have any name.
  const properties: Record<string, Schema> = Object.create(null);
  for (const [name, schema] of Object.entries(json)) if (isJsonObject(schema)) properties[name] = readSchema(schema);
  return properties;
}

/** The member of a rule that says where it is written: see `withRulePlaces`. */
export const RULE_PLACE = 'x-fleetrelay-at';

function readRules(json: JsonValue | undefined): readonly CelRule[] {
  if (!Array.isArray(json)) return [];
  return json
    .filter(isJsonObject)
    .flatMap(({ rule, message, messageExpression, reason, fieldPath, optionalOldSelf, [RULE_PLACE]: at }) =>
      typeof rule !== 'string'
        ? []
        : [
            {
              rule,
              ...(typeof message === 'string' ? { message } : {}),
              ...(typeof messageExpression === 'string' ? { messageExpression } : {}),
              ...(typeof reason === 'string' ? { reason } : {}),
              ...(typeof fieldPath === 'string' ? { fieldPath } : {}),
              ...(typeof optionalOldSelf === 'boolean' ? { optionalOldSelf } : {}),
              ...(typeof at === 'string' ? { at } : {}),
            },
          ],
    );
}

/** Adds the identity of an object. What the definition demands of the name stays in force. */
function asResource(schema: Schema): Schema {
  const { metadata } = schema.properties ?? {};
  return {
    ...schema,
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    properties: Object.assign(Object.create(null), {
      ...schema.properties,
      apiVersion: { type: 'string', ...schema.properties?.apiVersion },
      kind: { type: 'string', ...schema.properties?.kind },
      metadata: { ...metadata, type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    }),
    required: [...new Set(['apiVersion', 'kind', ...(schema.required ?? [])])],
  };
}

/** The names of the fields alone, without rules and without the types of values. */
function skeleton(schema: Schema): Schema {
  const { type, properties, items, additionalProperties } = schema;
  const keepsUnknown = schema['x-kubernetes-preserve-unknown-fields'];
  return {
    ...(type === 'object' || type === 'array' ? { type } : {}),
    ...given({ 'x-kubernetes-preserve-unknown-fields': keepsUnknown }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.assign(
            Object.create(null),
            Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, skeleton(field)])),
          ),
        }),
    ...(items === undefined ? {} : { items: skeleton(items) }),
    ...(additionalProperties === undefined
      ? {}
      : {
          additionalProperties:
            typeof additionalProperties === 'boolean' ? additionalProperties : skeleton(additionalProperties),
        }),
  };
}

function isBoolean(value: JsonValue): boolean {
  return typeof value === 'boolean';
}

function isText(value: JsonValue): boolean {
  return typeof value === 'string';
}

function isNumber(value: JsonValue): boolean {
  return typeof value === 'number';
}

function isTexts(value: JsonValue): boolean {
  return Array.isArray(value) && value.every(isText);
}
