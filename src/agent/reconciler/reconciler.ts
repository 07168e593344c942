import type { ObjectResult } from '../../model/agent/agent.ts';
import type { AgentSettings } from '../../model/agent/agent-settings.ts';
import type { FleetName } from '../../model/fleet/ids.ts';
import type { SequencedDelta } from '../../model/fleet/output.ts';
import { displayKey, type ObjectKey } from '../../model/objects/object-key.ts';
import type { JsonObject } from '../../model/text/json.ts';
import { isDiskFull } from '../../ports/agent-disk.ts';
import type { InventoryRecord, LiveState, ObservedObject } from '../../ports/cluster-api.ts';
import type { Random } from '../../ports/random.ts';
import type { ServerListener } from '../../relay/session.ts';
import type { ResultBook } from '../result-book.ts';
import { createDrift } from './drift.ts';
import type { DriftBook } from './drift-book.ts';
import { leavesDrift, mayLeaveDrift, usuallyLeavesDrift } from './found-drift.ts';
import { createHandovers } from './handovers.ts';
import { createHealthReporter } from './health-reporter.ts';
import { type Acceptance, acceptDelta, contentOf, type Inventory, type Rejection } from './inventory.ts';
import { createInventoryStore, isUnchanged, type StoreDeps } from './inventory-store.ts';
import { createLateWrites } from './late-writes.ts';
import { CONTENT_UNKNOWN_REASON, OCCUPIED, RELEASED, type Step, stepObject, workRank } from './object-step.ts';
import { createPrerequisites } from './prerequisites.ts';
import type { Recovered } from './recovery.ts';
import { createWorkQueue, type WorkOutcome } from './work-queue.ts';

export interface ReconcilerDeps extends StoreDeps {
  readonly random: Random;
  readonly results: ResultBook;
  readonly drifts: Pick<DriftBook, 'note' | 'putBack' | 'end'>;
  /** Those of the fleet's policy that are in force. */
  readonly settings: () => AgentSettings;
  /** The work queue is empty. */
  readonly idle: () => void;
  /** The inventory lacks a content that it had; the holding says so now. */
  readonly contentLost: () => void;
}

type State = ReturnType<typeof createState>;

type Result = Step['result'] & Pick<ObjectResult, 'health'>;

export type Reconciler = ReturnType<typeof createReconciler>;

/** Makes the cluster match the accepted output snapshot: applies, removes, corrects drift and reports results. */
export function createReconciler(deps: ReconcilerDeps, recovered: Recovered) {
  const state = createState(deps, recovered);
  const { store, drift, health, queue, lateWrites } = state;
  const acceptDelta: ServerListener['delta'] = (delta, fleet) => {
    const { disconnectCount } = state;
    return store.inTurn(async () => {
      const answer = await accept(state, delta, fleet, disconnectCount);
      // The server drops the last result of an object when it sends the removal.
      if (!answer.accepted) deps.results.reportAgain(delta.removals);
      return answer;
    });
  };
  return {
    inventory: store.current,
    /** Compares the first live state with the inventory, and queues every owned object. */
    start: (live: LiveState): void => {
      observe(state, live);
      queueOwned(state);
    },
    /** Compares a live state with the inventory, and queues the objects that differ. */
    observe: (live: LiveState): void => observe(state, live),
    /** Verifies a delta, makes it durable and queues its objects. */
    accept: acceptDelta,
    /** Makes the policy's settings durable, for a start without a server, and tries again what they may allow now. */
    takeSettings: (settings: AgentSettings): void => {
      store.writeSettings(settings);
      for (const key of store.current().records.keys()) {
        if (deps.results.get(key)?.state === 'paused' && !queue.isActive(key)) queue.add(key);
      }
      returnDrift(state);
      for (const record of store.current().records.values()) {
        if (usuallyLeavesDrift(record, settings)) noteApplied(state, record, deps.results.get(record.key));
      }
    },
    /** The server is connected: the contents that it has not replaced are right. */
    connected: (): void => trust(state),
    /** The server is away: removals wait. */
    disconnected: (): void => {
      state.mayRemove = false;
      state.disconnectCount += 1;
    },
    /**
     * Continues the removals that were pending at the connect: the server has had time to cancel them. Makes the recovered
     * inventory durable.
     */
    continueRemovals: (): void => continueRemovals(state),
    isPaused: (): boolean => state.live?.paused ?? false,
    /** Whether drift is corrected. */
    repairs: (): boolean => state.trusted,
    driftCorrections: drift.counts,
    driftLeft: drift.leftCounts,
    stop: async (): Promise<void> => {
      health.stop();
      lateWrites.stop();
      await queue.stop();
      await store.stop();
    },
  };
}

