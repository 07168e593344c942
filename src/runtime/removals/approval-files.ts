import type { Engine } from '../../engine/graph.ts';
import type { RemovalApproval } from '../../model/fleet/desired.ts';
import type { FileSignature } from '../../model/fleet/file-signature.ts';
import type { ApprovalOutcome } from '../../model/fleet/ledger.ts';
import { type AdmissionPosition, comparePositions, type Origin } from '../../model/fleet/output.ts';
import { compareText, type JsonValue, jsonEquals } from '../../model/text/json.ts';
import { given } from '../../model/values/given.ts';
import type { ServerCore } from '../core.ts';
import { type ApprovalRecord, type OutcomesRecord, recordKey } from '../ledger/records.ts';
import type { Replica } from '../replica/replica.ts';
import { APPROVAL_LIFE_MS, type Approvals, countsApproval, type HeldSet, type HeldSets } from './approvals.ts';

export type ApprovalOutcomes = ReturnType<typeof createApprovalOutcomes>;

/**
 * The outcomes of RemovalApprovals, staged and in one record of the store. Each leader writes that record. So its absence says that
 * outcomes are lost, and not that there are none. Then what a source declares when it is first read completely may have been used.
 */
export function createApprovalOutcomes({ engine, loop, fleet, records }: ServerCore) {
  const input = engine.inputs.approvalOutcomes;
  /** After a loss: the sources whose earlier RemovalApprovals are judged; undefined: all sources. */
  let judged: Set<string> | undefined;
  /** The admission that proved last that the store is an older copy: an earlier record does not say what is lost. */
  let loss: AdmissionPosition | undefined;
  /** The record that was read or written last; undefined: none, or the store has lost it. */
  let last: OutcomesRecord | undefined;
  /** An older copy of the store may lack what this process knows of the file as it is declared. */
  const isKnown = (name: string): boolean => {
    const known = input.latest('', name);
    if (known === undefined || known.outcome === 'unsigned' || known.outcome === 'waits') return false;
    return known.digest === engine.declarations.get('RemovalApproval', name)?.value.digest;
  };
  /** Adds and changes only: the store may be an older copy, and lack what this process knows. */
  const stage = (stored: OutcomesRecord['outcomes']): void => {
    for (const [name, outcome] of Object.entries(stored)) if (!isKnown(name)) input.set('', name, outcome);
  };
  const current = (): OutcomesRecord => {
    const staged = [...input.latestEntries('')].map(({ key, value }) => [key, value] as const);
    const outcomes = Object.fromEntries(staged.sort(([a], [b]) => compareText(a, b)));
    return { outcomes, ...(judged === undefined ? {} : { judged: [...judged].sort(compareText) }), ...given({ loss }) };
  };
  const write = (): void => {
    last = current();
    fleet.put(recordKey.approvalOutcomes, last);
  };
  /** This process judges from now on: stages the record of the store; undefined: there is none. */
  const load = (stored: OutcomesRecord | undefined): void => {
    last = stored;
    if (stored === undefined || isEarlier(stored.loss, loss)) judged = new Set();
    else {
      judged = stored.judged === undefined ? undefined : new Set(stored.judged);
      loss = stored.loss;
    }
    if (stored === undefined) return;
    stage(stored.outcomes);
    fleet.noted(recordKey.approvalOutcomes, stored);
    if (!jsonEquals(current() as unknown as JsonValue, stored as unknown as JsonValue)) write();
  };
  load(records.approvalOutcomes);
  return {
    load,
    /** Outcomes of some source are lost. */
    areLost: (): boolean => judged !== undefined,
    /** Outcomes of this source are lost: a RemovalApproval that it declares by now may have been used. */
    areLostOf: (source: string): boolean => judged?.has(source) === false,
    /**
     * The admission proves that the store is an older copy: outcomes that this process does not know may be lost. Does nothing without
     * a proof, or if this loss is known.
     */
    lose: (proof: AdmissionPosition | undefined): void => {
      if (proof === undefined || !isEarlier(loss, proof)) return;
      loss = proof;
      judged = new Set();
      // The next leader may not learn it. A server that does not lead yet has not read the record that it would replace.
      if (engine.inputs.fleet.get('', '')?.role === 'leader') write();
    },
    /** Stages and writes these outcomes; null: the file is gone. `settled`: sources whose RemovalApprovals are judged by now. */
    set: (
      changes: Iterable<readonly [name: string, outcome: ApprovalOutcome | null]>,
      settled: readonly string[] | 'all',
    ): void => {
      if (settled === 'all') judged = undefined;
      else for (const source of settled) judged?.add(source);
      for (const [name, outcome] of changes) {
        if (outcome === null) input.delete('', name);
        else input.set('', name, outcome);
      }
      write();
    },
    /** At a follower: the leader has forgotten the outcome together with its file. */
    isForgotten: (name: string): boolean => last !== undefined && !Object.hasOwn(last.outcomes, name),
    /** At a follower: deletes the outcome. */
    forget: (name: string): void => input.delete('', name),
    /** At a follower: the leader has written the record; undefined: the store has lost it. */
    replicate: (stored: OutcomesRecord | undefined): void => {
      last = stored;
      if (stored !== undefined) loop.transact(() => stage(stored.outcomes));
    },
  };
}

