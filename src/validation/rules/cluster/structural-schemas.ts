import { didYouMean } from '../../../manifest/problem.ts';
import { isJsonObject, type JsonValue } from '../../../model/text/json.ts';
import type { Field } from '../shared/field.ts';

/** Where a schema stands. */
type Level = 'root' | 'item' | 'field';

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const LOGIC = ['allOf', 'anyOf', 'oneOf'] as const;
const UNSUPPORTED = ['$ref', 'additionalItems', 'definitions', 'dependencies', 'id', 'patternProperties'];

/** What the root of a schema may have if the status is a subresource. */
const AT_ROOT_WITH_STATUS: ReadonlySet<string> = new Set(
  (
    'description type format title maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength ' +
    'pattern maxItems minItems uniqueItems multipleOf required items properties externalDocs example ' +
    'x-kubernetes-preserve-unknown-fields x-kubernetes-validations'
  ).split(' '),
);

/** What a schema below allOf, anyOf, oneOf and not must not have. */
const NOT_NESTED = (
  'additionalProperties default title description nullable x-kubernetes-preserve-unknown-fields ' +
  'x-kubernetes-embedded-resource x-kubernetes-int-or-string x-kubernetes-list-map-keys ' +
  'x-kubernetes-list-type x-kubernetes-map-type x-kubernetes-validations'
).split(' ');

/**
 * Checks that the schema of a version is structural, as an API server demands.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
export function schemaRule(schema: Field, hasStatus: boolean): void {
  if (hasStatus) {
    for (const member of schema.members()) {
      if (!AT_ROOT_WITH_STATUS.has(member.step))
        member.forbidden('at the root of a schema with the subresource status');
    }
  }
  if (schema.get('nullable').isTrue) schema.get('nullable').forbidden('at the root of a schema');
  checkSchema(schema, 'root');
}

function checkSchema(schema: Field, level: Level): void {
  checkKeywords(schema);
  checkType(schema, level);
  checkMembers(schema, level);
  checkLists(schema);
  checkResource(schema, level);
  for (const branch of nestedOf(schema)) checkNested(branch, schema, isIntOrString(schema, branch));
  for (const celRule of schema.get('x-kubernetes-validations').items()) {
    checkCelRule(celRule);
    checkFieldPath(celRule.get('fieldPath'), schema);
  }
}

function checkKeywords(schema: Field): void {
  for (const name of UNSUPPORTED) if (schema.get(name).isSet) schema.get(name).forbidden('in this schema');
  const [unique, pattern] = [schema.get('uniqueItems'), schema.get('pattern')];
  if (unique.isTrue) unique.forbidden('in this schema', 'write x-kubernetes-list-type: set');
  if (/\(\?(?:[=!]|<[=!])|\\[1-9]/.test(withoutLiterals(pattern.text ?? ''))) {
    pattern.invalid('must be a pattern of RE2, which has no look-around and no back-references');
  }
  const keepsUnknown = schema.get('x-kubernetes-preserve-unknown-fields');
  if (keepsUnknown.value === false) keepsUnknown.invalid('must be true or missing');
  if (!schema.get('x-kubernetes-int-or-string').isTrue) return;
  for (const name of ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource']) {
    if (schema.get(name).isTrue) schema.get(name).forbidden('with x-kubernetes-int-or-string');
  }
}

function checkType(schema: Field, level: Level): void {
  const type = schema.get('type');
  const found = type.word;
  if (found !== undefined && !TYPES.includes(found)) type.notSupported(TYPES);
  else if (found === undefined) {
    const needsNone = ['x-kubernetes-int-or-string', 'x-kubernetes-preserve-unknown-fields'];
    // An API server refuses a reference before it looks for the type.
    const hasNone = schema.get('$ref').isSet || needsNone.some((name) => schema.get(name).isTrue);
    if (!hasNone) missing(schema, 'type');
  } else if (level === 'root' && found !== 'object') type.invalid('must be object at the root of a schema');
  const initial = schema.get('default');
  if (initial.isSet && !hasType(initial.value ?? null, found)) {
    initial.invalid(`must have the type ${found}`, { reason: 'WrongType' });
  } else if (initial.text !== undefined) {
    const words = schema
      .get('enum')
      .items()
      .flatMap((word) => word.text ?? []);
    if (words.length > 0) initial.isOneOf(words);
  }
}

/** The pattern without its escaped characters and its classes of characters. */
function withoutLiterals(pattern: string): string {
  return pattern.replaceAll(/\\[^1-9]/g, '').replaceAll(/\[\^?\]?[^\]]*(?:\]|$)/g, '');
}

