import type { Engine } from '../../engine/graph.ts';
import type { Output } from '../../engine/output/outputs.ts';
import type { RemovalApproval } from '../../model/desired.ts';
import { sha256 } from '../../model/digest.ts';
import type { FileSignature } from '../../model/file-signature.ts';
import type { Digest } from '../../model/ids.ts';
import { compareText } from '../../model/json.ts';
import type { ApprovalOutcome } from '../../model/ledger.ts';
import type { Origin } from '../../model/output.ts';
import type { Receipt } from '../../model/receipt.ts';
import type { ApprovalWay } from '../../model/relay-config.ts';
import type { ServerCore } from '../core.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type ApprovalRecord, type LedgerRecords, recordedInputs, recordKey } from '../ledger/records.ts';

export type Approvals = ReturnType<typeof createApprovals>;

/** The removals that a person has approved: each is of one object of one cluster, is used once, and expires. */
export function createApprovals({ engine, loop, fleet, records, clock }: ServerCore) {
  const timers = new Map<string, () => void>();
  const counts = { granted: 0, used: 0 };
  const input = engine.inputs.approvals;

  /** Stages the end of an approval: it was used or has expired, its object is wanted again, or its cluster was replaced. */
  const end = (cluster: string, key: string): void => {
    const address = addressOf(cluster, key);
    timers.get(address)?.();
    timers.delete(address);
    input.delete(cluster, key);
    fleet.put(recordKey.approval(cluster, key), null);
  };
  const stage = (cluster: string, key: string, { expiresAt }: ApprovalRecord): void => {
    const address = addressOf(cluster, key);
    timers.get(address)?.();
    input.set(cluster, key, true);
    const expire = (): void => loop.transact(() => end(cluster, key));
    timers.set(address, clock.schedule(Math.max(0, expiresAt - clock.now()), expire));
  };
  const load = (known: LedgerRecords['approvals']): void => {
    for (const [cluster, approvals] of known) {
      for (const [key, record] of approvals) {
        fleet.noted(recordKey.approval(cluster, key), record);
        if (record.expiresAt > clock.now()) stage(cluster, key, record);
        else end(cluster, key);
      }
    }
  };
  load(records.approvals);
  return {
    /** Stages an approval. */
    grant: (cluster: string, key: string, record: ApprovalRecord): void => {
      counts.granted += 1;
      stage(cluster, key, record);
      fleet.put(recordKey.approval(cluster, key), record);
    },
    /** Of what was put last of these approvals. */
    receipt: (removals: readonly Removal[]): Receipt =>
      fleet.receipt(removals.map(({ cluster, key }) => recordKey.approval(cluster, key))),
    end,
    /** Stages the end of an approval, and counts it as used: the object was removed. */
    used: (cluster: string, key: string): void => {
      counts.used += 1;
      end(cluster, key);
    },
    /** Approved removals since the start, and how many of them were done. */
    counts: () => ({ ...counts }),
    /** Stages the end of all approvals of a cluster. */
    endAll: (cluster: string): void => {
      for (const { key } of [...input.latestEntries(cluster)]) end(cluster, key);
    },
    isApproved: (cluster: string, key: string): boolean => input.get(cluster, key) === true,
    /** Stages the approvals of the store. */
    load,
    /** Unstages all approvals: another process judges removals now, and has the records. */
    unload: (): void => {
      for (const cancel of timers.values()) cancel();
      timers.clear();
      for (const cluster of [...input.partitions()]) input.drop(cluster);
    },
  };
}

/** Whether an object is removed, or wanted and not emptied: then no removal of it waits. */
export function needsNoRemoval(output: Output | undefined): boolean {
  return output === undefined || (output.type === 'object' && output.empties !== true);
}

interface Removal {
  readonly cluster: string;
  readonly key: string;
}

function addressOf(cluster: string, key: string): string {
  return `${cluster}\u0000${key}`;
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

function remember<Value>(map: Map<string, Value>, digest: string, value: Value): void {
  map.delete(digest);
  map.set(digest, value);
  for (const oldest of [...map.keys()].slice(0, -REMEMBERED_SETS)) map.delete(oldest);
}

/** An approval that is not used within this time is void. */
const APPROVAL_LIFE_MS = 60 * 60 * 1000;
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
    remember(remembered, set.digest, set);
    return set;
  };
  const grant = (removals: readonly Removal[], record: ApprovalRecord): void => {
    for (const { cluster, key } of removals) approvals.grant(cluster, key, record);
  };

  return {
    current,
    /**
     * Stages the approval of those removals of the named set that were held at the commit before this one and still are.
     * Returns their number. For bookkeepers; `until` (milliseconds since 1970) limits the life of the approval further.
     */
    release: (digest: string, by: string, until: number): number => {
      const { heldRemovals } = engine.inputs;
      const before = [...heldRemovals.partitions()].flatMap((cluster) =>
        [...heldRemovals.entries(cluster)].map(({ key }) => ({ cluster, key })),
      );
      const wasHeld = new Set(before.map(({ cluster, key }) => addressOf(cluster, key)));
      const named = [before, before.filter(isHeld)].find((removals) => digestOf(removals) === digest);
      const released = (named ?? remembered.get(digest)?.removals ?? []).filter(
        (removal) => wasHeld.has(addressOf(removal.cluster, removal.key)) && isHeld(removal),
      );
      grant(released, { digest, by, expiresAt: Math.min(until, clock.now() + APPROVAL_LIFE_MS) });
      if (released.length > 0) remembered.delete(digest);
      return released.length;
    },
    /**
     * Releases those removals of the named set that are still held; undefined if no such set was held lately. Resolves before the
     * commit that lets them leave.
     */
    approve: async (digest: string, by: string): Promise<(Approved & { readonly receipt: Receipt }) | undefined> => {
      await loop.settled();
      current();
      const set = remembered.get(digest);
      if (set === undefined) {
        const before = approved.get(digest);
        const counts = before !== undefined && before.expiresAt > clock.now();
        return counts ? { ...before, receipt: approvals.receipt(before.released) } : undefined;
      }
      const expiresAt = clock.now() + APPROVAL_LIFE_MS;
      const released = set.removals.filter(isHeld);
      // An object that is wanted again by then was changed by an earlier commit, which the recorder of holds has seen.
      const endUnneeded = (): void => {
        const unneeded = released.filter(({ cluster, key }) => needsNoRemoval(engine.outputs.get(cluster, key)));
        if (unneeded.length === 0) return;
        loop.transact(() => {
          for (const { cluster, key } of unneeded) approvals.end(cluster, key);
        });
      };
      loop.transact(() => grant(released, { digest, by, expiresAt }), { committed: endUnneeded });
      remembered.delete(digest);
      remember(approved, digest, { released, expiresAt });
      return { released, expiresAt, receipt: approvals.receipt(released) };
    },
  };
}

