import type { EntryAddress } from '../../engine/collections/types.ts';
import type { Engine } from '../../engine/graph.ts';
import type { FleetPolicy } from '../../model/fleet/desired.ts';
import { engineKindIds, engineKindRow, isEngineKind } from '../../model/fleet/engine-kinds.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/text/json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Loop } from '../loop.ts';
import type { ObservedStatuses } from './observed-statuses.ts';
import { declaredDocument, writtenBefore } from './status-documents.ts';

/** The kinds whose conditions follow from those written last. */
const RECORDED = engineKindIds.filter((id) => engineKindRow(id).conditionForm === 'timed');

/** Changes within this time are recorded together. */
const GATHER_MS = 300;
/** After a start statuses are recorded when the agents are connected again, at the latest after this time. */
const SETTLE_MS = 20_000;

/**
 * Records, as written last, statuses that are published nowhere: there is no status branch, or the policy disables it. Statuses
 * of Shoots follow from those written last, so that their time would stand still otherwise.
 */
export function createUnpublishedStatuses({
  engine,
  loop,
  observed,
  clock,
  ...deps
}: {
  readonly engine: Engine;
  readonly loop: Loop;
  readonly observed: Pick<ObservedStatuses, 'written'>;
  readonly clock: Clock;
  readonly hasBranch: boolean;
  /** Sources of custom resources: their status is in the resource. */
  readonly customSources: ReadonlySet<string>;
  /** What the policy in force says about the status branch. */
  readonly policy: () => FleetPolicy['status'];
  /** Only the leader writes statuses. */
  readonly leads: () => boolean;
  /** Every cluster that was known at the start is connected, and none has pending changes. */
  readonly isSettled: () => boolean;
}): { stop(): void } {
  const changes = engine.graph.watch(engine.statuses);
  const settleBy = clock.monotonic() + SETTLE_MS;
  const due = new Map<string, EntryAddress>();
  let settled = false;
  let wasRecording = false;
  let cancel: (() => void) | undefined;

  // What is published is recorded then.
  const isRecording = (): boolean => deps.leads() && !(deps.hasBranch && deps.policy().enabled);
  const run = (): void => {
    cancel = undefined;
    if (!isRecording()) {
      due.clear();
      wasRecording = false;
      return;
    }
    settled ||= deps.isSettled() || clock.monotonic() >= settleBy;
    if (!settled) {
      schedule();
      return;
    }
    const now = clock.now();
    const found = [...due.values()].map((address) => ({ ...address, status: statusAt(address, now) }));
    due.clear();
    for (const { partition: kind, key, status } of found) {
      if (status !== undefined && isEngineKind(kind)) observed.written(kind, key, status);
    }
  };
  const schedule = (): void => {
    if (due.size > 0) cancel ??= clock.schedule(GATHER_MS, run);
  };
  const statusAt = ({ partition: kind, key }: EntryAddress, now: number): JsonObject | undefined => {
    const value = engine.statuses.get(kind, key);
    const isPublished = value?.origin === undefined || deps.customSources.has(value.origin.source);
    if (isPublished || value.isOfOthers === true) return undefined;
    const { conditions = [], fields = {} } = engine.inputs.observed.get(kind, key) ?? {};
    const before = { status: { ...fields, conditions: conditions as unknown as JsonValue } };
    const { status } = declaredDocument(value, writtenBefore(before), now);
    return isJsonObject(status) ? status : undefined;
  };
  loop.addSink('readers', () => {
    const changed = changes.take();
    const records = isRecording();
    const all = records && !wasRecording ? RECORDED.flatMap((kind) => [...engine.statuses.entries(kind)]) : [];
    wasRecording = records;
    if (!records) return;
    for (const { partition, key } of [...all, ...changed]) {
      if (RECORDED.some((kind) => kind === partition)) due.set(`${partition}/${key}`, { partition, key });
    }
    schedule();
  });
  return { stop: () => cancel?.() };
}
