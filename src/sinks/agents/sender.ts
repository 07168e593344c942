import type { Engine } from '../../engine/graph.ts';
import type { AgentHolding } from '../../model/agent.ts';
import { snapshotDigest } from '../../model/digest.ts';
import { servedService } from '../../model/endpoints.ts';
import type { Digest } from '../../model/ids.ts';
import { compareText } from '../../model/json.ts';
import type { LedgerEntry } from '../../model/ledger.ts';
import { errorText } from '../../model/messages.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { ObjectMeta, OutputDelta, OutputObject, RevisionRef, SequencedDelta } from '../../model/output.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SendOutcome } from '../../relay/session.ts';
import type { Ledger } from '../../runtime/ledger/ledger.ts';
import type { Loop } from '../../runtime/loop.ts';
import type { Windows } from '../../runtime/removals/windows.ts';
import type { Replica } from '../../runtime/replica/replica.ts';
import type { ClusterSession, Sessions } from '../../runtime/sessions.ts';

/**
 * Sends every connected cluster what it lacks: at most one delta is in flight per cluster, and what changes meanwhile
 * merges, because the next delta is worked out from the state when the slot is free again.
 */
export interface Sender {
  /** A cluster has connected and said what it holds: it is looked at after the next commit. */
  connected(cluster: string, holding: AgentHolding): void;
  /** Looks at every cluster whose outputs have changed or that was woken; runs after each commit. */
  run(): void;
}

interface SenderDeps {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly ledger: Ledger;
  readonly windows: Windows;
  readonly sessions: Sessions;
  readonly replica: Pick<Replica, 'admitted' | 'mayStart' | 'obstacle'>;
  readonly revisions: () => readonly RevisionRef[];
  readonly clock: Clock;
  readonly log: Log;
}

export function createSender(deps: SenderDeps): Sender {
  const { engine, loop, ledger, windows, sessions, clock, log } = deps;
  const changes = engine.graph.watch(engine.pending);
  const woken = new Set<string>();

  const arrive = (cluster: string, state: ClusterSession, delta: SequencedDelta, outcome: SendOutcome): void => {
    if (sessions.get(cluster) !== state) return;
    // What departed must be committed before the answer to it is staged.
    loop.settle();
    state.inFlight = false;
    woken.add(cluster);
    switch (outcome.type) {
      case 'accepted':
        state.holds = delta.to;
        state.admitted = delta.admitted;
        state.rejections = 0;
        windows.arrived(cluster);
        noteTrouble(deps, cluster, '');
        loop.transact(() => markAccepted(engine, ledger, cluster, delta));
        return;
      case 'rejected':
        log.warn('an agent rejected a delta', { cluster, reason: outcome.reason, detail: outcome.message });
        state.holds = outcome.holding.digest;
        state.admitted = outcome.holding.admitted;
        windows.holds(cluster, heldKeys(outcome.holding));
        noteTrouble(deps, cluster, `${outcome.reason}: ${outcome.message}`);
        holdBack(state, clock, () => loop.transact(() => woken.add(cluster)));
        loop.transact(() => ledger.replaceEntries(cluster, outcome.holding));
        return;
      case 'disconnected':
        return;
    }
  };

  const pump = (cluster: string): void => {
    const state = sessions.get(cluster);
    if (state === undefined || state.inFlight || state.heldBack || !isDeclared(deps, cluster)) return;
    if (noteObstacle(deps, cluster, state)) {
      // Looked at again after each commit, until it is out of the way.
      woken.add(cluster);
      return;
    }
    const planned = buildDelta(engine, cluster, state.holds, deps.revisions());
    if (planned === undefined) return;
    state.inFlight = true;
    const { delta, noted } = depart(deps, cluster, planned);
    send(deps, cluster, state, delta, noted).then(
      (outcome) => arrive(cluster, state, delta, outcome),
      (error: unknown) => {
        log.error('sending failed', { cluster, error: errorText(error) });
        arrive(cluster, state, delta, { type: 'disconnected' });
        state.session.close('drain', 'SendFailed', 'the server could not send a delta');
      },
    );
  };

  // One cluster's trouble is not another's.
  const pumpSafely = (cluster: string): void => {
    try {
      pump(cluster);
    } catch (error) {
      log.error('a delta could not be made', { cluster, error: errorText(error) });
    }
  };

  return {
    connected: (cluster, holding) => {
      windows.holds(cluster, heldKeys(holding));
      woken.add(cluster);
    },
    run: () => {
      for (const { partition } of changes.take()) woken.add(partition);
      // Until the start-up gate opens nothing is forgotten: whoever is connected by then is looked at.
      if (!deps.replica.mayStart()) return;
      const clusters = [...woken];
      woken.clear();
      for (const cluster of clusters) pumpSafely(cluster);
    },
  };
}

