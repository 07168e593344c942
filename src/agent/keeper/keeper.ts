import type { AgentHolding, ObjectResult } from '../../model/agent.ts';
import type { AgentSettings } from '../../model/agent-settings.ts';
import type { FleetName } from '../../model/ids.ts';
import { displayKey, type ObjectKey } from '../../model/object-key.ts';
import type { SequencedDelta } from '../../model/output.ts';
import type { AgentDisk } from '../../ports/agent-disk.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ClusterApi, InventoryRecord, LiveState, ObservedObject } from '../../ports/cluster-api.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { ServerListener } from '../../relay/session.ts';
import type { ResultBook } from '../result-book.ts';
import { type Acceptance, acceptDelta } from './accept.ts';
import { type Awaited, createAwaited } from './awaited.ts';
import { createDrift, type Drift, type DriftCounts } from './drift.ts';
import { createDurable, type Durable } from './durable.ts';
import { type Entry, isStillSo, withEntries } from './entries.ts';
import { createHealthTeller, type HealthTeller } from './health.ts';
import { contentOf, type Holding, toldHolding } from './holding.ts';
import { workRank } from './order.ts';
import { reconcile, type Step } from './reconcile.ts';
import type { Recovered } from './recover.ts';
import { createWorkQueue, type WorkOutcome, type WorkQueue } from './work-queue.ts';

export interface KeeperDeps {
  readonly cluster: ClusterApi;
  readonly disk: AgentDisk;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly results: ResultBook;
  /** Another agent has taken the cluster over. */
  readonly takenOver: (error: Error) => void;
  /** Nothing is left to do at this moment. */
  readonly idle: () => void;
}

/** Holds what the server says and makes the cluster be so. */
export interface Keeper {
  holding(): Holding;
  told(): AgentHolding;
  readonly accept: ServerListener['delta'];
  /** Remembers what the fleet's policy says, for a start without a server. */
  remember(settings: AgentSettings): void;
  /** Compares live state with what is held, and works where they differ. */
  see(live: LiveState): void;
  workOnAll(): void;
  /**
   * The server has had its time to object: left-over removals go on (nothing is removed while it is away), and what was
   * found at the start without being known to be right becomes durable.
   */
  goOn(): void;
  serverIs(where: 'there' | 'away'): void;
  isPaused(): boolean;
  /** Is drift put back? Not before a server was heard, where it is not known for certain what should be there. */
  repairs(): boolean;
  driftPutBack(): DriftCounts;
  stop(): Promise<void>;
}

interface KeeperState {
  readonly deps: KeeperDeps;
  holding: Holding;
  /** Contents are known to be those of the inventory; before that nothing is repaired. */
  trusted: boolean;
  mayRemove: boolean;
  /** How often the server was left; what came before that gives no leave to remove. */
  partings: number;
  paused: boolean;
  live: LiveState | undefined;
  readonly drift: Drift;
  readonly health: HealthTeller;
  /** Keys that a look found being worked on: the next one looks at them too. */
  readonly passedOver: Set<ObjectKey>;
  /** Keys whose removal was tried again because a look found nothing there. */
  readonly seenGone: Set<ObjectKey>;
  readonly awaited: Awaited;
  /** A state was not compared: the next one is, with everything that is held. */
  missed: boolean;
  readonly durable: Durable;
  /** What the next write of the inventory takes along, and that write. */
  readonly toEnter: Entry[];
  /** Ids of new objects that are not in the inventory yet. */
  readonly newIds: Map<ObjectKey, string>;
  /** Settings that wait for their turn to be written: only the newest count. */
  settings: AgentSettings | undefined;
  entering: Promise<void> | undefined;
  /** What ends the wait for more ids to enter at once. */
  cancelGathering: (() => void) | undefined;
  stopping: boolean;
}

/** Ids of new objects that come within this time are one write of the inventory. */
const GATHER_IDS_MS = 100;
/** After a write of ids that failed. */
const IDS_AGAIN_MS = 5_000;

