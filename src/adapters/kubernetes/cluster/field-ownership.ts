import { isJsonObject, type JsonObject, type JsonValue, jsonEquals } from '../../../model/json.ts';
import { metadataOf, objectsOf, textOf } from './annotations.ts';

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
    fields: isJsonObject(entry.fieldsV1) ? entry.fieldsV1 : {},
    time: textOf(entry.time),
  }));
}

/** Is this the entry of what we applied? */
export function isOurs({ manager, operation, subresource }: FieldHolder): boolean {
  return manager === FIELD_MANAGER && operation === 'Apply' && subresource === '';
}

/**
 * Which fields that a declared value sets are in a field set? Values are not compared: who changes a field takes it over,
 * and an API server may write a value in its own way. Nulls and empty containers set nothing that can be told.
 */
export function judgeFields(declared: JsonObject, fields: FieldSet): FieldJudgement {
  const held: string[] = [];
  const missing: string[] = [];
  const { apiVersion: _version, kind: _kind, metadata, ...rest } = declared;
  const { name: _name, namespace: _namespace, ...named } = isJsonObject(metadata) ? metadata : {};
  // An empty set is a whole field everywhere but here.
  judge({ ...rest, metadata: named }, isLeaf(fields) ? undefined : fields, '', { held, missing });
  return { held, missing };
}

interface Found {
  readonly held: string[];
  readonly missing: string[];
}

function judge(declared: JsonValue | undefined, fields: FieldSet | undefined, path: string, found: Found): void {
  if (declared === undefined || declared === null || isEmpty(declared)) return;
  if (fields !== undefined && isLeaf(fields)) {
    found.held.push(path);
    return;
  }
  if (isJsonObject(declared)) {
    for (const [name, member] of Object.entries(declared)) {
      judge(member, child(fields, `f:${name}`), `${path}.${name}`, found);
    }
    return;
  }
  if (Array.isArray(declared) && fields !== undefined) {
    judgeItems(declared, fields, path, found);
    return;
  }
  (fields === undefined ? found.missing : found.held).push(path);
}

function judgeItems(items: readonly JsonValue[], fields: FieldSet, path: string, found: Found): void {
  const free = new Set(Object.keys(fields));
  // Who names more of the keys chooses first: the others' keys are the server's defaults.
  const order = [...items].sort((a, b) => namedKeys(b, fields) - namedKeys(a, fields));
  for (const item of order) {
    const name = itemName(item, free);
    if (name === undefined) {
      found.missing.push(`${path}[${isJsonObject(item) ? textOf(item.name) : JSON.stringify(item)}]`);
      continue;
    }
    free.delete(name);
    const at = `${path}${displayItem(name)}`;
    const inside = child(fields, name);
    if (isJsonObject(item) && inside !== undefined && !isLeaf(inside)) judge(item, inside, at, found);
    else found.held.push(at);
  }
}

/** The name in a field set (`k:{...}` or `v:...`) of a list's item; undefined if it has none among these. */
export function itemName(item: JsonValue, names: Iterable<string>): string | undefined {
  for (const name of names) {
    if (name.startsWith('v:') && jsonEquals(parse(name.slice(2)), item)) return name;
    if (!name.startsWith('k:') || !isJsonObject(item)) continue;
    const keys = parse(name.slice(2));
    if (isJsonObject(keys) && Object.entries(keys).every(([key, value]) => fits(item[key], value))) return name;
  }
  return undefined;
}

/** A key that an item does not name is the server's default. */
function fits(declared: JsonValue | undefined, value: JsonValue | undefined): boolean {
  return declared === undefined || jsonEquals(declared, value);
}

function namedKeys(item: JsonValue, fields: FieldSet): number {
  if (!isJsonObject(item)) return 0;
  const some = Object.keys(fields).find((name) => name.startsWith('k:'));
  const keys = some === undefined ? undefined : parse(some.slice(2));
  return isJsonObject(keys) ? Object.keys(keys).filter((key) => item[key] !== undefined).length : 0;
}

function displayItem(name: string): string {
  if (name.startsWith('v:')) return `[=${name.slice(2)}]`;
  const keys = parse(name.slice(2));
  const parts = isJsonObject(keys) ? Object.entries(keys).map(([key, value]) => `${key}=${JSON.stringify(value)}`) : [];
  return `[${parts.join(',')}]`;
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

function isEmpty(value: JsonValue): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
