import type { InventoryChange, InventoryRecord } from '../../ports/cluster-api.ts';
import type { Holding } from './holding.ts';

/** What became of an object that the inventory has to know of: it is gone, or it has an id of its own now. */
export interface Entry {
  /** As it was when the work on it began. */
  readonly record: InventoryRecord;
  readonly became: { readonly type: 'gone' } | { readonly type: 'identified'; readonly identity: string };
}

/** Is the object still meant as it was when the work on it began? */
export function isStillSo({ records }: Holding, { key, digest, phase }: InventoryRecord): boolean {
  const now = records.get(key);
  return now?.digest === digest && now.phase === phase;
}

/** All of these in one step of the inventory; undefined if something newer has overtaken every one of them. */
export function withEntries(
  holding: Holding,
  entries: readonly Entry[],
): { readonly change: InventoryChange; readonly next: Holding } | undefined {
  const drop = entries.flatMap(({ record, became }) =>
    became.type === 'gone' && isStillSo(holding, record) ? [record.key] : [],
  );
  const dropped = new Set(drop);
  // An object is what it is, whatever it is to become by now.
  const put = entries.flatMap(({ record, became }): InventoryRecord[] => {
    const now = dropped.has(record.key) ? undefined : holding.records.get(record.key);
    return became.type === 'gone' || now === undefined ? [] : [{ ...now, identity: became.identity }];
  });
  if (drop.length === 0 && put.length === 0) return undefined;
  const records = new Map(holding.records);
  const contents = new Map(holding.contents);
  for (const key of drop) {
    records.delete(key);
    contents.delete(key);
  }
  for (const record of put) records.set(record.key, record);
  return { change: { state: holding.state, put, drop }, next: { ...holding, records, contents } };
}