export function createKeeper(deps: KeeperDeps, { holding, trusted }: Recovered): Keeper {
  const state: KeeperState = {
    deps,
    // Contents of what is gone are the disk's matter only.
    holding: { ...holding, contents: new Map([...holding.contents].filter(([key]) => holding.records.has(key))) },
    trusted,
    mayRemove: false,
    partings: 0,
    paused: false,
    live: undefined,
    passedOver: new Set(),
    seenGone: new Set(),
    awaited: createAwaited(),
    missed: true,
    drift: createDrift({ ...deps, queue: { isWaiting: (key) => queue.isWaiting(key) } }),
    health: createHealthTeller(deps),
    durable: createDurable(deps, holding, trusted),
    toEnter: [],
    newIds: new Map(),
    settings: undefined,
    entering: undefined,
    cancelGathering: undefined,
    stopping: false,
  };
  const queue: WorkQueue = createWorkQueue(deps, {
    rank: (key) => {
      const record = state.holding.records.get(key);
      return record === undefined ? undefined : workRank(record);
    },
    run: (key) => workOn(state, queue, key),
    idle: deps.idle,
  });
  return {
    holding: () => state.holding,
    told: () => toldHolding(state.holding),
    accept: (delta, fleet) => {
      const { partings } = state;
      return state.durable.serially(async () => {
        const answer = await accept(state, queue, delta, fleet, partings);
        // A server forgets what it knew of an object when it sends its removal.
        if (!answer.accepted) deps.results.tellAgain(delta.removals);
        return answer;
      });
    },
    remember: (settings) => remember(state, settings),
    see: (live) => see(state, queue, live),
    workOnAll: () => workOnAll(state, queue),
    goOn: () => goOn(state, queue),
    serverIs: (where) => {
      if (where === 'there') return trust(state, queue);
      state.mayRemove = false;
      state.partings += 1;
    },
    isPaused: () => state.paused,
    repairs: () => state.trusted,
    driftPutBack: state.drift.putBack,
    stop: async () => {
      state.stopping = true;
      state.health.stop();
      await queue.stop();
      if (state.cancelGathering !== undefined) enterGathered(state);
      await state.durable.settled();
    },
  };
}

async function accept(
  state: KeeperState,
  queue: WorkQueue,
  delta: SequencedDelta,
  fleet: FleetName,
  partings: number,
): ReturnType<ServerListener['delta']> {
  const judged = acceptDelta(state.holding, delta, fleet);
  if (!judged.accepted) return judged;
  const before = state.holding;
  const begin = (): void => {
    if (state.trusted && changesOnly(before, judged)) takeUp(state, queue, judged.next, judged.work);
  };
  try {
    await state.durable.step(judged, begin);
  } catch (error) {
    // It was not accepted after all: what has begun is put back.
    if (state.holding !== before) takeUp(state, queue, before, judged.work);
    state.deps.log.error('an output could not be made durable', { error, position: delta.position });
    return {
      accepted: false,
      reason: 'NotDurable',
      message: 'the agent could not write it to its disk; its log says why',
    };
  }
  // The server may be away by now, and without it nothing is removed.
  if (state.partings === partings) state.mayRemove = true;
  if (state.holding === before) takeUp(state, queue, judged.next, judged.work);
  trust(state, queue);
  return { accepted: true };
}

function remember(state: KeeperState, settings: AgentSettings): void {
  const { durable, deps } = state;
  const isWaiting = state.settings !== undefined;
  state.settings = settings;
  if (isWaiting) return;
  void durable.serially(async () => {
    const newest = state.settings ?? settings;
    state.settings = undefined;
    const next = { ...state.holding.state, settings: newest };
    state.holding = { ...state.holding, state: next };
    // Should this fail, the next write takes it along.
    await durable.state(next).catch((error: unknown) => {
      deps.log.error('the settings could not be made durable', { error });
    });
  });
}

