import { isPassedRemoval } from '../../engine/output/outputs.ts';
import type { AgentHolding } from '../../model/agent/agent.ts';
import type { GuardLimits } from '../../model/fleet/desired.ts';
import type { LedgerEntry } from '../../model/fleet/ledger.ts';
import {
  metaOf,
  type ObjectMeta,
  type OutputDelta,
  type OutputObject,
  type SequencedDelta,
} from '../../model/fleet/output.ts';
import { backOffMs } from '../../model/limits/back-off.ts';
import { servedService } from '../../model/objects/endpoints.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { compareText } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import { given } from '../../model/values/given.ts';
import type { ReportedHolding, SendOutcome } from '../../relay/session.ts';
import type { SentDeltas } from '../../runtime/history/history.ts';
import type { ServerParts } from '../../runtime/parts.ts';
import type { ClusterSession } from '../../runtime/sessions.ts';
import { createLedgerDigests, type LedgerDigests } from './ledger-digests.ts';
import { createCutter, type Pending } from './next-part.ts';

/** Pauses after rejections in a row: a rejected delta is likely to be rejected again. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;

interface SenderDeps extends ServerParts {
  /** Identifies the key that makes tags now. */
  readonly signer: string;
  readonly history: SentDeltas;
  /** Most bytes of one delta; absent: the default. */
  readonly deltaBytes?: number;
}

/**
 * Sends each connected cluster its pending changes. At most one delta is in flight for a cluster; changes meanwhile are merged,
 * because the next delta is computed when the answer has arrived. Large changes are sent in several deltas in the same way.
 */
export function createSender(deps: SenderDeps) {
  const { engine, loop, windows, sessions, clock, log } = deps;
  const changes = engine.graph.watch(engine.pending);
  const planning = { ...deps, digests: createLedgerDigests(engine, sessions), cutter: createCutter(deps.deltaBytes) };
  /** Clusters to look at after the next commit. */
  const woken = new Set<string>();

  const answered = (cluster: string, state: ClusterSession, delta: SequencedDelta, outcome: SendOutcome): void => {
    if (sessions.get(cluster) !== state) return;
    deps.history.answered(cluster, delta.position, outcome);
    state.inFlight = false;
    whenCommitted(loop, state, () => woken.add(cluster));
    if (outcome.type === 'accepted') {
      state.holds = delta.to;
      state.admitted = delta.admitted;
      state.rejections = 0;
      windows.arrived(cluster, delta.removals);
      noteProblem(deps, cluster, '');
      loop.transact(() => {
        markAccepted(deps, cluster, delta);
        noteTag(deps, cluster);
      });
    } else if (outcome.type === 'rejected') {
      noteRejection(deps, cluster, state, outcome);
      state.isPaused = true;
      clock.schedule(backOffMs(state.rejections++, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), () => {
        state.isPaused = false;
        loop.transact(() => woken.add(cluster));
      });
    }
  };
  function* sendNext(cluster: string): Generator<undefined> {
    const state = sessions.get(cluster);
    if (state === undefined || state.inFlight || state.isStaging || state.isPaused || !isRegistered(deps, cluster))
      return;
    if (noteObstacle(deps, cluster, state)) {
      // Looked at again after each commit, until the obstacle is gone.
      woken.add(cluster);
      return;
    }
    const planned = yield* buildDelta(planning, cluster, state);
    if (planned === undefined || sessions.get(cluster) !== state) return;
    state.inFlight = true;
    const { delta, ...staged } = stageDelta(deps, cluster, planned);
    send(deps, cluster, state, { delta, ...staged }).then(
      (outcome) => answered(cluster, state, delta, outcome),
      (error: unknown) => {
        log.error('sending failed', { cluster, error: errorText(error) });
        answered(cluster, state, delta, { type: 'disconnected' });
        state.session.close('drain', 'SendFailed', 'the server could not send a delta');
      },
    );
  }

  return {
    /** A cluster has connected and reported its inventory, which is being staged: it is looked at when that is committed. */
    connected: (cluster: string, holding: AgentHolding): void => {
      windows.holds(cluster, ownedKeys(holding));
      const state = sessions.get(cluster);
      if (state !== undefined) whenCommitted(loop, state, () => woken.add(cluster));
    },
    /** Looks at every cluster that was woken or whose pending changes have changed; runs after each commit. */
    run: function* (): Generator<undefined> {
      for (const { partition } of changes.drain()) yield void woken.add(partition);
      planning.digests.follow();
      // Clusters stay woken until the start-up gate opens.
      if (!deps.replica.mayStart()) return;
      const clusters = [...woken];
      woken.clear();
      for (const cluster of clusters) {
        try {
          yield* sendNext(cluster);
        } catch (error) {
          // A failure of one cluster does not stop the others.
          log.error('a delta could not be made', { cluster, error: errorText(error) });
        }
        yield;
      }
    },
  };
}