/**
 * Decides the outcome of each RemovalApproval once, when it is first read. Must run before the recorder of holds: an approval
 * counts only for removals that were held before it was read, so that no push contains the approval of its own removals. The
 * returned function runs after each commit; it returns true if it has staged a change.
 */
export function createApprovalFiles({
  engine,
  fleet,
  heldSets,
  clock,
  log,
}: ServerCore & { readonly heldSets: HeldSets }): () => boolean {
  const known = engine.inputs.approvalOutcomes;
  const { approvalOutcomes } = recordedInputs(engine, fleet);
  const judge = (approval: RemovalApproval, at: Origin): Omit<ApprovalOutcome, 'digest'> => {
    const { digest, expiresAt = Number.POSITIVE_INFINITY, name } = approval;
    const about = { name, digest, source: at.source, path: at.path };
    const signature = signatureOf(engine, approval, at);
    if (!countsApproval(engine, 'file') && signature === undefined) {
      log.warn('a RemovalApproval does not count', about);
      return { outcome: 'notCounted' };
    }
    if (signature !== undefined && 'problem' in signature) {
      log.warn('a RemovalApproval is not signed', { ...about, problem: signature.problem });
      return { outcome: 'unsigned', problem: signature.problem };
    }
    if (expiresAt <= clock.now()) return { outcome: 'expired' };
    const signed = signature === undefined ? '' : `, signed by ${signature.signer}`;
    const by = `${at.source}:${at.path} (RemovalApproval ${name}${signed})`;
    const released = heldSets.release(digest, by, expiresAt);
    if (released > 0) log.info('removals are approved', { digest, by, released });
    return { outcome: released > 0 ? 'used' : 'stale' };
  };
  const isJudged = (approval: RemovalApproval, at: Origin): boolean => {
    const { name, digest } = approval;
    const before = known.get('', name);
    if (before?.digest !== digest || before.outcome !== 'unsigned') return before?.digest === digest;
    const signature = signatureOf(engine, approval, at);
    return signature === undefined || ('problem' in signature && signature.problem === before.problem);
  };

  return () => {
    if (engine.inputs.fleet.get('', '')?.role !== 'leader') return false;
    const changes: [name: string, outcome: ApprovalOutcome | null][] = [];
    for (const { key: name, value } of [...engine.declarations.entries('RemovalApproval')]) {
      const { value: approval, origin } = value;
      if (isJudged(approval, origin)) continue;
      changes.push([name, { digest: approval.digest, ...judge(approval, origin) }]);
    }
    // While a source is not complete, a file that cannot be read now would later be taken for a new one.
    const over = allAreComplete(engine) ? [...known.entries('')] : [];
    for (const { key: name } of over) {
      if (engine.declarations.get('RemovalApproval', name) === undefined) changes.push([name, null]);
    }
    for (const [name, outcome] of changes) approvalOutcomes.set('', name, outcome);
    return changes.length > 0;
  };
}

/** The verdict on a RemovalApproval's file, if only signed files count; undefined: all count, or none. */
function signatureOf(
  { inputs }: Engine,
  { expiresAt }: RemovalApproval,
  { source, path }: Origin,
): FileSignature | undefined {
  if (countsApproval({ inputs }, 'file') || !countsApproval({ inputs }, 'signedFile')) return undefined;
  const unsigned = { problem: 'only a commit in a git source can be signed' };
  const signature = inputs.sources.get('', source)?.signatures?.[path] ?? unsigned;
  if ('problem' in signature || expiresAt !== undefined) return signature;
  // Its outcome is forgotten with the file; then a person without the key could merge the signed commit again.
  return { problem: 'it has no spec.expires, without which it could be used again later' };
}

function allAreComplete(engine: Engine): boolean {
  return [...engine.sourceProofs.entries('')].every(({ value }) => value === 'complete');
}
