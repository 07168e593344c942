import type { LastRead } from '../../model/ledger.ts';
import type { LedgerRecords } from './records.ts';

/** Paths of the declarations that the ledger remembers, by source. */
export function rememberedPaths({
  policy,
  clusters,
  placements,
  mirrors,
  earlier,
}: LedgerRecords): (source: string) => readonly string[] {
  const all: readonly Iterable<LastRead<unknown>>[] = [
    ...[earlier.clusters, earlier.placements, clusters, placements, mirrors].map((lastRead) => lastRead.values()),
    policy === undefined ? [] : [policy],
  ];
  const paths = new Map<string, Set<string>>();
  for (const lastRead of all) {
    for (const { origin } of lastRead)
      paths.set(origin.source, (paths.get(origin.source) ?? new Set()).add(origin.path));
  }
  return (source) => [...(paths.get(source) ?? [])];
}
