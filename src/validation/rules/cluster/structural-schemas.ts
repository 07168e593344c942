import { didYouMean } from '../../../manifest/problem.ts';
import { isJsonObject, type JsonValue } from '../../../model/text/json.ts';
import {
  type Field,
  forbidden,
  get,
  invalid,
  isEmpty,
  isOneOf,
  isSet,
  isTrue,
  items,
  mapping,
  members,
  nameOf,
  notSupported,
  report,
  required,
  text,
  word,
} from '../shared/field.ts';

/** Where a schema stands. */
type Level = 'root' | 'item' | 'field';

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const LOGIC = ['allOf', 'anyOf', 'oneOf'] as const;
const UNSUPPORTED = ['$ref', 'additionalItems', 'definitions', 'dependencies', 'id', 'patternProperties'];

/** What the root of a schema may have if the status is a subresource. */
const AT_ROOT_WITH_STATUS: ReadonlySet<string> = new Set([
  ...['description', 'type', 'format', 'title', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
  ...['maxLength', 'minLength', 'pattern', 'maxItems', 'minItems', 'uniqueItems', 'multipleOf', 'required', 'items'],
  ...['properties', 'externalDocs', 'example', 'x-kubernetes-preserve-unknown-fields', 'x-kubernetes-validations'],
]);

/** What a schema below allOf, anyOf, oneOf and not must not have. */
const NOT_NESTED = [
  ...['additionalProperties', 'default', 'title', 'description', 'nullable', 'x-kubernetes-preserve-unknown-fields'],
  ...['x-kubernetes-embedded-resource', 'x-kubernetes-int-or-string', 'x-kubernetes-list-map-keys'],
  ...['x-kubernetes-list-type', 'x-kubernetes-map-type', 'x-kubernetes-validations'],
];

/**
 * Checks that the schema of a version is structural, as an API server demands.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
export function schemaRule(schema: Field, hasStatus: boolean): void {
  if (hasStatus) {
    for (const member of members(schema)) {
      if (!AT_ROOT_WITH_STATUS.has(member.step))
        forbidden(member, 'at the root of a schema with the subresource status');
    }
  }
  if (isTrue(get(schema, 'nullable'))) forbidden(get(schema, 'nullable'), 'at the root of a schema');
  checkSchema(schema, 'root');
}

function checkSchema(schema: Field, level: Level): void {
  checkKeywords(schema);
  checkType(schema, level);
  checkMembers(schema, level);
  checkLists(schema);
  checkResource(schema, level);
  for (const branch of nestedOf(schema)) checkNested(branch, schema, isIntOrString(schema, branch));
  for (const celRule of items(get(schema, 'x-kubernetes-validations'))) {
    checkCelRule(celRule);
    checkFieldPath(get(celRule, 'fieldPath'), schema);
  }
}

function checkKeywords(schema: Field): void {
  for (const name of UNSUPPORTED) if (isSet(get(schema, name))) forbidden(get(schema, name), 'in this schema');
  const [unique, pattern] = [get(schema, 'uniqueItems'), get(schema, 'pattern')];
  if (isTrue(unique)) forbidden(unique, 'in this schema', 'write x-kubernetes-list-type: set');
  if (/\(\?(?:[=!]|<[=!])|\\[1-9]/.test(withoutLiterals(text(pattern) ?? ''))) {
    invalid(pattern, 'must be a pattern of RE2, which has no look-around and no back-references');
  }
  const keepsUnknown = get(schema, 'x-kubernetes-preserve-unknown-fields');
  if (keepsUnknown.value === false) invalid(keepsUnknown, 'must be true or missing');
  if (!isTrue(get(schema, 'x-kubernetes-int-or-string'))) return;
  for (const name of ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource']) {
    if (isTrue(get(schema, name))) forbidden(get(schema, name), 'with x-kubernetes-int-or-string');
  }
}

function checkType(schema: Field, level: Level): void {
  const type = get(schema, 'type');
  const found = word(type);
  if (found !== undefined && !TYPES.includes(found)) notSupported(type, TYPES);
  else if (found === undefined) {
    const needsNone = ['x-kubernetes-int-or-string', 'x-kubernetes-preserve-unknown-fields'];
    // An API server refuses a reference before it looks for the type.
    const hasNone = isSet(get(schema, '$ref')) || needsNone.some((name) => isTrue(get(schema, name)));
    if (!hasNone) missing(schema, 'type');
  } else if (level === 'root' && found !== 'object') invalid(type, 'must be object at the root of a schema');
  const initial = get(schema, 'default');
  if (isSet(initial) && !hasType(initial.value ?? null, found)) {
    invalid(initial, `must have the type ${found}`, { reason: 'WrongType' });
  } else if (text(initial) !== undefined) {
    const words = items(get(schema, 'enum')).flatMap((word) => text(word) ?? []);
    if (words.length > 0) isOneOf(initial, words);
  }
}

/** The pattern without its escaped characters and its classes of characters. */
function withoutLiterals(pattern: string): string {
  return pattern.replaceAll(/\\[^1-9]/g, '').replaceAll(/\[\^?\]?[^\]]*(?:\]|$)/g, '');
}

