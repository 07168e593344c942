import type { Engine } from '../../engine/graph.ts';
import { createBucketedMap } from '../../model/bucketed-map.ts';
import type { Digest } from '../../model/ids.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { ClusterSession, SessionEntries, Sessions } from '../../runtime/sessions.ts';

/** The digests that deltas lead to. The cost of each depends on the changes of the ledger, not on its size. */
export type LedgerDigests = ReturnType<typeof createLedgerDigests>;

/**
 * Keeps the ledger entries of each connected cluster that is sent deltas in buckets, from its first delta on. Objects that
 * are being removed are no part of a digest.
 */
export function createLedgerDigests({ graph, inputs: { ledger } }: Engine, sessions: Sessions) {
  let changes: ReturnType<typeof graph.watch<LedgerEntry>> | undefined;

  /** Takes over the changes of the last commits; to be called after each. */
  const follow = (): void => {
    const taken = Map.groupBy(changes?.take() ?? [], ({ partition }) => partition);
    for (const [cluster, changed] of taken) {
      const session = sessions.get(cluster);
      if (session?.entries === undefined) continue;
      const put = changed.flatMap(({ key, after }) =>
        after === undefined ? [] : [[key as ObjectKey, after] as const],
      );
      const drop = changed.flatMap(({ key, after }) => (after === undefined ? [key as ObjectKey] : []));
      session.entries = session.entries.with(put, drop);
    }
  };
  const read = (cluster: string): SessionEntries =>
    createBucketedMap(
      Array.from(ledger.entries(cluster), ({ key, value }) => [key as ObjectKey, value] as const),
      ({ digest, phase }) => (phase === 'removing' ? undefined : digest),
    );

  return {
    follow,
    /** The digest of the cluster's output snapshot once these entries have changed. */
    after: (cluster: string, session: ClusterSession, changed: ReadonlyMap<ObjectKey, LedgerEntry>): Digest => {
      changes ??= graph.watch(ledger);
      follow();
      session.entries ??= read(cluster);
      return session.entries.with(changed).digest();
    },
  };
}