/** Holds this now and works on what is new in it; each of these is answered, though the answer may be the same as before. */
function takeUp(state: KeeperState, queue: WorkQueue, holding: Holding, work: readonly ObjectKey[]): void {
  state.holding = holding;
  state.deps.results.renew(work);
  for (const key of work) queue.add(key);
}

/**
 * Changes of objects that are in the inventory already need not wait for it: whatever happens, they are known to be ours.
 * What is new or goes away must be entered first, and then everything goes in its order.
 */
function changesOnly(before: Holding, { change }: Acceptance): boolean {
  return change.put.every(({ key, phase }) => phase === 'held' && before.records.get(key)?.phase === 'held');
}

/** The server has been heard: what it did not object to is right. */
function trust(state: KeeperState, queue: WorkQueue): void {
  if (state.trusted) return;
  state.trusted = true;
  workOnAll(state, queue);
}

function workOnAll(state: KeeperState, queue: WorkQueue): void {
  if (!state.trusted) return;
  for (const { key, phase } of state.holding.records.values()) {
    if (phase === 'held' && contentOf(state.holding, key) !== undefined) queue.add(key);
  }
}

function goOn(state: KeeperState, queue: WorkQueue): void {
  state.mayRemove = true;
  for (const { key, phase } of state.holding.records.values()) {
    // The server has had its time to say what was forgotten here.
    if (phase === 'removing' || contentOf(state.holding, key) === undefined) queue.add(key);
  }
  state.durable
    .serially(() => state.durable.whole(state.holding))
    .catch((error: unknown) => state.deps.log.error('what is held could not be made durable', { error }));
}

function see(state: KeeperState, queue: WorkQueue, live: LiveState): void {
  const { log } = state.deps;
  const before = state.paused;
  state.live = live;
  state.paused = live.paused;
  if (before !== live.paused)
    log.info(live.paused ? 'paused: writing has stopped' : 'no longer paused: writing goes on');
  if (!state.trusted) {
    state.missed = true;
    return;
  }
  for (const key of state.awaited.over(live)) if (!queue.isActive(key)) queue.add(key);
  const keys = keysToCompare(state, live);
  // Should this fail half-way, nobody says again what changed.
  state.missed = true;
  for (const key of keys) compare(state, queue, live, key);
  state.missed = false;
}

/** Whatever may differ since the state before; a list of its own, for comparing adds to what was passed over. */
function keysToCompare({ missed, passedOver, holding }: KeeperState, { changed }: LiveState): readonly ObjectKey[] {
  if (missed || changed === undefined) return [...holding.records.keys()];
  return [...changed, ...[...passedOver].filter((key) => !changed.has(key))];
}

function compare(state: KeeperState, queue: WorkQueue, live: LiveState, key: ObjectKey): void {
  state.passedOver.delete(key);
  const record = state.holding.records.get(key);
  if (record === undefined) return;
  if (queue.isActive(key)) state.passedOver.add(key);
  else if (record.phase === 'removing') lookForEnd(state, queue, live, key);
  else if (state.drift.isWanting(state.holding, live, key)) queue.add(key);
  else state.health.look(key, live.objects.get(key));
}

/** What was waited for is not there any more. Once only: a cluster may not show what it still has. */
function lookForEnd({ seenGone }: KeeperState, queue: WorkQueue, live: LiveState, key: ObjectKey): void {
  if (live.objects.has(key)) seenGone.delete(key);
  else if (queue.isWaiting(key) && !seenGone.has(key)) {
    seenGone.add(key);
    queue.add(key);
  }
}

async function workOn(state: KeeperState, queue: WorkQueue, key: ObjectKey): Promise<WorkOutcome> {
  const { deps, holding } = state;
  const record = holding.records.get(key);
  if (record === undefined) return 'done';
  const before = state.live?.objects.get(key);
  try {
    const step = await reconcile(deps.cluster, holding, key, state.mayRemove, state.newIds.get(key));
    if (step?.identity !== undefined) gatherId(state, record, step.identity);
    // Something newer was accepted meanwhile: the key is in the queue again, and this word is stale.
    if (step === undefined || !isStillSo(state.holding, record)) return 'done';
    if (!(await enter(state, queue, record, step))) return 'done';
    if (step.written === true) state.health.wrote(key, before);
    note(state, record, healthy(step, before));
    return step.retry ? 'retry' : 'done';
  } catch (error) {
    deps.log.error('an object could not be worked on', { object: displayKey(key), error });
    note(state, record, {
      state: record.phase === 'removing' ? 'removing' : 'failed',
      reason: 'Internal',
      message: 'it could not be worked on; the log of the agent says why',
    });
    return 'retry';
  }
}

