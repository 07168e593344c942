import { isLasting } from '../../../model/objects/lasting-objects.ts';
import { displayKey, metadataOf, type ObjectKey } from '../../../model/objects/object-key.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEquals,
  objectOf,
  objectsOf,
  parseJson,
  textOf,
} from '../../../model/text/json.ts';
import type { Ownership } from '../../../ports/cluster-api.ts';
import { ADOPT, madeForAgent } from './annotations.ts';
import { readStamp } from './stamp.ts';

/** The field manager of everything that fleetrelay applies. */
export const FIELD_MANAGER = 'fleetrelay';

/** The field manager of the statuses that fleetrelay applies to objects of others. */
export const STATUS_MANAGER = 'fleetrelay-agent-status';

/** The owner of a live object. An object that is `theirs` is changed only if it is `adoptable` and its manifest adopts it. */
export type Owner =
  | { readonly type: 'ours' }
  | { readonly type: 'theirs'; readonly adoptable: boolean; readonly owner: string; readonly message: string };

/**
 * Judges by the stamp, which must be equal to the inventory's. Field managers are only named in the message. A caller that does
 * not know the inventory gives no nonce: any stamp of this object and this fleet is then ours. A stamp on an object that every
 * cluster has is ours, too: the object stays when the inventory forgets it, and nothing else can be made under its name.
 */
export function ownerOf(live: JsonObject, { fleet, key, nonce }: Omit<Ownership, 'nonce'> & Partial<Ownership>): Owner {
  const stamp = readStamp(live)?.stamp;
  const isOfFleet = stamp?.key === key && stamp.fleet === fleet;
  if (isOfFleet && (nonce === undefined || stamp.nonce === nonce || isLasting(key))) return { type: 'ours' };
  if (stamp?.key === key && !isOfFleet) {
    return {
      type: 'theirs',
      adoptable: false,
      owner: `fleet ${stamp.fleet}`,
      message: `${displayKey(key)} belongs to the fleet ${stamp.fleet}; remove it there first`,
    };
  }
  const owner = managerOf(live);
  const made = madeForAgent(key, live);
  if (made !== '') {
    const message = `${displayKey(key)} was made for the agent in namespace ${made}; set the annotation ${ADOPT}: "true" in its manifest to take it over`;
    return { type: 'theirs', adoptable: true, owner: `the agent in namespace ${made}`, message };
  }
  const copied = stamp === undefined ? '' : ` (${isOfFleet ? UNKNOWN_STAMP : copyOf(stamp.key)})`;
  return {
    type: 'theirs',
    adoptable: true,
    owner,
    message: `${displayKey(key)} was there already and is held by ${owner}${copied}; delete it, or set the annotation ${ADOPT}: "true" in its manifest to take it over`,
  };
}

const UNKNOWN_STAMP = 'it carries the stamp of this fleet, and the inventory of the cluster does not know that stamp';

function copyOf(key: ObjectKey): string {
  return `its annotations were copied from ${displayKey(key)}`;
}

/** The manager that applied the object last, else the one that updated it last. */
function managerOf(live: JsonObject): string {
  const others = fieldManagers(live).filter((manager) => !isOurs(manager) && manager.subresource === '');
  const newest = others.toSorted(byTimeDescending);
  const { manager } = newest.find(({ operation }) => operation === 'Apply') ?? newest[0] ?? { manager: '' };
  return manager === '' ? 'a manager without a name' : `"${manager}"`;
}

/** A set of fields in the notation `fieldsV1` of managedFields. */
export type FieldSet = JsonObject;

/** One entry of managedFields. */
export interface FieldManager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource: string;
  /** The version of the kind in which the fields are named. */
  readonly apiVersion: string;
  readonly fields: FieldSet;
  /** RFC 3339; empty: unknown. */
  readonly time: string;
}

/** Orders managers by the time of their last write, the latest first. */
export function byTimeDescending(a: FieldManager, b: FieldManager): number {
  return a.time < b.time ? 1 : a.time > b.time ? -1 : 0;
}