/**
 * Decides the outcome of each RemovalApproval once, when it is first read. Must run before the recorder of holds: an approval
 * counts only for removals that were held before it was read, so that no push contains the approval of its own removals. After a
 * loss of outcomes, what a source declares when it is first complete counts for nothing: it may have been used. Until then its
 * RemovalApprovals wait. The returned function runs after each commit; it returns true if it has staged a change.
 */
export function createApprovalFiles(
  deps: ServerCore & {
    readonly approvals: Approvals;
    readonly outcomes: ApprovalOutcomes;
    readonly heldSets: HeldSets;
    readonly replica: Pick<Replica, 'knowsAll' | 'hasReadAnew'>;
  },
): () => boolean {
  const { engine, approvals, outcomes, replica } = deps;
  const known = engine.inputs.approvalOutcomes;
  const judge = createVerdicts(deps);

  return () => {
    const isLeader = engine.inputs.fleet.get('', '')?.role === 'leader';
    const proofs = [...engine.sourceProofs.entries('')];
    const complete = proofs.flatMap(({ key, value }) => (value === 'complete' ? [key] : []));
    // While a source is not complete, a file that cannot be read now would later be taken for a new one.
    const isComplete = complete.length === proofs.length;
    const over = (isComplete ? [...known.entries('')] : [])
      .map(({ key }) => key)
      .filter((name) => engine.declarations.get('RemovalApproval', name) === undefined);
    if (!isLeader) {
      // A follower may know the outcome before it has read the file.
      const forgotten = over.filter(outcomes.isForgotten);
      for (const name of forgotten) outcomes.forget(name);
      return forgotten.length > 0;
    }
    const areAnew = complete.filter(replica.hasReadAnew);
    const isCurrent = isComplete && areAnew.length === complete.length && replica.knowsAll();
    const settled = areAnew.filter(outcomes.areLostOf);
    const areAllSettled = outcomes.areLost() && isCurrent;
    const granted: Grant[] = [];
    const changes: (readonly [name: string, outcome: ApprovalOutcome | null])[] = [];
    if (isCurrent) for (const name of over) changes.push([name, null]);
    for (const { key: name, value } of [...engine.declarations.entries('RemovalApproval')]) {
      const { value: approval, origin } = value;
      if (isJudged(engine, approval, origin)) continue;
      const verdict = outcomes.areLostOf(origin.source)
        ? ({ outcome: settled.includes(origin.source) ? 'stale' : 'waits' } as const)
        : judge(approval, origin);
      const { granted: grant, ...outcome } = verdict;
      const change: ApprovalOutcome = { digest: approval.digest, ...outcome };
      if (!isSameOutcome(known.get('', name), change)) changes.push([name, change]);
      if (grant !== undefined) granted.push(grant);
    }
    if (changes.length === 0 && settled.length === 0 && !areAllSettled) return false;
    // First: an approval counts once the store has both.
    outcomes.set(changes, areAllSettled ? 'all' : settled);
    for (const { removals, record } of granted) approvals.grant(removals, record);
    return changes.length > 0;
  };
}

/** Removals that a file approves. */
interface Grant {
  readonly removals: HeldSet['removals'];
  readonly record: ApprovalRecord;
}

type Verdict = Omit<ApprovalOutcome, 'digest'> & { readonly granted?: Grant };

/** Judges a RemovalApproval that is new. */
function createVerdicts({ engine, heldSets, clock, log }: ServerCore & { readonly heldSets: HeldSets }) {
  return (approval: RemovalApproval, at: Origin): Verdict => {
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
    const removals = heldSets.release(digest);
    if (removals.length === 0) return { outcome: 'stale' };
    log.info('removals are approved', { digest, by, released: removals.length });
    const grantedAt = clock.now();
    const record = { digest, by, expiresAt: Math.min(expiresAt, grantedAt + APPROVAL_LIFE_MS), grantedAt };
    return { outcome: 'used', granted: { removals, record } };
  };
}

/** Undefined is the earliest. */
function isEarlier(a: AdmissionPosition | undefined, b: AdmissionPosition | undefined): boolean {
  return b !== undefined && (a === undefined || comparePositions(a, b) < 0);
}

function isSameOutcome(a: ApprovalOutcome | undefined, b: ApprovalOutcome): boolean {
  return a?.digest === b.digest && a.outcome === b.outcome && a.problem === b.problem;
}

function isJudged(engine: Engine, approval: RemovalApproval, at: Origin): boolean {
  const { name, digest } = approval;
  const before = engine.inputs.approvalOutcomes.get('', name);
  if (before?.digest !== digest || before.outcome === 'waits') return false;
  if (before.outcome !== 'unsigned') return true;
  const signature = signatureOf(engine, approval, at);
  return signature === undefined || ('problem' in signature && signature.problem === before.problem);
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
