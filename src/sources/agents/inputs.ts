import type { InputDelta } from '../../model/agent/agent.ts';
import type { ClusterName } from '../../model/fleet/ids.ts';
import { isOnePart } from '../../model/fleet/input-parts.ts';
import { type Excess, excessOf } from '../../model/limits/quotas.ts';
import { atOnce, inSlices } from '../../model/values/in-slices.ts';
import type { AgentListener } from '../../relay/session.ts';
import type { ServerParts } from '../../runtime/parts.ts';
import type { Quotas } from './quotas.ts';
import type { SnapshotSize } from './sizes.ts';

interface InputDeps extends Pick<ServerParts, 'ledger' | 'loop' | 'clock' | 'log'> {
  readonly quotas: Quotas;
  readonly partRecords: number;
  /** A step is staged: the cluster has a complete input snapshot. */
  readonly complete: (cluster: ClusterName) => void;
  /** Taking a step threw, which is a defect: the rest of it is dropped. */
  readonly failed: (cluster: ClusterName, error: unknown) => void;
}

/** A step within the quotas. */
interface Step {
  readonly cluster: ClusterName;
  readonly size: SnapshotSize;
  /** The parts that are not staged. */
  readonly rest: Iterator<undefined, void>;
  readonly taken: (excess?: Excess) => void;
}

/**
 * Takes the steps of input snapshots. A large one is divided into parts, each with a commit of its own, and the clusters take
 * turns: the changes of all others wait for one part, however large the snapshots are that one cluster sends.
 */
export function createInputTaker(deps: InputDeps) {
  const { ledger, quotas, partRecords, clock, log } = deps;
  /** The step of each cluster that is measured. */
  const measured = new Map<string, InputDelta>();
  const parts = createPartQueue(deps);

  const begin = (cluster: ClusterName, delta: InputDelta, size: SnapshotSize, taken: Step['taken']): void => {
    // A cluster without registration was deregistered: its streams are about to end.
    if (ledger.registration(cluster) === undefined) return;
    const excess = excessOf(size, quotas.limits);
    if (excess !== undefined) {
      taken(excess);
      return;
    }
    const step: Step = {
      cluster,
      size,
      rest: ledger.takeInput(cluster, delta, { now: clock.now, partRecords }),
      taken,
    };
    if (isOnePart(delta, partRecords)) parts.stageAll(step);
    else parts.add(step);
  };
  const input: AgentListener['input'] = (cluster, delta, taken) => {
    const work = quotas.after(cluster, delta);
    if (isOnePart(delta, partRecords)) {
      begin(cluster, delta, atOnce(work), taken);
      return;
    }
    log.info('a large step of an input snapshot is taken in parts', {
      cluster,
      upserts: delta.upserts.length,
      removals: delta.removals.length,
    });
    measured.set(cluster, delta);
    inSlices(clock, work)
      .then((size) => {
        if (measured.get(cluster) !== delta) return;
        measured.delete(cluster);
        begin(cluster, delta, size, taken);
      })
      .catch((error: unknown) => deps.failed(cluster, error));
  };
  return {
    input,
    /** The rest of the cluster's step is dropped. */
    drop: (cluster: ClusterName): void => {
      measured.delete(cluster);
      parts.drop(cluster);
      quotas.forget(cluster);
    },
  };
}

/** After a part its cluster pauses for this multiple of the time that the commit took, so that others get their share. */
const PAUSE_FACTOR = 2;
const LONGEST_PAUSE_MS = 100;

/** Stages the parts of large steps one by one, each after the commit of the last one. The clusters take turns. */
function createPartQueue({ ledger, loop, quotas, complete, failed, clock }: InputDeps) {
  /** The steps in turn, and when their next part is due, in monotonic milliseconds. */
  const waiting = new Map<string, Step & { readonly at: number }>();
  let isStaged = false;
  let cancel = (): void => undefined;

  const end = ({ cluster, size }: Step): void => {
    quotas.taken(cluster, size);
    complete(cluster);
  };
  const stageNext = (): void => {
    cancel();
    if (isStaged || waiting.size === 0) return;
    const now = clock.monotonic();
    const step = waiting.values().find(({ at }) => at <= now);
    if (step === undefined) {
      cancel = clock.schedule(Math.min(...waiting.values().map(({ at }) => at)) - now, stageNext);
      return;
    }
    waiting.delete(step.cluster);
    // It was deregistered meanwhile.
    if (ledger.registration(step.cluster) === undefined) stageNext();
    else stagePart(step, now);
  };
  const stagePart = (step: Step, began: number): void => {
    let isDone = false;
    const stage = (): void => {
      isDone = step.rest.next().done === true;
      if (isDone) end(step);
    };
    const published = (): void => {
      isStaged = false;
      const now = clock.monotonic();
      const known = waiting.get(step.cluster);
      const pause = Math.min(PAUSE_FACTOR * (now - began), LONGEST_PAUSE_MS);
      if (isDone) clock.schedule(pause, step.taken);
      else if (known !== undefined) waiting.set(step.cluster, { ...known, at: now + pause });
      stageNext();
    };
    try {
      loop.transact(stage, { published });
    } catch (error) {
      failed(step.cluster, error);
      stageNext();
      return;
    }
    isStaged = true;
    if (!isDone) waiting.set(step.cluster, { ...step, at: began });
  };
  return {
    add: (step: Step): void => {
      waiting.set(step.cluster, { ...step, at: clock.monotonic() });
      stageNext();
    },
    /** Stages all parts in one commit. The answer comes after it, so that steps do not pile up for the next one. */
    stageAll: (step: Step): void =>
      loop.transact(
        () => {
          atOnce(step.rest);
          end(step);
        },
        { published: step.taken },
      ),
    drop: (cluster: ClusterName): void => void waiting.delete(cluster),
  };
}