function createState(deps: ReconcilerDeps, { inventory, trusted }: Recovered) {
  const store = createInventoryStore(deps, inventory, trusted);
  const queue = createWorkQueue(deps, {
    rank: (key) => {
      const record = store.current().records.get(key);
      return record === undefined ? undefined : workRank(record);
    },
    bytes: (key) => store.current().contents.get(key)?.bytes ?? 0,
    run: (key): Promise<WorkOutcome> => work(state, key),
    idle: () => {
      tryFailedAgain(state);
      deps.idle();
    },
  });
  const state = {
    deps,
    store,
    queue,
    /** The contents are those of the inventory; nothing is applied before. */
    trusted,
    mayRemove: false,
    /** A delta that arrived before the last disconnect permits no removals. */
    disconnectCount: 0,
    live: undefined as LiveState | undefined,
    /** The last state was not compared to its end: the next one is compared completely. */
    missed: true,
    /** Keys that were being worked on when a state was compared: they are compared with the next state too. */
    skipped: new Set<ObjectKey>(),
    /** Keys whose removal was retried because a state did not contain the object. */
    seenGone: new Set<ObjectKey>(),
    /** Namespaces and CRDs whose removal waits for that of objects in them. */
    occupied: new Set<ObjectKey>(),
    prerequisites: createPrerequisites(),
    handovers: createHandovers({ ...deps, inventory: store.current, live: (): LiveState | undefined => state.live }),
    /** An object was removed since what has failed was tried again. */
    hasRemoved: false,
    health: createHealthReporter(deps),
    drift: createDrift({ ...deps, queue }),
    lateWrites: createLateWrites({ ...deps, recovered: inventory.records }),
  };
  return state;
}

async function accept(
  state: State,
  delta: SequencedDelta,
  fleet: FleetName,
  disconnectCount: number,
): ReturnType<ServerListener['delta']> {
  const before = state.store.current();
  const answer = acceptDelta(before, delta, fleet, () => state.deps.random.id());
  if (!answer.accepted) return answer;
  const keys = answer.change.put.map(({ key }) => key);
  let next: Inventory;
  try {
    next = await state.store.writeDelta(answer, (written) => {
      if (state.trusted && changesOwnedOnly(before, answer)) adopt(state, written, keys);
    });
  } catch (error) {
    // The delta is not accepted: its changes are undone.
    if (state.store.current() !== before) adopt(state, before, keys);
    state.deps.log.error('an output could not be made durable', { error, position: delta.position });
    return notDurable(error);
  }
  // The server can have disconnected since, and without a server nothing is removed.
  if (state.disconnectCount === disconnectCount) state.mayRemove = true;
  if (state.store.current() === before) adopt(state, next, keys);
  trust(state);
  return { accepted: true };
}

function notDurable(error: unknown): Rejection {
  if (isDiskFull(error)) {
    const message =
      'the disk of the agent has no room for it; what was accepted before stays: give the volume more room';
    return { accepted: false, reason: 'DiskFull', message };
  }
  const message = 'the agent could not write it to its disk; its log says why';
  return { accepted: false, reason: 'NotDurable', message };
}

/** Replaces the inventory and queues these keys; each gets a new result, even if it equals the last one. */
function adopt(state: State, next: Inventory, keys: readonly ObjectKey[]): void {
  state.store.replace(next);
  state.store.forgetApplied(keys);
  state.deps.results.renew(keys);
  for (const key of keys) state.queue.renew(key);
  returnDrift(state);
}

/** Queues the objects whose drift was left, and is to be put back now. */
function returnDrift({ drift, queue, store }: State): void {
  for (const key of drift.returned(store.current())) if (!queue.isActive(key)) queue.add(key);
}

/** The inventory remembers that an object was applied whose drift may be left: else an object that others removed is made again. */
function noteApplied(
  { store }: State,
  record: InventoryRecord,
  result: Pick<ObjectResult, 'state' | 'digest'> | undefined,
) {
  if (record.applied === true || record.phase !== 'held') return;
  if (result?.state === 'applied' && result.digest === record.digest) store.writeApplied(record);
}

