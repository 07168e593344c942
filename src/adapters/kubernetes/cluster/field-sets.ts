import type { FieldNames } from '../../../model/objects/ignored-fields.ts';
import { isJsonObject, type JsonValue } from '../../../model/text/json.ts';
import { child, displayItem, type FieldSet, itemNames, itemOf } from './ownership.ts';

export function isEmpty(fields: FieldSet): boolean {
  return Object.keys(fields).length === 0;
}

/** The fields of a set that a declared value does not set. A null sets no field. */
export function undeclaredFields(fields: FieldSet, declared: JsonValue): FieldSet {
  const names = itemNames(fields);
  return selected(fields, (name, inside) => {
    const item = names.get(name);
    const value = item === undefined ? memberOf(declared, name) : itemOf(declared, item);
    if (value === undefined || value === null) return inside;
    return typeof value === 'object' ? unlessEmpty(undeclaredFields(inside, value)) : undefined;
  });
}

/** The fields of a set that another set has as well. A map or an item that both have is not what is in it. */
export function sharedFields(fields: FieldSet, others: FieldSet): FieldSet {
  return selected(fields, (name, inside) => {
    const theirs = child(others, name);
    if (theirs === undefined || isWhole(inside) !== isWhole(theirs)) return undefined;
    return isWhole(inside) ? inside : unlessEmpty(sharedFields(inside, theirs));
  });
}

/** The set without the fields of another. An item of a list stays in it while one of its fields does. */
export function subtractFields(fields: FieldSet, others: FieldSet): FieldSet {
  return selected(fields, (name, inside) => {
    const theirs = child(others, name);
    if (theirs === undefined || isWhole(inside) !== isWhole(theirs)) return inside;
    const rest = isWhole(inside) ? {} : subtractFields(inside, theirs);
    const isItem = '.' in inside && !name.startsWith('f:');
    return isItem && !isEmpty(rest) ? { '.': {}, ...rest } : unlessEmpty(rest);
  });
}

/** The set without these fields. */
export function withoutPaths(fields: FieldSet, paths: readonly FieldNames[]): FieldSet {
  return paths.reduce(withoutPath, fields);
}

function withoutPath(fields: FieldSet, path: FieldNames): FieldSet {
  const [first = '', ...rest] = path;
  return selected(fields, (name, inside) => {
    if (!name.startsWith('f:')) return isWhole(inside) ? inside : unlessEmpty(withoutPath(inside, path));
    if (name !== `f:${first}`) return inside;
    if (rest.length === 0) return undefined;
    return isWhole(inside) ? inside : unlessEmpty(withoutPath(inside, rest));
  });
}

/** The fields of both sets. */
export function joinedFields(a: FieldSet, b: FieldSet): FieldSet {
  const joined = Object.entries(b).map(([name, theirs]) => {
    const ours = a[name];
    return [name, isJsonObject(ours) && isJsonObject(theirs) ? joinedMembers(ours, theirs) : theirs] as const;
  });
  return { ...a, ...Object.fromEntries(joined) };
}

/** An empty set stands for the field itself, which is `.` beside fields in it. */
function joinedMembers(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) && isEmpty(b)) return a;
  return joinedFields(isEmpty(a) ? { '.': {} } : a, isEmpty(b) ? { '.': {} } : b);
}

/** One field of a set. */
export interface Field {
  /** As an API server names it: `.spec.ports[port=80,protocol="TCP"].targetPort`. */
  readonly name: string;
  /** Its value in an object; undefined: the object does not have it. */
  readonly valueIn: (object: JsonValue | undefined) => JsonValue | undefined;
}

/** The fields of a set, each without what is in it. */
export function fieldsOf(fields: FieldSet): readonly Field[] {
  const names = itemNames(fields);
  return membersOf(fields).flatMap(([text, inside]): readonly Field[] => {
    const item = names.get(text);
    const name = item === undefined ? `.${text.slice(2)}` : displayItem(item);
    const valueIn: Field['valueIn'] = (object) => (item === undefined ? memberOf(object, text) : itemOf(object, item));
    if (isWhole(inside)) return [{ name, valueIn }];
    return fieldsOf(inside).map((field) => ({
      name: `${name}${field.name}`,
      valueIn: (object) => field.valueIn(valueIn(object)),
    }));
  });
}

/** The set of what is selected of each member; undefined: nothing. */
function selected(fields: FieldSet, select: (name: string, inside: FieldSet) => FieldSet | undefined): FieldSet {
  return Object.fromEntries(
    membersOf(fields).flatMap(([name, inside]) => {
      const part = select(name, inside);
      return part === undefined ? [] : [[name, part]];
    }),
  );
}

function unlessEmpty(fields: FieldSet): FieldSet | undefined {
  return isEmpty(fields) ? undefined : fields;
}

function membersOf(fields: FieldSet): readonly (readonly [name: string, inside: FieldSet])[] {
  return Object.entries(fields).flatMap(([name, inside]) =>
    name === '.' || !isJsonObject(inside) ? [] : [[name, inside] as const],
  );
}

/** Whether the set names no field inside of the field that it stands for. */
function isWhole(fields: FieldSet): boolean {
  return membersOf(fields).length === 0;
}

function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) ? value[name.slice(2)] : undefined;
}