/**
 * Sends a delta; one whose removals are counted when the count is on record, if it may still be sent then. If not, the
 * session ends: what the agent says when it comes back replaces what was noted of the delta.
 */
function send(
  { replica, sessions, log }: SenderDeps,
  cluster: string,
  state: ClusterSession,
  delta: SequencedDelta,
  noted: Promise<boolean> | undefined,
): Promise<SendOutcome> {
  return noted === undefined ? state.session.send(delta) : noted.then(sendNow);

  async function sendNow(judges: boolean): Promise<SendOutcome> {
    if (sessions.get(cluster) !== state) return { type: 'disconnected' };
    const obstacle = judges ? replica.obstacle(cluster) : 'another replica judges removals by now';
    if (obstacle === undefined) return state.session.send(delta);
    log.info('a delta is called off before it has left', { cluster, reason: obstacle, ...delta.position });
    state.session.close('drain', 'CalledOff', 'the server may not send any more what it was about to send');
    return { type: 'disconnected' };
  }
}

/** A session of a cluster that was deregistered ends; what is declared since is not sent to it. */
function isDeclared({ engine, ledger }: SenderDeps, cluster: string): boolean {
  return engine.clusters.get('', cluster) !== undefined && ledger.registration(cluster) !== undefined;
}

/** Is there something in the way of sending? Shows at the cluster what it is. */
function noteObstacle(deps: SenderDeps, cluster: string, state: ClusterSession): boolean {
  const obstacle = deps.replica.obstacle(cluster);
  if (obstacle !== state.obstacle) noteTrouble(deps, cluster, obstacle ?? '');
  state.obstacle = obstacle;
  return obstacle !== undefined;
}

function heldKeys({ entries }: AgentHolding): ReadonlySet<string> {
  return new Set(entries.filter(({ phase }) => phase === 'held').map(({ key }) => key));
}

/**
 * Notes in the ledger what is about to leave, and gives it its position. `noted`: its removals are counted, and that is on
 * record. What a person has approved is not counted.
 */
function depart(
  { engine, loop, ledger, windows, log, replica }: SenderDeps,
  cluster: string,
  { delta, entries }: PlannedDelta,
): { readonly delta: SequencedDelta; readonly noted: Promise<boolean> | undefined } {
  const counted = delta.removals.filter((key) => engine.inputs.approvals.get(cluster, key) === undefined);
  const noted = windows.leaving(cluster, counted);
  loop.transact(() => {
    for (const [key, entry] of entries) ledger.setEntry(cluster, key, entry);
    // What was reported before is about what was there before.
    for (const key of delta.removals) ledger.setResult(cluster, key, null);
  });
  const position = ledger.nextPosition(cluster);
  const size = { upserts: delta.upserts.length, removals: delta.removals.length, touches: delta.touches.length };
  log.info('a delta is sent', { cluster, ...position, ...size });
  return { delta: { ...delta, position, admitted: replica.admitted() }, noted };
}

