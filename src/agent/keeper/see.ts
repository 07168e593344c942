import type { ObjectKey } from '../../model/object-key.ts';
import type { LiveState } from '../../ports/cluster-api.ts';
import type { KeeperState } from './state.ts';
import type { WorkQueue } from './work-queue.ts';

/** Compares live state with what is held, and queues where they differ. */
export function see(state: KeeperState, queue: WorkQueue, live: LiveState): void {
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
