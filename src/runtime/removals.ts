import type { Engine } from '../engine/graph.ts';
import { sha256 } from '../model/digest.ts';
import type { Digest } from '../model/ids.ts';
import { compareText } from '../model/json.ts';
import type { Clock } from '../ports/clock.ts';
import type { Journal } from './ledger/journal.ts';
import type { Ledger } from './ledger/ledger.ts';
import { type ApprovalRecord, type LedgerRecords, recordKey, type WindowRecord } from './ledger/records.ts';
import type { Loop } from './loop.ts';

/** A set of removals that waits for a person, and the digest that names it. */
export interface HeldSet {
  readonly digest: Digest;
  readonly reason: string;
  readonly message: string;
  readonly removals: readonly { readonly cluster: string; readonly key: string }[];
}

/** Held removals: what waits, the leave that a person gives, and what was removed within the guards' window. */
export interface Removals {
  /** One set for all that is held now; undefined if nothing is. */
  held(): HeldSet | undefined;
  /** Releases what of the named set is still held; undefined if no such set was held lately. */
  approve(digest: string, by: string): { readonly released: number; readonly expiresAt: number } | undefined;
  /** Counts removals that an agent has been told of and that nobody approved. */
  removed(cluster: string, keys: readonly string[]): void;
}

/** An approval that is not used within this time is void. */
const APPROVAL_LIFE_MS = 60 * 60 * 1000;
/** How many held sets are remembered, so that an approval of one that has shrunk since still finds it. */
const REMEMBERED_SETS = 20;

export function createRemovals(deps: {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly ledger: Ledger;
  readonly journal: Journal;
  readonly records: LedgerRecords;
  readonly clock: Clock;
}): Removals {
  const { engine, loop, ledger, journal, records, clock } = deps;
  const windows = new Map<string, WindowRecord>(records.windows);
  const remembered = new Map<string, HeldSet>();

  const expireApproval = (cluster: string, key: string, record: ApprovalRecord): void => {
    clock.schedule(Math.max(0, record.expiresAt - clock.now()), () => {
      loop.transact(() => engine.inputs.approvals.delete(cluster, key));
      journal.put(recordKey.approval(cluster, key), null);
    });
  };
  const grant = (cluster: string, key: string, record: ApprovalRecord): void => {
    engine.inputs.approvals.set(cluster, key, true);
    expireApproval(cluster, key, record);
  };
  const stageWindow = (cluster: string): void => {
    const windowMs = (engine.limits.get('', '')?.windowSeconds ?? 600) * 1000;
    const recent = (windows.get(cluster) ?? []).filter(({ at }) => at > clock.now() - windowMs);
    if (recent.length === 0) windows.delete(cluster);
    else windows.set(cluster, recent);
    journal.put(recordKey.window(cluster), recent.length === 0 ? null : recent);
    loop.transact(() => {
      const sum = recent.reduce((total, { removed }) => total + removed, 0);
      if (sum === 0) engine.inputs.recentRemovals.delete('', cluster);
      else engine.inputs.recentRemovals.set('', cluster, sum);
    });
    const oldest = recent[0];
    if (oldest !== undefined) clock.schedule(oldest.at + windowMs - clock.now() + 1, () => stageWindow(cluster));
  };

  for (const [cluster, approvals] of records.approvals) {
    for (const [key, record] of approvals) if (record.expiresAt > clock.now()) grant(cluster, key, record);
  }
  for (const cluster of [...windows.keys()]) stageWindow(cluster);

  const held = (): HeldSet | undefined => {
    const entries = engine.indexes.held.members('all');
    const [first] = entries;
    if (first?.value.type !== 'held') return undefined;
    const removals = entries.map(({ partition, key }) => ({ cluster: partition, key }));
    const messages = new Set(entries.map(({ value }) => (value.type === 'held' ? value.message : '')));
    const set = {
      digest: removalsDigest(removals, (cluster) => ledger.registration(cluster)?.id ?? cluster),
      reason: first.value.reason,
      message: [...messages].sort(compareText).join('; '),
      removals,
    };
    remembered.set(set.digest, set);
    for (const digest of [...remembered.keys()].slice(0, -REMEMBERED_SETS)) remembered.delete(digest);
    return set;
  };

  return {
    held,
    approve: (digest, by) => {
      held();
      const set = remembered.get(digest);
      if (set === undefined) return undefined;
      const record = { digest, by, expiresAt: clock.now() + APPROVAL_LIFE_MS };
      const still = set.removals.filter(({ cluster, key }) => engine.outputs.get(cluster, key)?.type === 'held');
      loop.transact(() => {
        for (const { cluster, key } of still) {
          grant(cluster, key, record);
          journal.put(recordKey.approval(cluster, key), record);
        }
      });
      loop.settle();
      remembered.delete(digest);
      return { released: still.length, expiresAt: record.expiresAt };
    },
    removed: (cluster, keys) => {
      const counted = keys.filter((key) => engine.inputs.approvals.get(cluster, key) === undefined).length;
      if (counted === 0) return;
      windows.set(cluster, [...(windows.get(cluster) ?? []), { at: clock.now(), removed: counted }]);
      stageWindow(cluster);
    },
  };
}

/** Digest of a set of removals: over (cluster id, object key), sorted. */
export function removalsDigest(
  removals: readonly { readonly cluster: string; readonly key: string }[],
  idOf: (cluster: string) => string,
): Digest {
  const lines = removals.map(({ cluster, key }) => `${idOf(cluster)}\u0000${key}\n`).sort(compareText);
  return sha256(lines.join(''));
}
