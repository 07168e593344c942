import type { Engine } from '../../engine/graph.ts';
import { sha256 } from '../../model/digest.ts';
import type { Digest } from '../../model/ids.ts';
import { compareText } from '../../model/json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ApprovalRecord } from '../ledger/records.ts';
import type { Loop } from '../loop.ts';
import type { Approvals } from './approvals.ts';

/** A set of removals that waits for a person, and the digest that names it. */
export interface HeldSet {
  readonly digest: Digest;
  readonly reason: string;
  readonly message: string;
  readonly removals: readonly { readonly cluster: string; readonly key: string }[];
}

/** The removals that wait for a person, as sets that an approval can name. */
export interface HeldSets {
  /** One set for all that is held now; undefined if nothing is. */
  current(): HeldSet | undefined;
  /** Releases what of the named set is still held; undefined if no such set was held lately. */
  approve(digest: string, by: string): { readonly released: number; readonly expiresAt: number } | undefined;
  /**
   * Stages the release of what of the named set was held at the commit before this one and still is: how many removals
   * that are. For bookkeeping; `until` (milliseconds since 1970) bounds the life of the approval further.
   */
  release(digest: string, by: string, until: number): number;
}

/** An approval that is not used within this time is void. */
const APPROVAL_LIFE_MS = 60 * 60 * 1000;
/** How many held sets are remembered, so that an approval of one that has shrunk since still finds it. */
const REMEMBERED_SETS = 20;

export function createHeldSets(deps: {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly ledger: Ledger;
  readonly approvals: Approvals;
  readonly clock: Clock;
}): HeldSets {
  const { engine, loop, ledger, approvals, clock } = deps;
  const remembered = new Map<string, HeldSet>();
  const idOf = (cluster: string): string => ledger.registration(cluster)?.id ?? cluster;

  const current = (): HeldSet | undefined => {
    const entries = engine.indexes.held.members('all');
    const [first] = entries;
    if (first?.value.type !== 'held') return undefined;
    const removals = entries.map(({ partition, key }) => ({ cluster: partition, key }));
    const messages = new Set(entries.map(({ value }) => (value.type === 'held' ? value.message : '')));
    const set = {
      digest: removalsDigest(removals, idOf),
      reason: first.value.reason,
      message: [...messages].sort(compareText).join('; '),
      removals,
    };
    remembered.set(set.digest, set);
    for (const digest of [...remembered.keys()].slice(0, -REMEMBERED_SETS)) remembered.delete(digest);
    return set;
  };

  const grant = (removals: HeldSet['removals'], record: ApprovalRecord): void => {
    for (const { cluster, key } of removals) approvals.grant(cluster, key, record);
  };
  const heldBefore = (): HeldSet['removals'] => {
    const { heldRemovals } = engine.inputs;
    return [...heldRemovals.partitions()].flatMap((cluster) =>
      [...heldRemovals.entries(cluster)].map(({ key }) => ({ cluster, key })),
    );
  };

  return {
    current,
    release: (digest, by, until) => {
      const before = heldBefore();
      const wasHeld = new Set(before.map(({ cluster, key }) => `${cluster}\u0000${key}`));
      const isHeld = ({ cluster, key }: HeldSet['removals'][number]): boolean =>
        wasHeld.has(`${cluster}\u0000${key}`) && engine.outputs.get(cluster, key)?.type === 'held';
      const still = before.filter(isHeld);
      const named = [before, still].find((removals) => removalsDigest(removals, idOf) === digest);
      const released = (named ?? remembered.get(digest)?.removals ?? []).filter(isHeld);
      grant(released, { digest, by, expiresAt: Math.min(until, clock.now() + APPROVAL_LIFE_MS) });
      if (released.length > 0) remembered.delete(digest);
      return released.length;
    },
    approve: (digest, by) => {
      loop.settle();
      current();
      const set = remembered.get(digest);
      if (set === undefined) return undefined;
      const record = { digest, by, expiresAt: clock.now() + APPROVAL_LIFE_MS };
      const still = set.removals.filter(({ cluster, key }) => engine.outputs.get(cluster, key)?.type === 'held');
      loop.transact(() => grant(still, record));
      loop.settle();
      remembered.delete(digest);
      return { released: still.length, expiresAt: record.expiresAt };
    },
  };
}

/** Digest of a set of removals: over (cluster id, object key), sorted. */
function removalsDigest(
  removals: readonly { readonly cluster: string; readonly key: string }[],
  idOf: (cluster: string) => string,
): Digest {
  const lines = removals.map(({ cluster, key }) => `${idOf(cluster)}\u0000${key}\n`).sort(compareText);
  return sha256(lines.join(''));
}
