import type { EntryAddress } from './types.ts';

/** Orders two strings by UTF-16 code unit. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The canonical order of addresses: by partition, then by key, both by code unit. */
export function compareAddresses(a: EntryAddress, b: EntryAddress): number {
  return compareText(a.partition, b.partition) || compareText(a.key, b.key);
}

/** An address for people: quoted, without an empty partition. */
export function describeAddress(partition: string, key: string): string {
  return JSON.stringify(partition === '' ? key : `${partition}/${key}`);
}

/**
 * Equality by value of JSON-like data, and of maps, sets and bytes. The order of an object's or map's keys does not
 * matter, a member that is `undefined` is the same as none. Anything else (functions, class instances) is equal only
 * to itself.
 */
export function structurallyEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && equalLists(a, b);
  const prototype: unknown = Object.getPrototypeOf(a);
  if (prototype !== Object.getPrototypeOf(b)) return false;
  if (prototype === Object.prototype || prototype === null) {
    return equalRecords(a as Record<string, unknown>, b as Record<string, unknown>);
  }
  if (a instanceof Map) return equalMaps(a, b as ReadonlyMap<unknown, unknown>);
  if (a instanceof Set) return a.size === (b as Set<unknown>).size && a.isSubsetOf(b as Set<unknown>);
  if (a instanceof Uint8Array) return equalBytes(a, b as Uint8Array);
  return false;
}

function equalLists(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) {
    if (!structurallyEqual(a[index], b[index])) return false;
  }
  return true;
}

function equalRecords(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  let members = 0;
  for (const key of Object.keys(a)) {
    const value = a[key];
    if (value === undefined) continue;
    members += 1;
    if (!Object.hasOwn(b, key) || !structurallyEqual(value, b[key])) return false;
  }
  for (const key of Object.keys(b)) {
    if (b[key] !== undefined) members -= 1;
  }
  return members === 0;
}

function equalMaps(a: ReadonlyMap<unknown, unknown>, b: ReadonlyMap<unknown, unknown>): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) {
    if (!b.has(key) || !structurallyEqual(value, b.get(key))) return false;
  }
  return true;
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