/** Shows at the cluster why it does not take what it is sent. */
function noteTrouble({ engine, loop }: SenderDeps, cluster: string, trouble: string): void {
  const agent = engine.inputs.agents.get('', cluster);
  if (agent === undefined || agent.trouble === trouble) return;
  loop.transact(() => engine.inputs.agents.set('', cluster, { ...agent, trouble }));
}

function markAccepted(engine: Engine, ledger: Ledger, cluster: string, delta: SequencedDelta): void {
  for (const { key, digest } of delta.upserts) {
    const entry = engine.inputs.ledger.get(cluster, key as ObjectKey);
    if (entry?.phase === 'inFlight' && entry.digest === digest)
      ledger.setEntry(cluster, key, { ...entry, phase: 'accepted' });
  }
}

/** A delta and what the ledger says once it is on its way. */
export interface PlannedDelta {
  readonly delta: OutputDelta;
  readonly entries: ReadonlyMap<ObjectKey, LedgerEntry>;
}

/** The delta that brings a cluster from what it holds to its output snapshot; undefined if it is in sync. */
export function buildDelta(
  engine: Engine,
  cluster: string,
  from: Digest,
  revisions: readonly RevisionRef[],
): PlannedDelta | undefined {
  const upserts: OutputObject[] = [];
  const touches: (ObjectMeta & { key: ObjectKey })[] = [];
  const removals: ObjectKey[] = [];
  const entries = new Map<ObjectKey, LedgerEntry>();
  const pending = [...engine.pending.entries(cluster)].sort((a, b) => compareText(a.key, b.key));
  for (const { key: text, value: change } of pending) {
    const key = text as ObjectKey;
    const before = engine.inputs.ledger.get(cluster, key);
    if (change.type === 'upsert') {
      const { digest, value, origins, scope } = change.object;
      upserts.push({ key, digest, value, origins, scope });
      const serves = servedService(key, value);
      const sent = { digest, origins, scope, phase: 'inFlight' } as const;
      entries.set(key, serves === undefined ? sent : { ...sent, serves });
    } else if (before !== undefined && change.type === 'touch') {
      const { origins, scope } = change;
      touches.push({ key, origins, scope });
      entries.set(key, { ...before, origins, scope });
    } else if (before !== undefined) {
      removals.push(key);
      entries.set(key, { ...before, phase: 'removing' });
    }
  }
  if (entries.size === 0) return undefined;
  const to = digestAfter(engine, cluster, entries);
  return { delta: { from, to, upserts, touches, removals, keeps: keepsOf(engine, cluster), revisions }, entries };
}

function digestAfter(engine: Engine, cluster: string, changed: ReadonlyMap<ObjectKey, LedgerEntry>): Digest {
  const after = new Map<string, LedgerEntry>(changed);
  for (const { key, value } of engine.inputs.ledger.entries(cluster)) if (!after.has(key)) after.set(key, value);
  return snapshotDigest(
    [...after].filter(([, entry]) => entry.phase !== 'removing').map(([key, entry]) => [key, entry.digest] as const),
  );
}

function keepsOf(engine: Engine, cluster: string): OutputDelta['keeps'] {
  return engine.indexes.keeps
    .members(cluster)
    .flatMap(({ key, value }) =>
      value.type === 'keep' || value.type === 'held' ? [{ key: key as ObjectKey, reason: value.reason }] : [],
    );
}

const FIRST_MS = 500;
const LONGEST_MS = 60_000;

/**
 * After a rejection the same cluster is left alone for a while, longer with each one in a row: what was rejected once is
 * likely to be rejected again.
 */
export function holdBack(state: ClusterSession, clock: Clock, over: () => void): void {
  state.rejections++;
  state.heldBack = true;
  clock.schedule(Math.min(LONGEST_MS, FIRST_MS * 2 ** (state.rejections - 1)), () => {
    state.heldBack = false;
    over();
  });
}