function missing(schema: Field, name: string, hint?: string): void {
  schema.report('BadDefinition', `${schema.get(name).name} is missing`, { hint });
}

function hasType(value: JsonValue, type: string | undefined): boolean {
  switch (type) {
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isJsonObject(value);
    case 'integer':
      return Number.isInteger(value);
    case undefined:
      return true;
    default:
      return !TYPES.includes(type) || typeof value === type;
  }
}

function checkMembers(schema: Field, level: Level): void {
  const [properties, others, list] = [
    schema.get('properties'),
    schema.get('additionalProperties'),
    schema.get('items'),
  ];
  if (others.isSet && level === 'root') others.forbidden('at the root of a schema');
  else if (others.isSet && !properties.isEmpty && others.value !== true) others.forbidden('together with properties');
  for (const property of properties.members()) if (property.mapping) checkSchema(property, 'field');
  if (others.mapping) checkSchema(others, 'field');
  if (Array.isArray(list.value)) list.invalid('must be one schema, not a list of them');
  else if (list.mapping) checkSchema(list, 'item');
  else if (schema.get('type').text === 'array' && !list.isSet) missing(schema, 'items');
}

function checkLists(schema: Field): void {
  const [type, listType] = [schema.get('type'), schema.get('x-kubernetes-list-type')];
  const [keys, mapType] = [schema.get('x-kubernetes-list-map-keys'), schema.get('x-kubernetes-map-type')];
  const itemSchema = schema.get('items');
  const kind = listType.word;
  if (kind !== undefined && !['atomic', 'set', 'map'].includes(kind)) listType.notSupported(['atomic', 'set', 'map']);
  if (kind !== undefined && type.text !== 'array') listType.forbidden('without type: array');
  if (mapType.word !== undefined && type.text !== 'object') mapType.forbidden('without type: object');
  if (!keys.isEmpty && kind !== 'map') keys.forbidden('without x-kubernetes-list-type: map');
  if (
    kind === 'set' &&
    itemSchema.get('type').text === 'object' &&
    itemSchema.get('x-kubernetes-map-type').text !== 'atomic'
  ) {
    listType.report('BadDefinition', `${listType.name}: the items of a set must not be objects`, {
      hint: 'write x-kubernetes-map-type: atomic at the items',
    });
  }
  if (kind !== 'map' || type.text !== 'array') return;
  if (keys.isEmpty) missing(schema, 'x-kubernetes-list-map-keys');
  if (itemSchema.mapping && itemSchema.get('type').text !== 'object') {
    listType.report('BadDefinition', `${listType.name}: the items of a map must be objects`);
  } else {
    const requiredNames = new Set(
      itemSchema
        .get('required')
        .items()
        .map((item) => item.text),
    );
    for (const key of keys.items()) checkListKey(key, itemSchema, requiredNames);
  }
}

function checkListKey(key: Field, itemSchema: Field, requiredNames: ReadonlySet<string | undefined>): void {
  const name = key.text ?? '';
  const property = itemSchema.get('properties').get(name);
  if (!property.isSet) {
    key.invalid('must be a property of the items', { reason: 'UnknownReference' });
    return;
  }
  if (!requiredNames.has(name) && !property.get('default').isSet) {
    const hint = `add ${name} to required`;
    property.report(
      'BadDefinition',
      `${property.name} is a key of its list, so it must be required or have a default`,
      { hint },
    );
  }
  const type = property.get('type');
  if (['array', 'object'].includes(type.text ?? '')) type.invalid('must not be a list or a mapping in a key of a list');
  if (property.get('nullable').isTrue) property.get('nullable').forbidden('in a key of a list');
}

/** The root, and embedded resources, have the identity of an object. */
function checkResource(schema: Field, level: Level): void {
  const isEmbedded = schema.get('x-kubernetes-embedded-resource').isTrue;
  if (level !== 'root' && !isEmbedded) return;
  const properties = schema.get('properties');
  for (const [name, wanted] of [
    ['apiVersion', 'string'],
    ['kind', 'string'],
    ['metadata', 'object'],
  ] as const) {
    const type = properties.get(name).get('type');
    if (type.word !== undefined && type.word !== wanted) type.invalid(`must be ${wanted}`);
  }
  if (level === 'root') checkMetadata(properties.get('metadata'));
  if (!isEmbedded || level === 'root') return;
  if (schema.get('type').text !== 'object') schema.get('type').invalid('must be object in an embedded resource');
  if (properties.isEmpty && !schema.get('x-kubernetes-preserve-unknown-fields').isTrue) missing(schema, 'properties');
}