function trust(state: State): void {
  if (state.trusted) return;
  state.trusted = true;
  queueOwned(state);
}

function queueOwned({ trusted, store, queue }: State): void {
  if (!trusted) return;
  const inventory = store.current();
  for (const { key, phase } of inventory.records.values()) {
    if (phase === 'held' && contentOf(inventory, key) !== undefined) queue.add(key);
  }
}

function continueRemovals(state: State): void {
  const { queue, store } = state;
  const inventory = store.current();
  state.mayRemove = true;
  for (const { key, phase } of inventory.records.values()) {
    // The server has had time to send the contents that were lost here; those that are still missing are reported.
    if (phase === 'removing' || contentOf(inventory, key) === undefined) queue.add(key);
  }
  store.writeRecovered();
}

function observe(state: State, live: LiveState): void {
  const { queue, deps, prerequisites, store, lateWrites } = state;
  if (live.paused !== (state.live?.paused ?? false))
    deps.log.info(live.paused ? 'paused: writing has stopped' : 'no longer paused: writing continues');
  // A periodic look can return the state of before.
  const isNew = live !== state.live;
  state.live = live;
  if (!state.trusted) {
    state.missed = true;
    return;
  }
  const met = [
    ...prerequisites.metBy(live),
    ...(isNew ? [...prerequisites.redefinedIn(live), ...prerequisites.renewedIn(live)] : []),
  ];
  for (const key of met) if (!queue.isActive(key)) queue.add(key);
  if (isNew) for (const key of prerequisites.freedIn(live)) queue.hasten(key);
  const { changed } = live;
  // A new list: comparing adds to `skipped`.
  const keys =
    state.missed || changed === undefined
      ? [...store.current().records.keys(), ...lateWrites.keys()]
      : [...new Set([...changed, ...state.skipped])];
  // If a comparison throws, no later state names its changes again.
  state.missed = true;
  for (const key of keys) compare(state, live, key);
  state.missed = false;
}

function compare(state: State, live: LiveState, key: ObjectKey): void {
  const { skipped, store, queue, drift, health, lateWrites } = state;
  const inventory = store.current();
  skipped.delete(key);
  if (lateWrites.observe(live, key)) skipped.add(key);
  const record = inventory.records.get(key);
  if (record === undefined) return;
  if (queue.isActive(key)) skipped.add(key);
  else if (record.phase === 'removing') retryIfGone(state, live, key);
  else if (drift.needsWork(inventory, live, key)) queue.add(key);
  else health.observe(key, live.objects.get(key));
}

/** Retries a removal once when a state does not contain the object: a live state can lack an object that exists. */
function retryIfGone({ seenGone, queue }: State, live: LiveState, key: ObjectKey): void {
  if (live.objects.has(key)) seenGone.delete(key);
  else if (queue.isWaiting(key) && !seenGone.has(key)) {
    seenGone.add(key);
    queue.add(key);
  }
}

/** Applies or removes one object and notes the result. Never rejects. */
async function work(state: State, key: ObjectKey): Promise<WorkOutcome> {
  const { deps, store } = state;
  const record = store.current().records.get(key);
  // Its last result stays: the operation has failed with it.
  if (record === undefined || (record.stopped === true && record.phase === 'held')) return 'done';
  const before = state.live?.objects.get(key);
  try {
    const step = await stepRecorded(state, record);
    if (step?.identity !== undefined) store.writeIdentity(record, step.identity);
    // If a newer delta has changed the record, the key is in the queue again and this result is out of date.
    if (step === undefined || !isUnchanged(store.current(), record)) return 'done';
    if (step.result.state === 'removed') {
      await store.writeRemoval(record);
      if (store.current().records.has(key)) return 'done';
      forget(state, key);
      const { fleet } = store.current().state;
      if (fleet !== undefined && step.result.reason !== RELEASED) state.lateWrites.removed(fleet, record);
      state.hasRemoved = true;
    }
    if (step.result.reason === CONTENT_UNKNOWN_REASON) store.loseContent(record, deps.contentLost);
    if (step.result.state === 'applied' && record.givenUp !== undefined) store.endGivenUp(record);
    if (step.written === true) state.health.wrote(key, before);
    takeApplied(state, record, step, before);
    note(state, record, withHealth(step, before));
    return step.retry ? 'retry' : 'done';
  } catch (error) {
    deps.log.error('an object could not be reconciled', { object: displayKey(key), error });
    const message = 'it could not be worked on; the log of the agent says why';
    note(state, record, { state: record.phase === 'removing' ? 'removing' : 'failed', reason: 'Internal', message });
    return 'retry';
  }
}

