import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEquals,
  objectOf,
  objectsOf,
  parseJson,
  textOf,
} from '../../../model/json.ts';
import { metadataOf } from '../../../model/object-key.ts';

/** The name under which every field of ours is held. */
export const FIELD_MANAGER = 'fleetrelay';

/** A set of fields in the notation `fieldsV1` of managedFields. */
export type FieldSet = JsonObject;

/** Fields of what is declared, as an API server names them: `.spec.ports[port=80,protocol="TCP"].targetPort`. */
export interface FieldJudgement {
  readonly held: readonly string[];
  readonly missing: readonly string[];
}

/** One entry of managedFields. */
export interface FieldHolder {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource: string;
  readonly fields: FieldSet;
  /** RFC 3339; empty: not said. */
  readonly time: string;
}

/** Who holds which fields of a live object. */
export function fieldHolders(live: JsonObject): readonly FieldHolder[] {
  return objectsOf(metadataOf(live).managedFields).map((entry) => ({
    manager: textOf(entry.manager),
    operation: entry.operation === 'Apply' ? 'Apply' : 'Update',
    subresource: textOf(entry.subresource),
    fields: objectOf(entry.fieldsV1),
    time: textOf(entry.time),
  }));
}

/** Is this the entry of what we applied? */
export function isOurs({ manager, operation, subresource }: FieldHolder): boolean {
  return manager === FIELD_MANAGER && operation === 'Apply' && subresource === '';
}

/**
 * The fields of a live object that we hold; undefined if none. An API server writes a map that is held as a whole and one
 * of which every member was taken from us in the same way: the latter is told apart here, as `{".": {}}`.
 */
export function ourFields(live: JsonObject): FieldSet | undefined {
  const holders = fieldHolders(live);
  const ours = holders.find(isOurs)?.fields;
  const others = holders.filter((holder) => !isOurs(holder)).map(({ fields }) => fields);
  return ours && withBareMaps(ours, others, live);
}

function withBareMaps(fields: FieldSet, others: readonly FieldSet[], live: JsonValue | undefined): FieldSet {
  const names = itemNames(fields);
  const told = Object.entries(fields).map(([name, inside]): [string, JsonValue | undefined] => {
    if (name === '.' || !isJsonObject(inside)) return [name, inside];
    const theirs = others.map((set) => child(set, name)).filter((set) => set !== undefined);
    const item = names.get(name);
    const there = item === undefined ? memberOf(live, name.slice(2)) : itemOf(live, item);
    if (!isLeaf(inside)) return [name, withBareMaps(inside, theirs, there)];
    const isBare = isEmptyMap(there) || theirs.some((set) => Object.keys(set).some((key) => key.startsWith('f:')));
    return [name, isBare ? { '.': {} } : inside];
  });
  return Object.fromEntries(told);
}

/**
 * Which fields that a declared value sets are in a field set? Values are not compared: who changes a field takes it over,
 * and an API server may write a value in its own way. Nulls set nothing that can be told. An empty map is a field. An empty
 * list is one only where a list is held as a whole; else it says nothing, so it counts as missing only if `live`, which is
 * asked for the object as it is then, has something there.
 */
export function judgeFields(declared: JsonObject, fields: FieldSet, live?: () => JsonObject): FieldJudgement {
  const held: string[] = [];
  const missing: string[] = [];
  const { apiVersion: _version, kind: _kind, metadata, ...rest } = declared;
  const { name: _name, namespace: _namespace, ...named } = objectOf(metadata);
  // An empty set is a whole field everywhere but here.
  const at: Place = { fields: isLeaf(fields) ? undefined : fields, path: '', live: live ?? (() => undefined) };
  judge({ ...rest, ...(Object.keys(named).length === 0 ? {} : { metadata: named }) }, at, { held, missing });
  return { held, missing };
}

interface Found {
  readonly held: string[];
  readonly missing: string[];
}

interface Place {
  readonly fields: FieldSet | undefined;
  readonly path: string;
  readonly live: () => JsonValue | undefined;
}