/** The managers of a live object and the fields that each of them owns. */
export function fieldManagers(live: JsonObject): readonly FieldManager[] {
  return objectsOf(metadataOf(live).managedFields).map((entry) => ({
    manager: textOf(entry.manager),
    operation: entry.operation === 'Apply' ? 'Apply' : 'Update',
    subresource: textOf(entry.subresource),
    apiVersion: textOf(entry.apiVersion),
    fields: objectOf(entry.fieldsV1),
    time: textOf(entry.time),
  }));
}

/** Whether the entry belongs to our own applies. */
export function isOurs({ manager, operation, subresource }: FieldManager): boolean {
  return manager === FIELD_MANAGER && operation === 'Apply' && subresource === '';
}

/** Whether the entry names the fields of statuses that we apply to objects of others. */
export function isOurStatus({ manager, operation, subresource }: FieldManager): boolean {
  return manager === STATUS_MANAGER && operation === 'Apply' && subresource === 'status';
}

/**
 * The fields of a live object that one of our managers owns; undefined if none. An API server writes an atomic map, and a map of which other
 * managers have taken every member, in the same way. The second is marked here, as `{".": {}}`.
 */
export function ourFields(live: JsonObject, isOne = isOurs): FieldSet | undefined {
  const managers = fieldManagers(live);
  const ours = managers.find(isOne)?.fields;
  const others = managers.filter((manager) => !isOne(manager)).map(({ fields }) => fields);
  return ours && withBareMaps(ours, others, live);
}

function withBareMaps(fields: FieldSet, others: readonly FieldSet[], live: JsonValue | undefined): FieldSet {
  const names = itemNames(fields);
  const marked = Object.entries(fields).map(([name, inside]): [string, JsonValue | undefined] => {
    if (name === '.' || !isJsonObject(inside)) return [name, inside];
    const theirs = others.map((set) => child(set, name)).filter((set) => set !== undefined);
    const item = names.get(name);
    const value = item === undefined ? memberOf(live, name.slice(2)) : itemOf(live, item);
    if (!isLeaf(inside)) return [name, withBareMaps(inside, theirs, value)];
    const isBare =
      (isJsonObject(value) && isLeaf(value)) ||
      theirs.some((set) => Object.keys(set).some((key) => key.startsWith('f:')));
    return [name, isBare ? { '.': {} } : inside];
  });
  return Object.fromEntries(marked);
}

/** Fields of a declared value, as an API server names them: `.spec.ports[port=80,protocol="TCP"].targetPort`. */
export interface FieldComparison {
  readonly owned: readonly string[];
  readonly missing: readonly string[];
}

/**
 * Compares the fields that a declared value sets with a field set. Values are not compared: a manager that changes a field
 * becomes its owner, and an API server can write a value in its own form. A null sets no field. An empty map is a field.
 * An empty list is a field only where lists are atomic; elsewhere it is missing only if the live object, which `live`
 * returns, has items there.
 */
export function compareFields(declared: JsonObject, fields: FieldSet, live?: () => JsonObject): FieldComparison {
  const found: Found = { owned: [], missing: [] };
  const { apiVersion: _version, kind: _kind, metadata, ...rest } = declared;
  const { name: _name, namespace: _namespace, ...named } = objectOf(metadata);
  // Everywhere below the root an empty set stands for the complete field.
  const root: Place = { fields: isLeaf(fields) ? undefined : fields, path: '', live: live ?? (() => undefined) };
  compare({ ...rest, ...(Object.keys(named).length === 0 ? {} : { metadata: named }) }, root, found);
  return found;
}

interface Found {
  readonly owned: string[];
  readonly missing: string[];
}

interface Place {
  readonly fields: FieldSet | undefined;
  readonly path: string;
  readonly live: () => JsonValue | undefined;
}

