import type { Engine } from '../../engine/graph.ts';
import type { Output } from '../../engine/output/outputs.ts';
import type { Digest } from '../../model/fleet/ids.ts';
import type { Receipt } from '../../model/fleet/receipt.ts';
import type { ApprovalWay } from '../../model/fleet/relay-config.ts';
import { sha256 } from '../../model/text/digest.ts';
import { compareText } from '../../model/text/json.ts';
import type { ServerCore } from '../core.ts';
import { createDueQueue } from '../due-queue.ts';
import { createDueTimer } from '../due-timer.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type ApprovalRecord, type LedgerRecords, recordKey } from '../ledger/records.ts';
import { addressOf, createFollowedApprovals } from './followed-approvals.ts';

export type Approvals = ReturnType<typeof createApprovals>;

/**
 * The removals that a person has approved: each is of one object of one cluster, is used once, and expires. It counts once the store
 * has it together with the outcome of its file: what is lost with this process must be given again, and lets nothing leave twice.
 */
export function createApprovals(core: ServerCore) {
  const { engine, loop, fleet } = core;
  const counts = { granted: 0, used: 0 };
  const staged = createStagedApprovals(core);
  const { load, followed, end } = staged;

  /** The store has these approvals: stages those that did not end meanwhile. */
  const written = (removals: readonly Removal[], record: ApprovalRecord): void => {
    const granted = removals.filter(({ cluster, key }) => staged.latest(cluster, key) === record);
    // An object that is wanted again by then was changed by an earlier commit, which the recorder of holds has seen.
    const endUnneeded = (): void => {
      const unneeded = granted.filter(({ cluster, key }) => needsNoRemoval(engine.outputs.get(cluster, key)));
      if (unneeded.length === 0) return;
      loop.transact(() => {
        for (const { cluster, key } of unneeded) end(cluster, key);
      });
    };
    const stage = (): void => {
      for (const { cluster, key } of granted) staged.set(cluster, key, record);
    };
    if (granted.length > 0) loop.transact(stage, { committed: endUnneeded });
  };
  const current = (cluster: string, key: string): ApprovalRecord | undefined => {
    const record = staged.latest(cluster, key);
    return record?.ended === true ? undefined : record;
  };
  const receipt = (removals: readonly Removal[]): Receipt =>
    fleet.receipt([
      recordKey.approvalOutcomes,
      ...removals.map(({ cluster, key }) => recordKey.approval(cluster, key)),
    ]);
  return {
    load,
    followed,
    end,
    /** Approves these removals as soon as the store has that. The outcome of the file that approves them is put before. */
    grant: (removals: readonly Removal[], record: ApprovalRecord): void => {
      counts.granted += removals.length;
      for (const { cluster, key } of removals) staged.grant(cluster, key, record);
      void receipt(removals).written.then((isWritten) => isWritten && written(removals, record));
    },
    /** Of what was put last of these approvals, and of the outcomes of files. */
    receipt,
    /** Stages the end of an approval, and counts it as used: the object was removed. */
    used: (cluster: string, key: string): void => {
      counts.used += 1;
      end(cluster, key);
    },
    /** Approved removals since the start, and how many of them were done. */
    counts: () => ({ ...counts }),
    /** Stages the end of all approvals of a cluster. */
    endAll: (cluster: string): void => {
      for (const key of staged.keys(cluster)) end(cluster, key);
    },
    /** Also if the store does not have the approval yet. */
    isApproved: (cluster: string, key: string): boolean => current(cluster, key) !== undefined,
    /** When the approval of a removal expires; undefined: none counts. Milliseconds since 1970. */
    expiryOf: (cluster: string, key: string): number | undefined => current(cluster, key)?.expiresAt,
    /** Unstages all approvals: another process judges removals now, and has the records. */
    unload: staged.unload,
  };
}