/** Tells drift what became of an applied object. */
function takeApplied(
  state: State,
  record: InventoryRecord,
  { result, written, leaves }: LeavingStep,
  before: ObservedObject | undefined,
) {
  if (result.state !== 'applied') return;
  if (leaves !== undefined) noteApplied(state, record, { ...result, digest: record.digest });
  if (leaves !== undefined && result.drift !== undefined) state.drift.left(leaves, record, before, result.drift);
  else state.drift.applied(record, written === true);
}

/** A step, and the declared value of an object whose drift is left, or may be. */
type LeavingStep = Step & { readonly leaves?: JsonObject };

/** Applies or removes the object. What it gives up is in the inventory before it is written. */
async function stepRecorded(state: State, record: InventoryRecord): Promise<LeavingStep | undefined> {
  const { deps, store, mayRemove, handovers } = state;
  const { key } = record;
  let left: JsonObject | undefined;
  const leaves = (value: JsonObject): boolean => {
    const settings = deps.settings();
    left = mayLeaveDrift(value, record, settings) ? value : undefined;
    return left !== undefined && leavesDrift(value, record, settings);
  };
  const options = { mayRemove, identity: store.identities.get(key), handovers, leavesDrift: leaves };
  const tryOnce = () => stepObject(deps.cluster, store.current(), key, options);
  const marked = (step: Step | undefined): LeavingStep | undefined =>
    step === undefined || left === undefined ? step : { ...step, leaves: left };
  const step = await tryOnce();
  if (step?.givesUp === undefined) return marked(step);
  await store.writeGivenUp(record, step.givesUp);
  return isUnchanged(store.current(), record) ? marked(await tryOnce()) : undefined;
}

/** After removals, what could not be applied is tried soon: a removed object can have had what it needs. */
function tryFailedAgain(state: State): void {
  if (!state.hasRemoved) return;
  state.hasRemoved = false;
  for (const key of state.prerequisites.failed()) state.queue.hasten(key);
}

function forget(state: State, key: ObjectKey): void {
  const { drift, health, store, prerequisites, queue, handovers } = state;
  for (const part of [drift, health, prerequisites, handovers]) part.forget(key);
  for (const other of handovers.takeWaiters(key)) queue.add(other);
  store.identities.delete(key);
  state.skipped.delete(key);
  state.seenGone.delete(key);
  state.occupied.delete(key);
  // One of them can wait for the removal of this object.
  for (const other of state.occupied) queue.add(other);
}

function note(
  { deps, prerequisites, occupied, handovers, queue }: State,
  { key, digest }: InventoryRecord,
  result: Result,
): void {
  const { results, log } = deps;
  prerequisites.note(key, result);
  if (result.reason === OCCUPIED) occupied.add(key);
  else occupied.delete(key);
  const before = results.get(key);
  results.note({ key, digest, ...result });
  const isSame = before?.state === result.state && before.message === result.message;
  if (!isSame || before.digest !== digest) for (const other of handovers.takeWaiters(key)) queue.add(other);
  if (isSame || result.state === 'applied') return;
  const what = { object: displayKey(key), ...result };
  if (result.reason === RELEASED) log.warn('an object that is not declared any more stays', what);
  if (result.state === 'failed' || result.state === 'conflict') log.warn('an object is not as declared', what);
}

/**
 * Whether a delta only changes objects that are owned already. These need not wait for the inventory: they are known to be
 * owned whatever happens. New and removed objects must be in the inventory first.
 */
function changesOwnedOnly(before: Inventory, { change }: Acceptance): boolean {
  return change.put.every(({ key, phase }) => phase === 'held' && before.records.get(key)?.phase === 'held');
}

/** Adds the observed health of an unchanged object: that of a written one is not known yet, and a removed one has none. */
function withHealth({ result, written }: Step, observed: ObservedObject | undefined): Result {
  if (result.state !== 'applied' || written === true || result.drift?.drift === 'removed') return result;
  if (observed?.health === undefined || observed.stale === true) return result;
  return { ...result, health: observed.health };
}
