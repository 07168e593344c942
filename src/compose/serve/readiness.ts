import { clusterTally } from '../../engine/status/rollout.ts';
import type { ServerParts } from '../../runtime/parts.ts';
import { hasSpoken } from '../../runtime/source-table.ts';

/** True once every cluster that was known at the start is back, and nothing is under way there. */
export function settledAfterStart({
  engine,
  ledger,
  sources,
}: Pick<ServerParts, 'engine' | 'ledger' | 'sources'>): () => boolean {
  const known = [...ledger.registrations()].map(({ cluster }) => cluster);
  const isBack = (cluster: string): boolean =>
    engine.clusters.get('', cluster) === undefined ||
    (engine.inputs.agents.get('', cluster)?.connected === true && clusterTally(engine, cluster).states.pending === 0);
  return () => sources.allHaveSpoken() && known.every(isBack);
}

/** Why the server is not ready; empty: it is. */
export function whyNotReady({
  sources,
  journal,
  store,
  replica,
}: Pick<ServerParts, 'sources' | 'journal' | 'store' | 'replica'>): readonly string[] {
  const silent = sources.all().filter((state) => !hasSpoken(state));
  // A shared store is away for all servers: if none of them were ready, agents could not connect at all.
  const problem = store.shared ? undefined : journal.failure();
  // Until then the engine answers as if they declared nothing.
  const isFirst = silent.length === 0 && !replica.hasCommitted();
  return [
    ...silent.map(({ source }) => `source ${source.name} has not been read yet`),
    ...(isFirst ? ['what the sources declare is not committed yet'] : []),
    ...(problem === undefined ? [] : [`the store cannot be written: ${problem}`]),
  ];
}