/** What is already as declared has the health that was seen; of what was written just now nothing is known yet. */
function healthy({ result, written }: Step, seen: ObservedObject | undefined): Said {
  if (result.state !== 'applied' || written === true || seen?.health === undefined || seen.stale === true)
    return result;
  return { ...result, health: seen.health };
}

/** What has to be in the inventory before it is said; whoever waits for the same write shares it. False: it is stale. */
async function enter(state: KeeperState, queue: WorkQueue, record: InventoryRecord, step: Step): Promise<boolean> {
  if (step.result.state !== 'removed') return true;
  state.toEnter.push({ record, became: { type: 'gone' } });
  state.entering ??= state.durable.serially(() => enterAll(state));
  await state.entering;
  if (state.holding.records.has(record.key)) return false;
  forget(state, queue, record.key);
  return true;
}

/** The id of a new object is entered later: its key is entered, so it is known to be ours whatever happens. */
function gatherId(state: KeeperState, record: InventoryRecord, identity: string): void {
  if (identity === (state.newIds.get(record.key) ?? record.identity)) return;
  state.newIds.set(record.key, identity);
  state.toEnter.push({ record, became: { type: 'identified', identity } });
  state.cancelGathering ??= state.deps.clock.schedule(GATHER_IDS_MS, () => enterGathered(state));
}

function enterGathered(state: KeeperState): void {
  state.cancelGathering?.();
  state.cancelGathering = undefined;
  state.entering ??= state.durable.serially(() => enterAll(state));
  state.entering.catch((error: unknown) => {
    state.deps.log.warn('ids of new objects could not be entered', { error });
  });
}

async function enterAll(state: KeeperState): Promise<void> {
  const entries = state.toEnter.splice(0);
  state.entering = undefined;
  const entered = withEntries(state.holding, entries);
  if (entered === undefined) return;
  try {
    await state.durable.entries(entered.change, entered.next);
  } catch (error) {
    // Whoever waits for an end of an object tries again by itself. In front: an id that came meanwhile is the newer one.
    state.toEnter.unshift(...entries.filter(({ became }) => became.type === 'identified'));
    if (state.toEnter.length > 0 && !state.stopping) {
      state.cancelGathering ??= state.deps.clock.schedule(IDS_AGAIN_MS, () => enterGathered(state));
    }
    throw error;
  }
  state.holding = entered.next;
  for (const { key, identity } of entered.change.put) if (state.newIds.get(key) === identity) state.newIds.delete(key);
}

function forget(state: KeeperState, queue: WorkQueue, key: ObjectKey): void {
  state.drift.forget(key);
  state.health.forget(key);
  state.passedOver.delete(key);
  state.seenGone.delete(key);
  state.newIds.delete(key);
  state.awaited.forget(key);
  // A Namespace or definition may have waited for this one.
  for (const { key: other } of state.holding.records.values()) {
    if (state.deps.results.get(other)?.reason === 'Occupied') queue.add(other);
  }
}

type Said = Step['result'] & Pick<ObjectResult, 'health'>;

function note({ deps, awaited }: KeeperState, { key, digest }: InventoryRecord, said: Said): void {
  const { results, log } = deps;
  awaited.note(key, said.reason);
  const before = results.get(key);
  results.note({ key, digest, ...said });
  if (before?.state === said.state && before.message === said.message) return;
  if (said.state !== 'failed' && said.state !== 'conflict') return;
  log.warn('an object is not as declared', { object: displayKey(key), ...said });
}
