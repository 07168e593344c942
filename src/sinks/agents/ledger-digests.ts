import type { Engine } from '../../engine/graph.ts';
import type { Digest } from '../../model/fleet/ids.ts';
import type { LedgerEntry } from '../../model/fleet/ledger.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { createBucketedMap } from '../../model/values/bucketed-map.ts';
import type { ClusterSession, SessionEntries, Sessions } from '../../runtime/sessions.ts';

/** The digests that deltas lead to. The cost of each depends on the changes of the ledger, not on its size. */
export type LedgerDigests = ReturnType<typeof createLedgerDigests>;

/**
 * Keeps the digests of the ledger entries of each connected cluster in buckets, from its first delta on.
 */
export function createLedgerDigests({ graph, inputs: { ledger } }: Engine, sessions: Sessions) {
  let changes: ReturnType<typeof graph.watch<LedgerEntry>> | undefined;
  /** Of the last delta of each session: when the ledger has its entries, their bucket is hashed already. */
  const planned = new WeakMap<ClusterSession, SessionEntries>();

  /** Takes over the changes of the last commits; to be called after each. */
  const follow = (): void => {
    const taken = Map.groupBy(changes?.take() ?? [], ({ partition }) => partition);
    for (const [cluster, changed] of taken) {
      const session = sessions.get(cluster);
      if (session?.entries === undefined) continue;
      const known = session.entries;
      const differing = changed.filter(({ key, after }) => known.get(key as ObjectKey) !== digestOf(after));
      // An object that arrives is accepted with the digest that it had in flight.
      if (differing.length === 0) continue;
      const plan = planned.get(session);
      session.entries = plan !== undefined && isPlan(plan, known, differing) ? plan : withChanges(known, differing);
    }
  };
  const read = (cluster: string): SessionEntries =>
    withChanges(
      createBucketedMap([], (digest) => digest),
      Array.from(ledger.entries(cluster), ({ key, value }) => ({ key, after: value })),
    );

  return {
    follow,
    /** The digest of the cluster's output snapshot once these entries have changed. */
    after: (cluster: string, session: ClusterSession, changed: ReadonlyMap<ObjectKey, LedgerEntry>): Digest => {
      changes ??= graph.watch(ledger);
      follow();
      session.entries ??= read(cluster);
      const next = withChanges(
        session.entries,
        Array.from(changed, ([key, after]) => ({ key, after })),
      );
      planned.set(session, next);
      return next.digest();
    },
  };
}

/** Whether the changes are all that lead from the entries to the planned ones. */
function isPlan(plan: SessionEntries, known: SessionEntries, changes: readonly EntryChange[]): boolean {
  const isAsPlanned = ({ key, after }: EntryChange): boolean => plan.get(key as ObjectKey) === digestOf(after);
  if (!changes.every(isAsPlanned)) return false;
  const keys = new Set<string>(changes.map(({ key }) => key));
  for (const key of plan.changedSince(known)) if (!keys.has(key)) return false;
  return true;
}

interface EntryChange {
  readonly key: string;
  readonly after?: LedgerEntry | undefined;
}

function withChanges(entries: SessionEntries, changes: readonly EntryChange[]): SessionEntries {
  const put: [ObjectKey, Digest][] = [];
  const drop: ObjectKey[] = [];
  for (const { key, after } of changes) {
    const digest = digestOf(after);
    if (digest === undefined) drop.push(key as ObjectKey);
    else put.push([key as ObjectKey, digest]);
  }
  return entries.with(put, drop);
}

/** Undefined: the object is no part of a digest. */
function digestOf(entry: LedgerEntry | undefined): Digest | undefined {
  return entry?.phase === 'removing' ? undefined : entry?.digest;
}
