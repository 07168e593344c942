import type { EntryAddress } from './types.ts';

/** Orders two strings by UTF-16 code unit, whatever the locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The canonical order of addresses: by partition, then by key, both by code unit. */
export function compareAddresses(a: EntryAddress, b: EntryAddress): number {
  return compareText(a.partition, b.partition) || compareText(a.key, b.key);
}

/** An address as people read it: quoted, without an empty partition. */
export function describeAddress(partition: string, key: string): string {
  return JSON.stringify(partition === '' ? key : `${partition}/${key}`);
}
