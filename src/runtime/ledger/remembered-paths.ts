import type { LedgerRecords } from './records.ts';

/** Paths of the declarations that the ledger remembers, by source. */
export function rememberedPaths({ declared }: LedgerRecords): (source: string) => readonly string[] {
  const paths = new Map<string, Set<string>>();
  for (const { lastKnownGood } of declared) {
    const { source, path } = lastKnownGood.origin;
    paths.set(source, (paths.get(source) ?? new Set()).add(path));
  }
  return (source) => [...(paths.get(source) ?? [])];
}