/** The last record of each approval, until it expires. Those that the store has are staged until they end. */
function createStagedApprovals({ engine, loop, fleet, records, clock, log }: ServerCore) {
  const known = new Map<string, Known>();
  const input = engine.inputs.approvals;
  const followed = createFollowedApprovals(clock);
  let expiries = createDueQueue();
  const timer = createDueTimer(clock, () => loop.transact(expire));
  const wait = (): void => timer.set(expiries.first()?.at ?? Number.POSITIVE_INFINITY);
  const remember = (cluster: string, key: string, record: ApprovalRecord): void => {
    const address = addressOf(cluster, key);
    known.set(address, { cluster, key, record });
    expiries.set(address, record.expiresAt);
    wait();
  };
  const forget = (cluster: string, key: string): void => {
    const address = addressOf(cluster, key);
    known.delete(address);
    expiries.delete(address);
    wait();
    input.delete(cluster, key);
    followed.replicate(cluster, key, undefined);
    fleet.put(recordKey.approval(cluster, key), null);
  };
  const expire = (): void => {
    for (let first = expiries.first(); first !== undefined && first.at <= clock.now(); first = expiries.first()) {
      const approval = known.get(first.key);
      if (approval === undefined) expiries.delete(first.key);
      else forget(approval.cluster, approval.key);
    }
    wait();
  };
  /** Stages an approval that the store has, or its end. */
  const set = (cluster: string, key: string, record: ApprovalRecord): void => {
    if (record.expiresAt <= clock.now()) {
      forget(cluster, key);
      return;
    }
    remember(cluster, key, record);
    followed.replicate(cluster, key, record);
    if (record.ended !== true) input.set(cluster, key, true);
    else {
      input.delete(cluster, key);
      fleet.put(recordKey.approval(cluster, key), record);
    }
  };
  const latest = (cluster: string, key: string) => known.get(addressOf(cluster, key))?.record;
  /** Stages the end of an approval: it was used or has expired, its object is wanted again, or its cluster was replaced. */
  const end = (cluster: string, key: string): void => {
    const record = latest(cluster, key);
    if (record !== undefined && record.ended !== true) set(cluster, key, { ...record, ended: true });
  };
  /** Stages the approvals of the store. */
  const load = (stored: LedgerRecords['approvals']): void => {
    for (const [cluster, approvals] of stored) {
      for (const [key, record] of approvals) {
        fleet.noted(recordKey.approval(cluster, key), record);
        const isBack = record.ended !== true && followed.hasEnded(cluster, key, record);
        if (isBack) log.info('an approval has ended that the store has again', { cluster, key, by: record.by });
        set(cluster, key, isBack ? { ...record, ended: true } : record);
      }
    }
  };
  load(records.approvals);
  const staged = { end, set, load, followed, latest };
  return {
    ...staged,
    /** Puts an approval, which is staged once the store has it. It takes the place of an earlier one of the object at once. */
    grant: (cluster: string, key: string, record: ApprovalRecord): void => {
      remember(cluster, key, record);
      fleet.put(recordKey.approval(cluster, key), record);
    },
    keys: (cluster: string): readonly string[] =>
      [...known.values()].flatMap((approval) => (approval.cluster === cluster ? [approval.key] : [])),
    unload: (): void => {
      known.clear();
      expiries = createDueQueue();
      wait();
      for (const cluster of [...input.partitions()]) input.drop(cluster);
    },
  };
}

/** An approval that has not expired. */
interface Known {
  readonly cluster: string;
  readonly key: string;
  readonly record: ApprovalRecord;
}

/** Whether an object is removed, or wanted and not emptied: then no removal of it waits. */
export function needsNoRemoval(output: Output | undefined): boolean {
  return output === undefined || (output.type === 'object' && output.empties !== true);
}

interface Removal {
  readonly cluster: string;
  readonly key: string;
}

/** Held removals that an approval can name by their digest. */
export interface HeldSet {
  readonly digest: Digest;
  readonly reason: string;
  readonly message: string;
  readonly removals: readonly Removal[];
}

/** The removals that a command has approved, and until when (milliseconds since 1970). */
interface Approved {
  readonly released: readonly Removal[];
  readonly expiresAt: number;
}

function rememberSet<Value>(map: Map<string, Value>, digest: string, value: Value): void {
  map.delete(digest);
  map.set(digest, value);
  for (const oldest of [...map.keys()].slice(0, -REMEMBERED_SETS)) map.delete(oldest);
}

/** An approval that is not used within this time is void. */
export const APPROVAL_LIFE_MS = 60 * 60 * 1000;
/** Number of remembered sets: an approval may name a set that has shrunk since. */
const REMEMBERED_SETS = 20;

