import type { ObjectResult } from '../../model/agent/agent.ts';
import { displayKey, type ObjectKey } from '../../model/objects/object-key.ts';
import type { JsonObject } from '../../model/text/json.ts';
import type { InventoryRecord, ObservedObject } from '../../ports/cluster-api.ts';
import { leavesDrift, mayLeaveDrift } from './found-drift.ts';
import { isUnchanged } from './inventory-store.ts';
import { CONTENT_UNKNOWN_REASON, RELEASED, type Step, stepObject } from './object-step.ts';
import { mayRemove } from './server-state.ts';
import type { State } from './state.ts';
import type { WorkOutcome } from './work-queue.ts';

type Result = Step['result'] & Pick<ObjectResult, 'health'>;

/** Applies or removes one object and notes the result. Never rejects. */
export async function workOn(state: State, key: ObjectKey): Promise<WorkOutcome> {
  const { deps, store, lateWrites, live } = state;
  const isGone = live === undefined || !lateWrites.isBack(live, key) || (await lateWrites.remove(key));
  const record = store.current().records.get(key);
  if (record === undefined) return isGone ? 'done' : 'retry';
  // Its last result stays: the operation has failed with it.
  if (record.stopped === true && record.phase === 'held') return 'done';
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
      if (fleet !== undefined && step.result.reason !== RELEASED) lateWrites.removed(fleet, record);
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
  const { deps, store, handovers } = state;
  const { key } = record;
  let left: JsonObject | undefined;
  const leaves = (value: JsonObject): boolean => {
    const settings = deps.settings();
    left = mayLeaveDrift(value, record, settings) ? value : undefined;
    return left !== undefined && leavesDrift(value, record, settings);
  };
  const identity = store.identities.get(key);
  const options = { mayRemove: mayRemove(state.server), identity, handovers, leavesDrift: leaves };
  const tryOnce = () => stepObject(deps.cluster, store.current(), key, options);
  const marked = (step: Step | undefined): LeavingStep | undefined =>
    step === undefined || left === undefined ? step : { ...step, leaves: left };
  const step = await tryOnce();
  if (step?.givesUp === undefined) return marked(step);
  await store.writeGivenUp(record, step.givesUp);
  return isUnchanged(store.current(), record) ? marked(await tryOnce()) : undefined;
}

/** The inventory remembers that an object was applied whose drift may be left: else an object that others removed is made again. */
export function noteApplied(
  { store }: State,
  record: InventoryRecord,
  result: Pick<ObjectResult, 'state' | 'digest'> | undefined,
) {
  if (record.applied === true || record.phase !== 'held') return;
  if (result?.state === 'applied' && result.digest === record.digest) store.writeApplied(record);
}

function forget(state: State, key: ObjectKey): void {
  const { drift, health, store, prerequisites, queue, handovers } = state;
  for (const part of [drift, health, prerequisites, handovers]) part.forget(key);
  for (const other of handovers.takeWaiters(key)) queue.add(other);
  store.identities.delete(key);
}

function note(
  { deps, prerequisites, handovers, queue }: State,
  { key, digest }: InventoryRecord,
  result: Result,
): void {
  const { results, log } = deps;
  prerequisites.note(key, result);
  const before = results.get(key);
  results.note({ key, digest, ...result });
  const isSame = before?.state === result.state && before.message === result.message;
  if (!isSame || before.digest !== digest) for (const other of handovers.takeWaiters(key)) queue.add(other);
  if (isSame || result.state === 'applied') return;
  const what = { object: displayKey(key), ...result };
  if (result.reason === RELEASED) log.warn('an object that is not declared any more stays', what);
  if (result.state === 'failed' || result.state === 'conflict') log.warn('an object is not as declared', what);
}

/** Adds the observed health of an unchanged object. The health of a written object is not known yet, and a removed object has none. */
function withHealth({ result, written }: Step, observed: ObservedObject | undefined): Result {
  if (result.state !== 'applied' || written === true || result.drift?.drift === 'removed') return result;
  if (observed?.health === undefined || observed.stale === true) return result;
  return { ...result, health: observed.health };
}