function missing(schema: Field, name: string, hint?: string): void {
  report(schema, 'BadDefinition', `${nameOf(get(schema, name))} is missing`, { hint });
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
    get(schema, 'properties'),
    get(schema, 'additionalProperties'),
    get(schema, 'items'),
  ];
  if (isSet(others) && level === 'root') forbidden(others, 'at the root of a schema');
  else if (isSet(others) && !isEmpty(properties) && others.value !== true)
    forbidden(others, 'together with properties');
  for (const property of members(properties)) if (mapping(property)) checkSchema(property, 'field');
  if (mapping(others)) checkSchema(others, 'field');
  if (Array.isArray(list.value)) invalid(list, 'must be one schema, not a list of them');
  else if (mapping(list)) checkSchema(list, 'item');
  else if (text(get(schema, 'type')) === 'array' && !isSet(list)) missing(schema, 'items');
}

function checkLists(schema: Field): void {
  const [type, listType] = [get(schema, 'type'), get(schema, 'x-kubernetes-list-type')];
  const [keys, mapType] = [get(schema, 'x-kubernetes-list-map-keys'), get(schema, 'x-kubernetes-map-type')];
  const itemSchema = get(schema, 'items');
  const kind = word(listType);
  if (kind !== undefined && !['atomic', 'set', 'map'].includes(kind)) notSupported(listType, ['atomic', 'set', 'map']);
  if (kind !== undefined && text(type) !== 'array') forbidden(listType, 'without type: array');
  if (word(mapType) !== undefined && text(type) !== 'object') forbidden(mapType, 'without type: object');
  if (!isEmpty(keys) && kind !== 'map') forbidden(keys, 'without x-kubernetes-list-type: map');
  if (
    kind === 'set' &&
    text(get(itemSchema, 'type')) === 'object' &&
    text(get(itemSchema, 'x-kubernetes-map-type')) !== 'atomic'
  ) {
    report(listType, 'BadDefinition', `${nameOf(listType)}: the items of a set must not be objects`, {
      hint: 'write x-kubernetes-map-type: atomic at the items',
    });
  }
  if (kind !== 'map' || text(type) !== 'array') return;
  if (isEmpty(keys)) missing(schema, 'x-kubernetes-list-map-keys');
  if (mapping(itemSchema) && text(get(itemSchema, 'type')) !== 'object') {
    report(listType, 'BadDefinition', `${nameOf(listType)}: the items of a map must be objects`);
  } else {
    const requiredNames = new Set(items(get(itemSchema, 'required')).map(text));
    for (const key of items(keys)) checkListKey(key, itemSchema, requiredNames);
  }
}

function checkListKey(key: Field, itemSchema: Field, requiredNames: ReadonlySet<string | undefined>): void {
  const name = text(key) ?? '';
  const property = get(get(itemSchema, 'properties'), name);
  if (!isSet(property)) {
    invalid(key, 'must be a property of the items', { reason: 'UnknownReference' });
    return;
  }
  if (!requiredNames.has(name) && !isSet(get(property, 'default'))) {
    const hint = `add ${name} to required`;
    report(
      property,
      'BadDefinition',
      `${nameOf(property)} is a key of its list, so it must be required or have a default`,
      { hint },
    );
  }
  const type = get(property, 'type');
  if (['array', 'object'].includes(text(type) ?? ''))
    invalid(type, 'must not be a list or a mapping in a key of a list');
  if (isTrue(get(property, 'nullable'))) forbidden(get(property, 'nullable'), 'in a key of a list');
}

/** The root, and embedded resources, have the identity of an object. */
function checkResource(schema: Field, level: Level): void {
  const isEmbedded = isTrue(get(schema, 'x-kubernetes-embedded-resource'));
  if (level !== 'root' && !isEmbedded) return;
  const properties = get(schema, 'properties');
  for (const [name, wanted] of [
    ['apiVersion', 'string'],
    ['kind', 'string'],
    ['metadata', 'object'],
  ] as const) {
    const type = get(get(properties, name), 'type');
    if (word(type) !== undefined && word(type) !== wanted) invalid(type, `must be ${wanted}`);
  }
  if (level === 'root') checkMetadata(get(properties, 'metadata'));
  if (!isEmbedded || level === 'root') return;
  if (text(get(schema, 'type')) !== 'object') invalid(get(schema, 'type'), 'must be object in an embedded resource');
  if (isEmpty(properties) && !isTrue(get(schema, 'x-kubernetes-preserve-unknown-fields')))
    missing(schema, 'properties');
}

