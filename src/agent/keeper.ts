import type { AgentHolding } from '../model/agent.ts';
import type { FleetName } from '../model/ids.ts';
import { displayKey, type ObjectKey } from '../model/object-key.ts';
import type { SequencedDelta } from '../model/output.ts';
import type { AgentDisk } from '../ports/agent-disk.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClusterApi, InventoryRecord, LiveState, ObservedObject } from '../ports/cluster-api.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import type { ServerListener } from '../relay/session.ts';
import { type Acceptance, acceptDelta } from './accept.ts';
import { type Entry, isStillSo, withEntries } from './entries.ts';
import { contentOf, fleetOf, type Holding, toldHolding } from './holding.ts';
import { workRank } from './order.ts';
import { applyRequest, reconcile, type Step } from './reconcile.ts';
import type { Recovered } from './recover.ts';
import type { ResultBook } from './result-book.ts';
import { createWorkQueue, type WorkOutcome, type WorkQueue } from './work-queue.ts';

export interface KeeperDeps {
  readonly cluster: ClusterApi;
  readonly disk: AgentDisk;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly results: ResultBook;
  /** Nothing is left to do at this moment. */
  readonly idle: () => void;
}

/** Holds what the server says and makes the cluster be so. */
export interface Keeper {
  holding(): Holding;
  told(): AgentHolding;
  readonly accept: ServerListener['delta'];
  /** Compares live state with what is held, and works where they differ. */
  see(live: LiveState): void;
  workOnAll(): void;
  /** Left-over removals go on; nothing is removed while the server is away. */
  goOnRemoving(): void;
  serverIs(where: 'there' | 'away'): void;
  isPaused(): boolean;
  stop(): Promise<void>;
}

interface KeeperState {
  readonly deps: KeeperDeps;
  holding: Holding;
  /** Contents are known to be those of the inventory; before that nothing is repaired. */
  trusted: boolean;
  /** The disk may hold more than the inventory: the next step replaces it. */
  diskAhead: boolean;
  mayRemove: boolean;
  paused: boolean;
  live: LiveState | undefined;
  /** Per object, the live state that a look last found wanting: tried once, then left to the back-off. */
  readonly seenWanting: Map<ObjectKey, ObservedObject | undefined>;
  /** Per object, what was last found to match. */
  readonly seenMatching: Map<ObjectKey, { readonly observed: ObservedObject; readonly record: InventoryRecord }>;
  /** One change of the inventory and the disk at a time. */
  writing: Promise<unknown>;
  /** What the next write of the inventory takes along, and that write. */
  readonly toEnter: Entry[];
  entering: Promise<void> | undefined;
}

export function createKeeper(deps: KeeperDeps, { holding, trusted }: Recovered): Keeper {
  const state: KeeperState = {
    deps,
    holding,
    trusted,
    diskAhead: false,
    mayRemove: false,
    paused: false,
    live: undefined,
    seenWanting: new Map(),
    seenMatching: new Map(),
    writing: Promise.resolve(),
    toEnter: [],
    entering: undefined,
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
    accept: (delta, fleet) => serially(state, () => accept(state, queue, delta, fleet)),
    see: (live) => see(state, queue, live),
    workOnAll: () => workOnAll(state, queue),
    goOnRemoving: () => goOnRemoving(state, queue),
    serverIs: (where) => {
      if (where === 'away') state.mayRemove = false;
      else trust(state, queue);
    },
    isPaused: () => state.paused,
    stop: async () => {
      await queue.stop();
      await state.writing;
    },
  };
}

/** Runs one change after the other; a failed one does not stop the next. */
function serially<Value>(state: KeeperState, change: () => Promise<Value>): Promise<Value> {
  const result = state.writing.then(change, change);
  state.writing = result.catch(() => {});
  return result;
}

async function accept(
  state: KeeperState,
  queue: WorkQueue,
  delta: SequencedDelta,
  fleet: FleetName,
): ReturnType<ServerListener['delta']> {
  const judged = acceptDelta(state.holding, delta, fleet);
  if (!judged.accepted) return judged;
  const before = state.holding;
  const begin = (): void => {
    if (!state.trusted || !changesOnly(before, judged)) return;
    state.holding = judged.next;
    for (const key of judged.work) queue.add(key);
  };
  try {
    await makeDurable(state, judged, begin);
  } catch (error) {
    if (state.holding !== before) {
      // It was not accepted after all: what has begun is put back.
      state.holding = before;
      for (const key of judged.work) queue.add(key);
    }
    state.deps.log.error('an output could not be made durable', { error, position: delta.position });
    return {
      accepted: false,
      reason: 'NotDurable',
      message: 'the agent could not write it to its disk; its log says why',
    };
  }
  const begun = state.holding !== before;
  state.holding = judged.next;
  state.trusted = true;
  state.mayRemove = true;
  if (!begun) for (const key of judged.work) queue.add(key);
  return { accepted: true };
}

/**
 * Changes of objects that are in the inventory already need not wait for it: whatever happens, they are known to be ours.
 * What is new or goes away must be entered first, and then everything goes in its order.
 */
function changesOnly(before: Holding, { change }: Acceptance): boolean {
  return change.put.every(({ key, phase }) => phase === 'held' && before.records.get(key)?.phase === 'held');
}

/** First the disk, then the inventory: the inventory says what counts, and never names a content that is not there. */
async function makeDurable(
  state: KeeperState,
  { step, change, next }: Acceptance,
  contentIsDurable: () => void,
): Promise<void> {
  const { disk, cluster } = state.deps;
  if (state.diskAhead)
    await disk.replace({ position: step.position, digest: step.digest, objects: heldContents(next) });
  else await disk.append(step);
  state.diskAhead = true;
  contentIsDurable();
  await cluster.saveInventory(change);
  state.diskAhead = false;
}