function judge(declared: JsonValue | undefined, { fields, path, live }: Place, found: Found): void {
  if (declared === undefined || declared === null) return;
  if (fields !== undefined && isLeaf(fields)) {
    found.held.push(path);
    return;
  }
  if (isEmptyList(declared) && fields === undefined) {
    const there = live();
    if (Array.isArray(there) && there.length > 0) found.missing.push(path);
    return;
  }
  if (isJsonObject(declared) && Object.keys(declared).length > 0) {
    for (const [name, member] of Object.entries(declared)) {
      const inside = (): JsonValue | undefined => memberOf(live(), name);
      judge(member, { fields: child(fields, `f:${name}`), path: `${path}.${name}`, live: inside }, found);
    }
    return;
  }
  if (Array.isArray(declared) && fields !== undefined) {
    judgeItems(declared, { fields, path, live }, found);
    return;
  }
  (fields === undefined ? found.missing : found.held).push(path);
}

function judgeItems(
  items: readonly JsonValue[],
  { fields, path, live }: Place & { readonly fields: FieldSet },
  found: Found,
): void {
  const free = itemNames(fields);
  // Who names more of the keys chooses first: the others' keys are the server's defaults.
  const keys = keysOfItems(free);
  const named = items.map((item) => ({ item, count: countNamed(item, keys) }));
  for (const { item } of named.sort((a, b) => b.count - a.count)) {
    const name = itemName(item, free.values());
    if (name === undefined) {
      found.missing.push(`${path}[${isJsonObject(item) ? textOf(item.name) : JSON.stringify(item)}]`);
      continue;
    }
    free.delete(name.text);
    const at = `${path}${displayItem(name)}`;
    const inside = child(fields, name.text);
    const itemLive = (): JsonValue | undefined => itemOf(live(), name);
    if (isJsonObject(item) && inside !== undefined && !isLeaf(inside))
      judge(item, { fields: inside, path: at, live: itemLive }, found);
    else found.held.push(at);
  }
}

/** How a field set names an item of a list: by the values of its keys (`k:{...}`), or by its value (`v:...`). */
export interface ItemName {
  readonly text: string;
  readonly keys?: JsonObject;
  readonly value?: JsonValue;
}

/** The names of items in a field set, in its order. */
export function itemNames(fields: FieldSet): Map<string, ItemName> {
  const names = new Map<string, ItemName>();
  for (const text of Object.keys(fields)) {
    const said = /^[kv]:/.test(text) ? parseJson(text.slice(2)) : undefined;
    if (said === undefined) continue;
    if (text.startsWith('v:')) names.set(text, { text, value: said });
    else if (isJsonObject(said)) names.set(text, { text, keys: said });
  }
  return names;
}

/** The name among these of a list's item; undefined if it has none. */
export function itemName(item: JsonValue, names: Iterable<ItemName>): ItemName | undefined {
  for (const name of names) {
    const { keys, value } = name;
    if (value !== undefined && jsonEquals(value, item)) return name;
    if (keys === undefined || !isJsonObject(item)) continue;
    if (Object.keys(keys).every((key) => fits(item[key], keys[key]))) return name;
  }
  return undefined;
}

/** A key that an item does not name is the server's default. */
function fits(declared: JsonValue | undefined, value: JsonValue | undefined): boolean {
  return declared === undefined || declared === value || jsonEquals(declared, value);
}

function keysOfItems(names: ReadonlyMap<string, ItemName>): readonly string[] {
  for (const { keys } of names.values()) if (keys !== undefined) return Object.keys(keys);
  return [];
}

function countNamed(item: JsonValue, keys: readonly string[]): number {
  return isJsonObject(item) ? keys.filter((key) => item[key] !== undefined).length : 0;
}

function displayItem({ text, keys }: ItemName): string {
  if (keys === undefined) return `[=${text.slice(2)}]`;
  return `[${Object.entries(keys)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(',')}]`;
}

function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) ? value[name] : undefined;
}

function itemOf(list: JsonValue | undefined, name: ItemName): JsonValue | undefined {
  return Array.isArray(list) ? list.find((item) => itemName(item, [name]) !== undefined) : undefined;
}

/** The fields below; undefined if none of them is in the set. */
export function child(fields: FieldSet | undefined, name: string): FieldSet | undefined {
  const inside = fields?.[name];
  return isJsonObject(inside) ? inside : undefined;
}

/** The field itself is in the set, and with it everything below: a value, or what is held as a whole. */
export function isLeaf(fields: FieldSet): boolean {
  return Object.keys(fields).length === 0;
}

function isEmptyMap(value: JsonValue | undefined): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}

function isEmptyList(value: JsonValue): boolean {
  return Array.isArray(value) && value.length === 0;
}
