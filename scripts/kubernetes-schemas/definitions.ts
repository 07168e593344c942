import { DEMANDED, MAY_REPEAT, NOT_DEMANDED, NOT_ENFORCED, typeOf } from './differences.ts';
import { type FieldExtras, functionOf } from './enums.ts';
import type { JsonSchema, Swagger } from './kinds.ts';

const META = 'io.k8s.apimachinery.pkg';
const CRD = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1';
const ANYTHING = { 'x-kubernetes-preserve-unknown-fields': true };

/** Definitions whose Go type reads JSON in its own way, which the published OpenAPI does not say. */
const OWN_FORMS: Readonly<Record<string, JsonSchema>> = {
  [`${META}.api.resource.Quantity`]: { type: 'string', format: 'quantity' },
  [`${META}.apis.meta.v1.MicroTime`]: { type: 'string', format: 'micro-time' },
  [`${META}.util.intstr.IntOrString`]: { 'x-kubernetes-int-or-string': true },
  [`${META}.runtime.RawExtension`]: ANYTHING,
  [`${META}.apis.meta.v1.FieldsV1`]: ANYTHING,
  [`${CRD}.JSON`]: ANYTHING,
  [`${CRD}.JSONSchemaPropsOrArray`]: ANYTHING,
  [`${CRD}.JSONSchemaPropsOrBool`]: ANYTHING,
  [`${CRD}.JSONSchemaPropsOrStringArray`]: ANYTHING,
};

/** What is kept of a schema: what decides whether an API server takes a value. */
const KEPT = [
  ...['$ref', 'type', 'format', 'required'],
  ...['x-kubernetes-list-type', 'x-kubernetes-list-map-keys', 'x-fleetrelay-items-may-repeat'],
];
const REFERENCE = '#/definitions/';

/**
 * The definitions that the kinds need, by name in canonical order, without descriptions and with the enums and defaults of
 * the Go sources. Throws if an enum belongs to a field that the OpenAPI does not have.
 */
export function readDefinitions(
  { definitions }: Swagger,
  roots: readonly string[],
  extras: ReadonlyMap<string, ReadonlyMap<string, FieldExtras>>,
): ReadonlyMap<string, JsonSchema> {
  const found = new Map<string, JsonSchema>();
  const waiting = [...roots];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue;
    const schema = definitions[name];
    if (schema === undefined) throw new Error(`the OpenAPI has no definition ${name}`);
    const own = OWN_FORMS[name];
    found.set(name, own ?? definition(name, schema, extras.get(functionOf(name)) ?? new Map(), waiting));
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function definition(
  name: string,
  schema: JsonSchema,
  extras: ReadonlyMap<string, FieldExtras>,
  references: string[],
): JsonSchema {
  const properties = { ...(schema.properties as Readonly<Record<string, JsonSchema>> | undefined) };
  for (const [field, added] of extras) {
    const property = properties[field];
    if (property === undefined) throw new Error(`${name} has an enum or default of a field it lacks: ${field}`);
    if (NOT_ENFORCED[`${typeOf(name)}.${field}`] === undefined) properties[field] = { ...property, extras: added };
  }
  const type = typeOf(name);
  for (const [field, property] of Object.entries(properties)) {
    if (MAY_REPEAT.has(`${type}.${field}`)) properties[field] = { ...property, 'x-fleetrelay-items-may-repeat': true };
  }
  const { required, ...others } = schema as { readonly required?: readonly string[] };
  const demanded = Object.keys(properties).filter((field) => {
    const place = `${type}.${field}`;
    return DEMANDED.has(place) || (required?.includes(field) === true && NOT_DEMANDED[place] === undefined);
  });
  const changes = {
    ...(demanded.length === 0 ? {} : { required: demanded }),
    ...(schema.properties === undefined ? {} : { properties }),
  };
  return reduced({ ...others, ...changes }, references);
}

function reduced(schema: JsonSchema, references: string[]): JsonSchema {
  const kept: Record<string, unknown> = {};
  for (const keyword of KEPT) if (schema[keyword] !== undefined) kept[keyword] = schema[keyword];
  if (typeof schema.$ref === 'string') references.push(schema.$ref.slice(REFERENCE.length));
  const { properties, items, additionalProperties } = schema;
  const { enum: values, itemsEnum, default: initial } = (schema.extras ?? {}) as FieldExtras;
  if (values !== undefined) kept.enum = values;
  if (initial !== undefined) kept.default = initial;
  if (items !== undefined) {
    const added = itemsEnum === undefined ? {} : { extras: { enum: itemsEnum } };
    kept.items = reduced({ ...(items as JsonSchema), ...added }, references);
  }
  if (additionalProperties !== undefined) {
    kept.additionalProperties = reduced(additionalProperties as JsonSchema, references);
  }
  if (properties !== undefined) {
    kept.properties = Object.fromEntries(
      Object.entries(properties as Readonly<Record<string, JsonSchema>>)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([field, property]) => [field, reduced(property, references)]),
    );
  }
  return kept;
}