function heldContents({ records, contents }: Holding): Holding['contents'] {
  return new Map([...contents].filter(([key]) => records.get(key)?.phase === 'held'));
}

/** The server has been heard: what it did not object to is right. */
function trust(state: KeeperState, queue: WorkQueue): void {
  if (state.trusted) return;
  state.trusted = true;
  workOnAll(state, queue);
}

function workOnAll(state: KeeperState, queue: WorkQueue): void {
  if (!state.trusted) return;
  for (const { key, phase } of state.holding.records.values()) if (phase === 'held') queue.add(key);
}

function goOnRemoving(state: KeeperState, queue: WorkQueue): void {
  state.mayRemove = true;
  for (const { key, phase } of state.holding.records.values()) if (phase === 'removing') queue.add(key);
}

function see(state: KeeperState, queue: WorkQueue, live: LiveState): void {
  const { log, results } = state.deps;
  const before = state.paused;
  state.live = live;
  state.paused = live.paused;
  if (before !== live.paused)
    log.info(live.paused ? 'paused: writing has stopped' : 'no longer paused: writing goes on');
  if (!state.trusted) return;
  for (const { key, phase } of state.holding.records.values()) {
    const waited = results.get(key)?.state === 'paused' && !live.paused && !queue.isActive(key);
    if (waited || (phase === 'held' && isWanting(state, queue, live, key))) queue.add(key);
  }
}

/** Does a live object differ from what is declared, in a way that no work has been begun for? */
function isWanting(state: KeeperState, queue: WorkQueue, live: LiveState, key: ObjectKey): boolean {
  const { holding, deps, seenMatching, seenWanting } = state;
  const record = holding.records.get(key);
  const content = contentOf(holding, key);
  const fleet = fleetOf(holding);
  if (record === undefined || content === undefined || fleet === undefined || queue.isActive(key)) return false;
  const observed = live.objects.get(key);
  const known = seenMatching.get(key);
  if (observed !== undefined && known?.observed === observed && known.record === record) return false;
  if (observed !== undefined && deps.cluster.matches(applyRequest(fleet, record, content), observed)) {
    seenMatching.set(key, { observed, record });
    seenWanting.delete(key);
    return false;
  }
  const tried = seenWanting.has(key) && seenWanting.get(key) === observed;
  if (tried && queue.isWaiting(key)) return false;
  const last = deps.results.get(key);
  if (tried && last !== undefined && last.state !== 'applied' && last.digest === record.digest) return false;
  seenWanting.set(key, observed);
  if (last?.state === 'applied' && last.digest === record.digest && !live.paused) {
    deps.log.info('drift is put back', {
      object: displayKey(key),
      drift: observed === undefined ? 'removed' : 'changed',
    });
  }
  return true;
}

async function workOn(state: KeeperState, queue: WorkQueue, key: ObjectKey): Promise<WorkOutcome> {
  const { deps, holding } = state;
  const record = holding.records.get(key);
  if (record === undefined) return 'done';
  try {
    const step = await reconcile(deps.cluster, holding, key, state.mayRemove);
    // Something newer was accepted meanwhile: the key is in the queue again, and this word is stale.
    if (step === undefined || !isStillSo(state.holding, record)) return 'done';
    await enter(state, queue, record, step);
    note(deps, record, step.result);
    return step.retry ? 'retry' : 'done';
  } catch (error) {
    deps.log.error('an object could not be worked on', { object: displayKey(key), error });
    note(deps, record, {
      state: record.phase === 'removing' ? 'removing' : 'failed',
      reason: 'Internal',
      message: 'it could not be worked on; the log of the agent says why',
    });
    return 'retry';
  }
}

/** What has to be in the inventory before it is said; whoever waits for the same write shares it. */
async function enter(state: KeeperState, queue: WorkQueue, record: InventoryRecord, step: Step): Promise<void> {
  const { identity, result } = step;
  const gone = result.state === 'removed';
  if (gone) state.toEnter.push({ record, became: { type: 'gone' } });
  else if (identity !== undefined && identity !== record.identity)
    state.toEnter.push({ record, became: { type: 'identified', identity } });
  else return;
  state.entering ??= serially(state, () => enterAll(state));
  await state.entering;
  if (gone) forget(state, queue, record.key);
}

async function enterAll(state: KeeperState): Promise<void> {
  const entries = state.toEnter.splice(0);
  state.entering = undefined;
  const entered = withEntries(state.holding, entries);
  if (entered === undefined) return;
  await state.deps.cluster.saveInventory(entered.change);
  state.holding = entered.next;
}

function forget(state: KeeperState, queue: WorkQueue, key: ObjectKey): void {
  state.seenMatching.delete(key);
  state.seenWanting.delete(key);
  // A Namespace or definition may have waited for this one.
  for (const { key: other } of state.holding.records.values()) {
    if (state.deps.results.get(other)?.reason === 'Occupied') queue.add(other);
  }
}

function note({ results, log }: KeeperDeps, { key, digest }: InventoryRecord, said: Step['result']): void {
  const before = results.get(key);
  results.note({ key, digest, ...said });
  if (before?.state === said.state && before.message === said.message) return;
  if (said.state !== 'failed' && said.state !== 'conflict') return;
  log.warn('an object is not as declared', { object: displayKey(key), ...said });
}
