import type { FleetName } from '../../model/ids.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { SequencedDelta } from '../../model/output.ts';
import type { ServerListener } from '../../relay/session.ts';
import { type Acceptance, acceptDelta } from './accept.ts';
import { contentOf, type Holding } from './holding.ts';
import type { KeeperState } from './state.ts';
import type { WorkQueue } from './work-queue.ts';

/** Judges a delta, makes it durable and takes it up; what could not be made durable is put back. */
export async function accept(
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

/** Holds this now and works on what is new in it; each of these is answered, though the answer may be the same as before. */
function takeUp(state: KeeperState, queue: WorkQueue, holding: Holding, work: readonly ObjectKey[]): void {
  state.holding = holding;
  state.deps.results.renew(work);
  for (const key of work) queue.renew(key);
}

/**
 * Changes of objects that are in the inventory already need not wait for it: whatever happens, they are known to be ours.
 * What is new or goes away must be entered first, and then everything goes in its order.
 */
function changesOnly(before: Holding, { change }: Acceptance): boolean {
  return change.put.every(({ key, phase }) => phase === 'held' && before.records.get(key)?.phase === 'held');
}

/** The server has been heard: what it did not object to is right. */
export function trust(state: KeeperState, queue: WorkQueue): void {
  if (state.trusted) return;
  state.trusted = true;
  workOnAll(state, queue);
}

export function workOnAll(state: KeeperState, queue: WorkQueue): void {
  if (!state.trusted) return;
  for (const { key, phase } of state.holding.records.values()) {
    if (phase === 'held' && contentOf(state.holding, key) !== undefined) queue.add(key);
  }
}

export function goOn(state: KeeperState, queue: WorkQueue): void {
  state.mayRemove = true;
  for (const { key, phase } of state.holding.records.values()) {
    // The server has had its time to say what was forgotten here.
    if (phase === 'removing' || contentOf(state.holding, key) === undefined) queue.add(key);
  }
  state.durable
    .serially(() => state.durable.whole(state.holding))
    .catch((error: unknown) => state.deps.log.error('what is held could not be made durable', { error }));
}
