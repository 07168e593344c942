import { isStatusKey, type ObjectKey } from '../../model/objects/object-key.ts';
import type { LiveState } from '../../ports/cluster-api.ts';
import { mayApply } from './server-state.ts';
import type { State } from './state.ts';

/** When a state does not contain an object that is being removed, the removal is tried again this time after its last try. */
const GONE_PAUSE_MS = 1_000;

/** Compares a live state with the inventory, and queues the objects that differ. */
export function observe(state: State, live: LiveState): void {
  if (live.paused !== (state.live?.paused ?? false))
    state.deps.log.info(live.paused ? 'paused: writing has stopped' : 'no longer paused: writing continues');
  // A periodic look can return the state of before.
  const isNew = live !== state.live;
  state.live = live;
  if (!mayApply(state.server)) return;
  queueMet(state, live, isNew);
  const keys = keysFor(state, live);
  // If a comparison throws, no later state names its changes again.
  state.due = 'everything';
  state.due = new Set(keys.filter((key) => !compare(state, live, key)));
}

/** Queues the objects whose prerequisite is there now, and brings forward what may not be refused any more. */
function queueMet({ prerequisites, queue }: State, live: LiveState, isNew: boolean): void {
  const met = isNew ? [...prerequisites.redefinedIn(live), ...prerequisites.renewedIn(live)] : [];
  for (const key of [...prerequisites.metBy(live), ...met]) if (!queue.isActive(key)) queue.add(key);
  if (isNew) for (const key of prerequisites.freedIn(live)) queue.hasten(key);
}

function keysFor({ due, store, lateWrites }: State, { changed, changedStatuses }: LiveState): readonly ObjectKey[] {
  if (due === 'everything' || changed === undefined) return [...store.current().records.keys(), ...lateWrites.keys()];
  return [...new Set([...changed, ...(changedStatuses ?? []), ...due])];
}

/** Returns false if the object is being worked on: it is compared with the next state too. */
function compare({ store, queue, lateWrites, drift, health }: State, live: LiveState, key: ObjectKey): boolean {
  const inventory = store.current();
  const record = inventory.records.get(key);
  const isBack = lateWrites.isBack(live, key);
  if (record === undefined && !isBack) return true;
  if (queue.isActive(key)) return false;
  if (isBack && !queue.isWaiting(key)) queue.add(key);
  else if (isBack) queue.hasten(key);
  else if (record?.phase === 'removing') {
    // A state can lack an object that exists, so the pauses between tries grow.
    if (!live.objects.has(key) && !isStatusKey(key)) queue.hasten(key, GONE_PAUSE_MS);
  } else if (drift.needsWork(inventory, live, key)) queue.add(key);
  else health.observe(key, live.objects.get(key));
  return true;
}
