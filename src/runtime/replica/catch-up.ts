import type { ServerCore } from '../core.ts';
import type { ClusterLeases } from './cluster-leases.ts';
import type { ReplicatedClusters } from './replicated-clusters.ts';

/** Shorter than an agent waits for the answer to its hello. */
const LIMIT_MS = 5_000;
const RETRY_MS = 500;

/**
 * Reads everything that other replicas wrote before this call. The copies of their clusters may be older: notices of changes
 * are delayed, or this process was suspended. Resolves with true when that is read. If it cannot be read (the store does not
 * answer), resolves with true at the time limit: without the store agents are served where they connect. Resolves with false
 * if reading takes longer than the limit.
 */
export async function catchUp(
  { store, clock }: Pick<ServerCore, 'store' | 'clock'>,
  { leases, clusters }: { readonly leases: ClusterLeases; readonly clusters: ReplicatedClusters },
): Promise<boolean> {
  const read = async (): Promise<void> => {
    await store.notified();
    // In this order: a cluster whose lease this replica has lost is read again.
    await leases.settled();
    await clusters.settled();
  };
  const end = clock.monotonic() + LIMIT_MS;
  for (;;) {
    const over = new AbortController();
    const late = clock.sleep(end - clock.monotonic(), over.signal).then(() => 'late' as const);
    const done = read().then(
      () => 'read' as const,
      () => 'failed' as const,
    );
    const outcome = await Promise.race([late, done]);
    over.abort();
    if (outcome !== 'failed') return outcome === 'read';
    if (clock.monotonic() + RETRY_MS >= end) return true;
    await clock.sleep(RETRY_MS);
  }
}
