import type { AgentSettings } from '../../model/agent/agent-settings.ts';
import type { FleetName } from '../../model/fleet/ids.ts';
import type { SequencedDelta } from '../../model/fleet/output.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { isDiskFull } from '../../ports/agent-disk.ts';
import type { LiveState } from '../../ports/cluster-api.ts';
import type { ServerListener } from '../../relay/session.ts';
import { observe } from './comparison.ts';
import { usuallyLeavesDrift } from './found-drift.ts';
import { type Acceptance, acceptDelta, contentOf, type Inventory, type Rejection } from './inventory.ts';
import { noteApplied, workOn } from './object-work.ts';
import type { Recovered } from './recovery.ts';
import { mayApply, mayRemove, type ServerEvent, serverStateAfter } from './server-state.ts';
import { createState, type ReconcilerDeps, type State } from './state.ts';

export type Reconciler = ReturnType<typeof createReconciler>;

/** Makes the cluster match the accepted output snapshot: applies, removes, corrects drift and reports results. */
export function createReconciler(deps: ReconcilerDeps, recovered: Recovered) {
  const state: State = createState(deps, recovered, (key) => workOn(state, key));
  const { store, drift, health, queue, lateWrites } = state;
  const acceptDelta: ServerListener['delta'] = (delta, fleet) => {
    const { link } = state;
    return store.inTurn(async () => {
      const answer = await accept(state, delta, fleet, link);
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
      if (mayApply(state.server)) queueOwned(state);
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
    /** The link to the server is established. */
    connected: (): void => take(state, 'connected'),
    /** The link has ended, or the next one is about to be opened. */
    disconnected: (): void => take(state, 'disconnected'),
    /**
     * Continues the removals that were pending at the connect: the server has had time to cancel them. Makes the recovered
     * inventory durable. Does nothing without a link to the server.
     */
    continueRemovals: (): void => continueRemovals(state),
    isPaused: (): boolean => state.live?.paused ?? false,
    /** Whether drift is corrected. */
    repairs: (): boolean => mayApply(state.server),
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

/** Takes an event of the server. Work begins with the first one that makes the contents right. */
function take(state: State, event: ServerEvent): void {
  const before = state.server;
  state.server = serverStateAfter(before, event);
  if (event === 'disconnected') state.link += 1;
  if (!mayApply(before) && mayApply(state.server)) queueOwned(state);
}

async function accept(
  state: State,
  delta: SequencedDelta,
  fleet: FleetName,
  link: number,
): ReturnType<ServerListener['delta']> {
  const before = state.store.current();
  const answer = acceptDelta(before, delta, fleet, () => state.deps.random.id());
  if (!answer.accepted) return answer;
  const keys = answer.change.put.map(({ key }) => key);
  let next: Inventory;
  try {
    next = await state.store.writeDelta(answer, (written) => {
      if (mayApply(state.server) && changesOwnedOnly(before, answer)) adopt(state, written, keys);
    });
  } catch (error) {
    // The delta is not accepted: its changes are undone.
    if (state.store.current() !== before) adopt(state, before, keys);
    state.deps.log.error('an output could not be made durable', { error, position: delta.position });
    return notDurable(error);
  }
  if (state.store.current() === before) adopt(state, next, keys);
  take(state, state.link === link ? 'accepted' : 'acceptedLate');
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

function queueOwned({ store, queue }: State): void {
  const inventory = store.current();
  for (const { key, phase } of inventory.records.values()) {
    if (phase === 'held' && contentOf(inventory, key) !== undefined) queue.add(key);
  }
}

function continueRemovals(state: State): void {
  take(state, 'graceOver');
  if (!mayRemove(state.server)) return;
  const { queue, store } = state;
  const inventory = store.current();
  for (const { key, phase } of inventory.records.values()) {
    // The server has had time to send the contents that were lost here; those that are still missing are reported.
    if (phase === 'removing' || contentOf(inventory, key) === undefined) queue.add(key);
  }
  store.writeRecovered();
}

/**
 * Whether a delta only changes objects that are owned already. These need not wait for the inventory: they are known to be
 * owned whatever happens. New and removed objects must be in the inventory first.
 */
function changesOwnedOnly(before: Inventory, { change }: Acceptance): boolean {
  return change.put.every(({ key, phase }) => phase === 'held' && before.records.get(key)?.phase === 'held');
}