function checkMetadata(metadata: Field): void {
  for (const member of members(metadata)) {
    if (member.step === 'type' || member.step === 'default') continue;
    if (member.step !== 'properties') {
      if (!isEmpty(member)) forbidden(member, 'for the metadata of an object');
      continue;
    }
    for (const property of members(member)) {
      if (property.step !== 'name' && property.step !== 'generateName')
        forbidden(property, 'for the metadata of an object');
    }
  }
}

function nestedOf(schema: Field): readonly Field[] {
  const not = get(schema, 'not');
  return [...LOGIC.flatMap((name) => items(get(schema, name))), ...(mapping(not) ? [not] : [])];
}

/** `anyOf: [{type: integer}, {type: string}]` is what a number or a text is written as. */
function isIntOrString(schema: Field, branch: Field): boolean {
  if (branch.parent?.step !== 'anyOf' || !isTrue(get(schema, 'x-kubernetes-int-or-string'))) return false;
  const written = items(branch.parent).map((each) => JSON.stringify(each.value));
  return written.join() === '{"type":"integer"},{"type":"string"}';
}

/** Checks a schema that only restricts values. `outer` is the schema that says which fields exist; undefined: none. */
function checkNested(schema: Field, outer: Field, mayHaveType: boolean): void {
  const type = get(schema, 'type');
  if (word(type) !== undefined && !mayHaveType) {
    const isOfIntOrString = isTrue(get(outer, 'x-kubernetes-int-or-string'));
    if (!isOfIntOrString)
      forbidden(type, 'below allOf, anyOf, oneOf and not', 'write it in the schema outside of them');
  }
  for (const name of NOT_NESTED) {
    const found = get(schema, name);
    if (isSet(found) && found.value !== false && !isEmpty(found)) forbidden(found, 'below allOf, anyOf, oneOf and not');
  }
  for (const property of members(get(schema, 'properties'))) {
    const counterpart = get(get(outer, 'properties'), property.step);
    if (property.step === 'metadata') forbidden(property, 'below allOf, anyOf, oneOf and not');
    else if (isSet(counterpart)) checkNested(property, counterpart, false);
    else {
      const hint = 'write it in the schema outside of allOf, anyOf, oneOf and not as well';
      report(property, 'BadDefinition', `${nameOf(property)} is no property of the schema`, { hint, atKey: true });
    }
  }
  const list = get(schema, 'items');
  if (mapping(list)) {
    if (isSet(get(outer, 'items'))) checkNested(list, get(outer, 'items'), false);
    else report(list, 'BadDefinition', `${nameOf(list)} has no items in the schema`, { atKey: true });
  }
  for (const branch of nestedOf(schema)) checkNested(branch, outer, isIntOrString(outer, branch));
}

function checkCelRule(celRule: Field): void {
  const [expression, message] = [get(celRule, 'rule'), get(celRule, 'message')];
  const source = text(expression)?.trim();
  const said = text(message) ?? '';
  if (source === '') required(expression);
  else if (said !== '' && said.trim() === '') invalid(message, 'must not be blank');
  else if (/[\n\r]/.test(said.trim())) invalid(message, 'must be one line');
  else if (source !== undefined && /[\n\r]/.test(source) && said === '') {
    report(celRule, 'BadDefinition', `${nameOf(message)} is missing: the rule has several lines`);
  }
}

/** A step of a path: `.name` or `['name']`. */
const STEP = /\.([^.[\]']+)|\['((?:[^'\\]|\\.)*)'\]/g;

/** The path leads from the value with the rule to a field of its schema. */
function checkFieldPath(fieldPath: Field, schema: Field): void {
  const path = word(fieldPath);
  if (path === undefined) return;
  if (/^\w/.test(path)) {
    invalid(fieldPath, 'must begin with a dot', { reason: 'BadDefinition', hint: `write .${path}` });
    return;
  }
  if (path.replaceAll(STEP, '') !== '') return;
  let at = schema;
  for (const [, name, quoted = ''] of path.matchAll(STEP)) {
    const step = name ?? quoted.replaceAll(/\\(.)/g, '$1');
    const properties = get(at, 'properties');
    at = mapping(properties) === undefined ? get(at, 'additionalProperties') : get(properties, step);
    if (mapping(at) !== undefined) continue;
    const hint = didYouMean(step, Object.keys(mapping(properties) ?? {}));
    invalid(fieldPath, `the schema has no field ${step} there`, { reason: 'BadDefinition', hint });
    return;
  }
}