/** Whether this way of approving removals counts. */
export function countsApproval({ inputs }: Pick<Engine, 'inputs'>, way: ApprovalWay): boolean {
  const ways = inputs.fleet.get('', '')?.bounds.approvals;
  return ways === undefined || ways.includes(way);
}

export type HeldSets = ReturnType<typeof createHeldSets>;

/** The held removals, as sets that an approval can name. */
export function createHeldSets({
  engine,
  loop,
  ledger,
  approvals,
  clock,
}: ServerCore & { readonly ledger: Ledger; readonly approvals: Approvals }) {
  const remembered = new Map<string, HeldSet>();
  /** What was approved by command, by digest: the same command again has the same answer. */
  const approved = new Map<string, Approved>();
  const digestOf = (removals: readonly Removal[]): Digest => {
    const idOf = (cluster: string): string => ledger.registration(cluster)?.id ?? cluster;
    return sha256(
      removals
        .map(({ cluster, key }) => `${addressOf(idOf(cluster), key)}\n`)
        .sort(compareText)
        .join(''),
    );
  };
  const isHeld = ({ cluster, key }: Removal): boolean => engine.outputs.get(cluster, key)?.type === 'held';

  /** One set of all removals that are held now; undefined if there are none. */
  const current = (): HeldSet | undefined => {
    const held = engine.indexes.held
      .members('all')
      .flatMap(({ partition: cluster, key, value }) =>
        value.type === 'held' ? [{ cluster, key, reason: value.reason, message: value.message }] : [],
      );
    const [first] = held;
    if (first === undefined) return undefined;
    const removals = held.map(({ cluster, key }) => ({ cluster, key }));
    const message = [...new Set(held.map((removal) => removal.message))].sort(compareText).join('; ');
    const set = { digest: digestOf(removals), reason: first.reason, message, removals };
    rememberSet(remembered, set.digest, set);
    return set;
  };
  return {
    current,
    /**
     * Those removals of the named set that were held at the commit before this one and still are. For recorders, which approve
     * them.
     */
    release: (digest: string): readonly Removal[] => {
      const { heldRemovals } = engine.inputs;
      const before = [...heldRemovals.partitions()].flatMap((cluster) =>
        [...heldRemovals.entries(cluster)].map(({ key }) => ({ cluster, key })),
      );
      const wasHeld = new Set(before.map(({ cluster, key }) => addressOf(cluster, key)));
      const named = [before, before.filter(isHeld)].find((removals) => digestOf(removals) === digest);
      const released = (named ?? remembered.get(digest)?.removals ?? []).filter(
        (removal) => wasHeld.has(addressOf(removal.cluster, removal.key)) && isHeld(removal),
      );
      if (released.length > 0) remembered.delete(digest);
      return released;
    },
    /**
     * Releases those removals of the named set that are still held. `released`: all of the set that are approved by then, by
     * this command or before it; `expiresAt`: when the first of these approvals expires. Undefined: there are none. Resolves
     * before the commit that lets them leave.
     */
    approve: async (digest: string, by: string): Promise<(Approved & { readonly receipt: Receipt }) | undefined> => {
      await loop.settled();
      current();
      const removals = remembered.get(digest)?.removals ?? [];
      const expiryOf = ({ cluster, key }: Removal): number | undefined => approvals.expiryOf(cluster, key);
      // A removal is still held while the store does not have its approval.
      const granted = removals.filter((removal) => isHeld(removal) && expiryOf(removal) === undefined);
      const before = approved.get(digest);
      if (granted.length === 0 && before !== undefined && before.expiresAt > clock.now()) {
        return { ...before, receipt: approvals.receipt(before.released) };
      }
      const grantedAt = clock.now();
      if (granted.length > 0)
        approvals.grant(granted, { digest, by, expiresAt: grantedAt + APPROVAL_LIFE_MS, grantedAt });
      const released = removals.filter((removal) => expiryOf(removal) !== undefined);
      if (released.length === 0) return undefined;
      const expiresAt = released.reduce(
        (first, each) => Math.min(first, expiryOf(each) ?? first),
        Number.POSITIVE_INFINITY,
      );
      remembered.delete(digest);
      rememberSet(approved, digest, { released, expiresAt });
      return { released, expiresAt, receipt: approvals.receipt(released) };
    },
  };
}
