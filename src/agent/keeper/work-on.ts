import type { ObjectResult } from '../../model/agent.ts';
import { displayKey, type ObjectKey } from '../../model/object-key.ts';
import type { InventoryRecord, ObservedObject } from '../../ports/cluster-api.ts';
import { isStillSo } from './entries.ts';
import { reconcile, type Step } from './reconcile.ts';
import type { KeeperState } from './state.ts';
import type { WorkOutcome, WorkQueue } from './work-queue.ts';

type Said = Step['result'] & Pick<ObjectResult, 'health'>;

/** Makes one object be as it is held, and notes what came of it. */
export async function workOn(state: KeeperState, queue: WorkQueue, key: ObjectKey): Promise<WorkOutcome> {
  const { deps, holding } = state;
  const record = holding.records.get(key);
  if (record === undefined) return 'done';
  const before = state.live?.objects.get(key);
  try {
    const step = await reconcile(deps.cluster, holding, key, state.mayRemove, state.entering.newIdOf(key));
    if (step?.identity !== undefined) state.entering.identified(record, step.identity);
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

/** What has to be in the inventory before it is said. False: something newer has overtaken it. */
async function enter(state: KeeperState, queue: WorkQueue, record: InventoryRecord, step: Step): Promise<boolean> {
  if (step.result.state !== 'removed') return true;
  await state.entering.gone(record);
  if (state.holding.records.has(record.key)) return false;
  forget(state, queue, record.key);
  return true;
}

function forget(state: KeeperState, queue: WorkQueue, key: ObjectKey): void {
  state.drift.forget(key);
  state.health.forget(key);
  state.passedOver.delete(key);
  state.seenGone.delete(key);
  state.entering.forget(key);
  state.awaited.forget(key);
  // A Namespace or definition may have waited for this one.
  for (const { key: other } of state.holding.records.values()) {
    if (state.deps.results.get(other)?.reason === 'Occupied') queue.add(other);
  }
}

function note({ deps, awaited }: KeeperState, { key, digest }: InventoryRecord, said: Said): void {
  const { results, log } = deps;
  awaited.note(key, said.reason);
  const before = results.get(key);
  results.note({ key, digest, ...said });
  if (before?.state === said.state && before.message === said.message) return;
  if (said.state !== 'failed' && said.state !== 'conflict') return;
  log.warn('an object is not as declared', { object: displayKey(key), ...said });
}