/** The next delta is computed from what the agent holds: it waits until all that is staged now is committed. */
function whenCommitted(loop: SenderDeps['loop'], state: ClusterSession, wake: () => void): void {
  state.isStaging = true;
  const committed = (): void => {
    state.isStaging = false;
    wake();
  };
  loop.transact(() => undefined, { committed });
}

/**
 * Sends a delta. If its removals are counted, it is sent when the count is durable, and only if that is still permitted.
 * Otherwise the session ends: the inventory that the agent reports next replaces the entries in flight.
 */
async function send(
  { replica, sessions, log, history }: SenderDeps,
  cluster: string,
  state: ClusterSession,
  { delta, counted, provesInventory }: StagedDelta,
): Promise<SendOutcome> {
  if (counted === undefined) return state.session.send(delta, provesInventory);
  const judges = await counted;
  if (sessions.get(cluster) !== state) return { type: 'disconnected' };
  const obstacle = judges ? replica.obstacle(cluster) : 'another replica judges removals by now';
  if (obstacle === undefined) return state.session.send(delta, provesInventory);
  log.info('a delta is called off before it has left', { cluster, reason: obstacle, ...delta.position });
  history.answered(cluster, delta.position, { type: 'calledOff', reason: obstacle });
  state.session.close('drain', 'CalledOff', 'the server may not send any more what it was about to send');
  return { type: 'disconnected' };
}

/** False for a deregistered cluster, whose session ends: a declaration since then is not sent to it. */
function isRegistered({ engine, ledger }: ServerParts, cluster: string): boolean {
  return engine.clusters.get('', cluster) !== undefined && ledger.registration(cluster) !== undefined;
}

/** True if an obstacle prevents sending; shows it in the cluster's status. */
function noteObstacle(deps: ServerParts, cluster: string, state: ClusterSession): boolean {
  const obstacle = deps.replica.obstacle(cluster);
  if (obstacle !== state.obstacle) noteProblem(deps, cluster, obstacle ?? '');
  state.obstacle = obstacle;
  return obstacle !== undefined;
}

function noteRejection(
  deps: SenderDeps,
  cluster: string,
  state: ClusterSession,
  { reason, message, holding }: Extract<SendOutcome, { type: 'rejected' }>,
): void {
  deps.log.warn('an agent rejected a delta', { cluster, reason, detail: message });
  if (holding !== undefined) takeHolding(deps, cluster, state, holding);
  noteProblem(deps, cluster, `${reason}: ${message}`);
}

/** An agent that has rejected a delta reports what it holds. */
function takeHolding(
  { loop, ledger, windows }: SenderDeps,
  cluster: string,
  state: ClusterSession,
  holding: ReportedHolding,
): void {
  state.holds = holding.digest;
  state.admitted = holding.admitted;
  windows.holds(cluster, ownedKeys(holding));
  loop.transact(() => ledger.replaceEntries(cluster, holding));
}

function ownedKeys({ entries }: AgentHolding): ReadonlySet<string> {
  return new Set(entries.filter(({ phase }) => phase === 'held').map(({ key }) => key));
}

/** A delta that is about to be sent. */
interface StagedDelta {
  readonly delta: SequencedDelta;
  /** Its removals without an approval are being counted. */
  readonly counted: Promise<boolean> | undefined;
  /** Every entry after it is proven. */
  readonly provesInventory: boolean;
}

/** Stages the entries of a delta that is about to be sent, and gives it its position. */
function stageDelta(
  { engine, loop, ledger, windows, log, replica, history }: SenderDeps,
  cluster: string,
  { delta, entries, rest, leaving }: PlannedDelta,
): StagedDelta {
  void windows.leaving(cluster, [...leaving.keys()]);
  const counted = windows.leaving(
    cluster,
    delta.removals.filter((key) => isCounted(engine, cluster, key)),
  );
  loop.transact(() => {
    for (const [key, limits] of leaving) {
      const entry = engine.inputs.ledger.latest(cluster, key);
      // A follower counts no removals: it finds its own marks again.
      if (entry !== undefined && entry.leaving !== limits) ledger.setEntry(cluster, key, { ...entry, leaving: limits });
    }
    for (const [key, entry] of entries) ledger.setEntry(cluster, key, entry);
    // The last results are about the object before its removal.
    for (const key of delta.removals) ledger.setResult(cluster, key, null);
  });
  const position = ledger.nextPosition(cluster);
  const size = { upserts: delta.upserts.length, removals: delta.removals.length, touches: delta.touches.length, rest };
  log.info('a delta is sent', { cluster, ...position, ...size });
  const provesInventory = engine.indexes.unproven.members(cluster).every(({ key }) => {
    const after = entries.get(key as ObjectKey);
    return after !== undefined && (after.phase === 'removing' || after.unproven !== true);
  });
  const sequenced = { ...delta, position, admitted: replica.admitted() };
  history.sent(cluster, sequenced, rest);
  return { delta: sequenced, counted, provesInventory };
}

/** Whether the agent holds a tag of another key than the one that makes tags now. */
function hasOlderTag({ ledger, signer }: SenderDeps, cluster: string): boolean {
  const { tagKey = signer } = ledger.registration(cluster) ?? {};
  return tagKey !== signer;
}

