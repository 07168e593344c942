import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/model/text/json.ts';
import type { KindSchema, Schema } from '../../../src/validation/values/schema.ts';

/** A manifest with one change. */
export interface Mutation {
  /** `spec.replicas: whole number as text`. */
  readonly name: string;
  readonly object: JsonObject;
}

type Path = readonly (string | number)[];

const WRONG: Readonly<Record<string, readonly JsonValue[]>> = {
  string: [5, true, { a: 'b' }, []],
  integer: ['1', 1.5, true, {}, -1, 2 ** 31, 1e300],
  number: ['1', true],
  boolean: ['true', 1],
  object: ['text', [], 5],
  array: ['text', {}, 5],
  'int-or-string': [true, 1.5, {}, 2 ** 31],
};

/** Every change that this file knows of, of every value of a manifest. */
export function mutationsOf(kind: KindSchema, object: JsonObject): readonly Mutation[] {
  const found: Mutation[] = [];
  const change = (path: Path, what: string, value: JsonValue | undefined): void => {
    const name = `${path.join('.')}: ${what}`;
    found.push({ name, object: withValue(object, path, value) as JsonObject });
  };
  const resolve = (schema: Schema): Schema =>
    schema.$ref === undefined ? schema : (kind.definition(schema.$ref) ?? {});

  const visit = (written: Schema, value: JsonValue, path: Path): void => {
    const schema = resolve(written);
    if (isJsonObject(value)) visitObject(schema, value, path);
    else if (Array.isArray(value)) visitList(schema, value, path);
  };
  const visitObject = (schema: Schema, value: JsonObject, path: Path): void => {
    const { properties = {}, additionalProperties, required = [] } = schema;
    if (schema.properties !== undefined) change([...path, 'unknownField'], 'unknown field', 'text');
    for (const [name, property] of Object.entries(properties)) {
      if (path.length === 0 && ['apiVersion', 'kind', 'status'].includes(name)) continue;
      const at = [...path, name];
      wrongValues(resolve(property), at, value[name] !== undefined, required.includes(name));
      const member = value[name];
      if (member !== undefined) visit(property, member, at);
    }
    if (typeof additionalProperties === 'object') {
      for (const [name, member] of Object.entries(value)) {
        wrongValues(resolve(additionalProperties), [...path, name], true, false);
        if (member !== undefined) visit(additionalProperties, member, [...path, name]);
      }
    }
  };
  const visitList = (schema: Schema, list: readonly JsonValue[], path: Path): void => {
    if (schema.items === undefined) return;
    const [first] = list;
    if (first !== undefined) {
      change(path, 'first item twice', [...list, first]);
      if (isJsonObject(first)) change(path, 'first item twice, keys only', [...list, identityOf(schema, first)]);
      wrongValues(resolve(schema.items), [...path, 0], true, false);
    }
    for (const [index, item] of list.entries()) visit(schema.items, item, [...path, index]);
  };
  const wrongValues = (schema: Schema, path: Path, isThere: boolean, isRequired: boolean): void => {
    const type = schema['x-kubernetes-int-or-string'] === true ? 'int-or-string' : (schema.type ?? '');
    for (const wrong of WRONG[type] ?? []) change(path, JSON.stringify(wrong), wrong);
    if (schema.enum !== undefined) change(path, 'not in the enum', 'Bogus');
    if (schema.format !== undefined && type === 'string') change(path, 'not in the format', '!');
    if (isThere) {
      change(path, 'null', null);
      if (type === 'string') change(path, 'empty', '');
      if (type === 'array') change(path, 'empty', []);
      if (type === 'object') change(path, 'empty', {});
    }
    if (isThere && isRequired) change(path, 'missing', undefined);
  };
  visit(kind.schema, object, []);
  return found;
}

/** The item without what neither identifies it nor is required. */
function identityOf(list: Schema, item: JsonObject): JsonObject {
  const keys = list['x-kubernetes-list-map-keys'] ?? [];
  return Object.fromEntries(Object.entries(item).filter(([name]) => keys.includes(name)));
}

/** A copy with another value at a path; undefined removes it. */
function withValue(root: JsonValue, path: Path, value: JsonValue | undefined): JsonValue | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (Array.isArray(root)) return root.map((item, at) => (at === step ? (withValue(item, rest, value) ?? null) : item));
  const { [step]: member, ...others } = isJsonObject(root) ? root : {};
  const changed = withValue(member ?? {}, rest, value);
  return changed === undefined ? others : { ...others, [step]: changed };
}