function checkMetadata(metadata: Field): void {
  for (const member of metadata.members()) {
    if (member.step === 'type' || member.step === 'default') continue;
    if (member.step !== 'properties') {
      if (!member.isEmpty) member.forbidden('for the metadata of an object');
      continue;
    }
    for (const property of member.members()) {
      if (property.step !== 'name' && property.step !== 'generateName')
        property.forbidden('for the metadata of an object');
    }
  }
}

function nestedOf(schema: Field): readonly Field[] {
  const not = schema.get('not');
  return [...LOGIC.flatMap((name) => schema.get(name).items()), ...(not.mapping ? [not] : [])];
}

/** `anyOf: [{type: integer}, {type: string}]` is what a number or a text is written as. */
function isIntOrString(schema: Field, branch: Field): boolean {
  if (branch.parent?.step !== 'anyOf' || !schema.get('x-kubernetes-int-or-string').isTrue) return false;
  const written = branch.parent.items().map((each) => JSON.stringify(each.value));
  return written.join() === '{"type":"integer"},{"type":"string"}';
}

/** Checks a schema that only restricts values. `outer` is the schema that says which fields exist; undefined: none. */
function checkNested(schema: Field, outer: Field, mayHaveType: boolean): void {
  const type = schema.get('type');
  if (type.word !== undefined && !mayHaveType) {
    const isOfIntOrString = outer.get('x-kubernetes-int-or-string').isTrue;
    if (!isOfIntOrString) type.forbidden('below allOf, anyOf, oneOf and not', 'write it in the schema outside of them');
  }
  for (const name of NOT_NESTED) {
    const found = schema.get(name);
    if (found.isSet && found.value !== false && !found.isEmpty) found.forbidden('below allOf, anyOf, oneOf and not');
  }
  for (const property of schema.get('properties').members()) {
    const counterpart = outer.get('properties').get(property.step);
    if (property.step === 'metadata') property.forbidden('below allOf, anyOf, oneOf and not');
    else if (counterpart.isSet) checkNested(property, counterpart, false);
    else {
      const hint = 'write it in the schema outside of allOf, anyOf, oneOf and not as well';
      property.report('BadDefinition', `${property.name} is no property of the schema`, { hint, atKey: true });
    }
  }
  const list = schema.get('items');
  if (list.mapping) {
    if (outer.get('items').isSet) checkNested(list, outer.get('items'), false);
    else list.report('BadDefinition', `${list.name} has no items in the schema`, { atKey: true });
  }
  for (const branch of nestedOf(schema)) checkNested(branch, outer, isIntOrString(outer, branch));
}

function checkCelRule(celRule: Field): void {
  const [expression, message] = [celRule.get('rule'), celRule.get('message')];
  const source = expression.text?.trim();
  const said = message.text ?? '';
  if (source === '') expression.required();
  else if (said !== '' && said.trim() === '') message.invalid('must not be blank');
  else if (/[\n\r]/.test(said.trim())) message.invalid('must be one line');
  else if (source !== undefined && /[\n\r]/.test(source) && said === '') {
    celRule.report('BadDefinition', `${message.name} is missing: the rule has several lines`);
  }
}

/** A step of a path: `.name` or `['name']`. */
const STEP = /\.([^.[\]']+)|\['((?:[^'\\]|\\.)*)'\]/g;

/** The path leads from the value with the rule to a field of its schema. */
function checkFieldPath(fieldPath: Field, schema: Field): void {
  const path = fieldPath.word;
  if (path === undefined) return;
  if (/^\w/.test(path)) {
    fieldPath.invalid('must begin with a dot', { reason: 'BadDefinition', hint: `write .${path}` });
    return;
  }
  if (path.replaceAll(STEP, '') !== '') return;
  let at = schema;
  for (const [, name, quoted = ''] of path.matchAll(STEP)) {
    const step = name ?? quoted.replaceAll(/\\(.)/g, '$1');
    const properties = at.get('properties');
    at = properties.mapping === undefined ? at.get('additionalProperties') : properties.get(step);
    if (at.mapping !== undefined) continue;
    const hint = didYouMean(step, Object.keys(properties.mapping ?? {}));
    fieldPath.invalid(`the schema has no field ${step} there`, { reason: 'BadDefinition', hint });
    return;
  }
}