/** The agent holds the tag of the newest delta. */
function noteTag({ ledger, signer }: SenderDeps, cluster: string): void {
  const registration = ledger.registration(cluster);
  if (registration === undefined || registration.tagKey === signer) return;
  ledger.setRegistration(cluster, { ...registration, tagKey: signer });
}

/** Shows in the cluster's status why it does not receive or accept its output; empty: it does. */
function noteProblem({ engine, loop }: ServerParts, cluster: string, problem: string): void {
  const agent = engine.inputs.agents.latest('', cluster);
  if (agent === undefined || agent.problem === problem) return;
  loop.transact(() => engine.inputs.agents.set('', cluster, { ...agent, problem }));
}

function markAccepted({ engine, ledger }: ServerParts, cluster: string, { upserts }: SequencedDelta): void {
  for (const { key, digest } of upserts) {
    const entry = engine.inputs.ledger.latest(cluster, key);
    if (entry?.phase === 'inFlight' && entry.digest === digest)
      ledger.setEntry(cluster, key, { ...entry, phase: 'accepted' });
  }
}

/** A delta, and the ledger entries when it is in flight. */
interface PlannedDelta {
  readonly delta: OutputDelta;
  readonly entries: ReadonlyMap<ObjectKey, LedgerEntry>;
  /** Number of changes that wait for the next delta. */
  readonly rest: number;
  /** Removals that wait from now on, and the limits under which the guards have judged them together with this delta. */
  readonly leaving: ReadonlyMap<ObjectKey, GuardLimits>;
}

interface PlanningDeps extends SenderDeps {
  readonly digests: LedgerDigests;
  readonly cutter: ReturnType<typeof createCutter>;
}

/**
 * Builds the next delta from the agent's inventory towards the cluster's output snapshot; undefined if they are equal
 * and the agent needs no newer tag.
 */
function* buildDelta(
  deps: PlanningDeps,
  cluster: string,
  state: ClusterSession,
): Generator<undefined, PlannedDelta | undefined> {
  const { engine, digests, sources, cutter } = deps;
  const upserts: OutputObject[] = [];
  const touches: (ObjectMeta & { key: ObjectKey })[] = [];
  const removals: ObjectKey[] = [];
  const entries = new Map<ObjectKey, LedgerEntry>();
  const pending = Array.from(engine.pending.entries(cluster), ({ key, value }) => ({
    key: key as ObjectKey,
    change: value,
  }));
  const { changes, rest } = yield* cutter.next(pending.sort((a, b) => compareText(a.key, b.key)));
  for (const { key, change } of changes) {
    const before = engine.inputs.ledger.get(cluster, key);
    if (change.type === 'upsert') {
      const { digest, value, madeBy } = change.object;
      const meta = metaOf(change.object);
      upserts.push({ key, digest, value, ...meta });
      const serves = servedService(key, value);
      const known = given({ serves, madeBy });
      entries.set(key, { digest, ...meta, phase: 'inFlight', ...known });
    } else if (before !== undefined && change.type === 'touch') {
      const { stopped: _, driftMode: _mode, unproven: _unproven, leaving: _leaving, madeBy: _maker, ...known } = before;
      const { type: _type, ...touched } = change;
      touches.push({ key, ...metaOf(change) });
      entries.set(key, { ...known, ...touched });
    } else if (before !== undefined) {
      removals.push(key);
      const { leaving: _, ...known } = before;
      entries.set(key, { ...known, phase: 'removing' });
    }
  }
  if (entries.size === 0 && !hasOlderTag(deps, cluster)) return undefined;
  const keeps = engine.indexes.keeps
    .members(cluster)
    .flatMap(({ key, value }) =>
      value.type === 'keep' || value.type === 'held' ? [{ key: key as ObjectKey, reason: value.reason }] : [],
    );
  const to = digests.after(cluster, state, entries);
  return {
    delta: { from: state.holds, to, upserts, touches, removals, keeps, revisions: sources.revisions() },
    entries,
    rest: rest.length,
    leaving: leavingOf(engine, cluster, rest),
  };
}

/** The removals that begin to wait and are counted. */
function leavingOf(engine: ServerParts['engine'], cluster: string, rest: readonly Pending[]): PlannedDelta['leaving'] {
  const passed = engine.limits.get('', '');
  if (passed === undefined) return new Map();
  const begins = ({ key, change }: Pending): boolean =>
    change.type === 'remove' && engine.leaving.get(cluster, key) === undefined && isCounted(engine, cluster, key);
  return new Map(rest.filter(begins).map(({ key }) => [key, passed]));
}

/** Whether the guards count a removal: a person has not approved it, and the agent removes the object. */
function isCounted({ inputs, outputs }: ServerParts['engine'], cluster: string, key: ObjectKey): boolean {
  return inputs.approvals.get(cluster, key) === undefined && isPassedRemoval(key, outputs.get(cluster, key));
}