function compare(declared: JsonValue | undefined, { fields, path, live }: Place, found: Found): void {
  if (declared === undefined || declared === null) return;
  if (fields !== undefined && isLeaf(fields)) {
    found.owned.push(path);
  } else if (Array.isArray(declared) && declared.length === 0 && fields === undefined) {
    const items = live();
    if (Array.isArray(items) && items.length > 0) found.missing.push(path);
  } else if (isJsonObject(declared) && !isLeaf(declared)) {
    for (const [name, member] of Object.entries(declared)) {
      const inside = (): JsonValue | undefined => memberOf(live(), name);
      compare(member, { fields: child(fields, `f:${name}`), path: `${path}.${name}`, live: inside }, found);
    }
  } else if (Array.isArray(declared) && fields !== undefined) {
    compareItems(declared, { fields, path, live }, found);
  } else {
    (fields === undefined ? found.missing : found.owned).push(path);
  }
}

function compareItems(
  items: readonly JsonValue[],
  { fields, path, live }: Place & { readonly fields: FieldSet },
  found: Found,
): void {
  const free = itemNames(fields);
  const keys = Object.keys([...free.values()].find((name) => name.keys !== undefined)?.keys ?? {});
  const countKeys = (item: JsonValue): number =>
    isJsonObject(item) ? keys.filter((key) => item[key] !== undefined).length : 0;
  // Items that declare more of the keys are matched first; the keys that the others lack are the server's defaults.
  for (const item of items.toSorted((a, b) => countKeys(b) - countKeys(a))) {
    const name = itemName(item, free.values());
    if (name === undefined) {
      found.missing.push(`${path}[${isJsonObject(item) ? textOf(item.name) : JSON.stringify(item)}]`);
      continue;
    }
    free.delete(name.text);
    const at = `${path}${displayItem(name)}`;
    const inside = child(fields, name.text);
    const itemLive = (): JsonValue | undefined => itemOf(live(), name);
    if (isJsonObject(item) && inside !== undefined && !isLeaf(inside)) {
      compare(item, { fields: inside, path: at, live: itemLive }, found);
    } else found.owned.push(at);
  }
}

/** The name of a list's item in a field set: the values of its keys (`k:{...}`), or its value (`v:...`). */
export interface ItemName {
  readonly text: string;
  readonly keys?: JsonObject;
  readonly value?: JsonValue;
}

/** The names of items in a field set, in its order. */
export function itemNames(fields: FieldSet): Map<string, ItemName> {
  const names = new Map<string, ItemName>();
  for (const text of Object.keys(fields)) {
    const value = /^[kv]:/.test(text) ? parseJson(text.slice(2)) : undefined;
    if (value === undefined) continue;
    if (text.startsWith('v:')) names.set(text, { text, value });
    else if (isJsonObject(value)) names.set(text, { text, keys: value });
  }
  return names;
}

/** The name of a list's item among these; undefined if it has none. A key that the item lacks is the server's default. */
export function itemName(item: JsonValue, names: Iterable<ItemName>): ItemName | undefined {
  for (const name of names) {
    const { keys, value } = name;
    if (value !== undefined && jsonEquals(value, item)) return name;
    if (keys === undefined || !isJsonObject(item)) continue;
    if (Object.keys(keys).every((key) => item[key] === undefined || jsonEquals(item[key], keys[key]))) return name;
  }
  return undefined;
}

/** As an API server names an item: `[name="main"]`. */
export function displayItem({ text, keys }: ItemName): string {
  if (keys === undefined) return `[=${text.slice(2)}]`;
  const named = Object.entries(keys).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return `[${named.join(',')}]`;
}

function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) ? value[name] : undefined;
}

/** The item of a list that has this name; undefined: there is none. */
export function itemOf(list: JsonValue | undefined, name: ItemName): JsonValue | undefined {
  return Array.isArray(list) ? list.find((item) => itemName(item, [name]) !== undefined) : undefined;
}

/** The fields below; undefined if none of them is in the set. */
export function child(fields: FieldSet | undefined, name: string): FieldSet | undefined {
  const inside = fields?.[name];
  return isJsonObject(inside) ? inside : undefined;
}

/** Whether the set stands for the complete field: a value, or an atomic map or list. */
function isLeaf(fields: FieldSet): boolean {
  return Object.keys(fields).length === 0;
}
