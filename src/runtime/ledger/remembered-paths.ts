import type { LedgerRecords } from './records.ts';

/** Returns the paths of the declarations in the ledger, by source. */
export function rememberedPaths({ declared }: LedgerRecords): (source: string) => readonly string[] {
  const paths = new Map<string, Set<string>>();
  for (const { lastKnownGood } of declared) {
    const { source, path } = lastKnownGood.origin;
    paths.set(source, (paths.get(source) ?? new Set()).add(path));
  }
  return (source) => [...(paths.get(source) ?? [])];
}
