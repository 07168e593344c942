import type { Collection, Derived, Graph, Index, Reader } from '../../../../engine/collections/types.ts';
import { type Deadline, hasPassed } from '../../../../engine/deadlines.ts';
import type { EngineInputs } from '../../../../engine/inputs.ts';
import type { ObjectResult } from '../../../../model/agent/agent.ts';
import { type JsonValue, textOf } from '../../../../model/text/json.ts';
import { parseRfc3339 } from '../../../../model/text/time.ts';
import { CARE } from '../absences.ts';
import { type BoundShoot, clustersOf } from '../binding.ts';
import { careSettingsOf } from '../settings.ts';
import { lastErrorsOf, lastOperationOf } from '../written-operation.ts';
import { secondOf } from './tasks.ts';

/** Seconds after which finalizers are the cause of a removal that does not end. */
const LONG_HELD_SECONDS = 5 * 60;

interface Reads extends Pick<EngineInputs, 'results' | 'observed' | 'elapsed'> {
  readonly bindings: Derived<BoundShoot>;
  readonly byCluster: Index<BoundShoot>;
  readonly gone: Derived<BoundShoot>;
  readonly settings: Collection<JsonValue>;
}

/**
 * Derives the moments at which operations change by themselves. The times of an operation count from what was written last. The time
 * of a task counts from its first bad result, which the store keeps. Tasks that began to fail in the same second share a moment.
 */
export function deriveOperationDeadlines(
  graph: Graph,
  { bindings, byCluster, gone, settings, results, observed }: Reads,
) {
  const goneByCluster = graph.index('goneShootsOfCluster', gone, ({ value }) => clustersOf(value));
  // An applied object that has drifted has a `since`, too.
  const failing = graph.index<ObjectResult>('failingResults', results, ({ partition: cluster, value }) =>
    value.since === undefined || value.state === 'applied' ? [] : [`${cluster}/${secondOf(value.since)}`],
  );
  const ofTasks = graph.derive<number, Deadline>({
    name: 'deadlinesOfTasks',
    from: graph.counts('failingResultCounts', failing),
    reads: [byCluster, goneByCluster, settings],
    seesAll: true,
    compute: ({ key }, read, emit) => {
      const [cluster = '', second] = key.split('/');
      if (read.count(byCluster, cluster) + read.count(goneByCluster, cluster) === 0) return;
      const { taskTimeoutMillis } = careSettingsOf(read, settings);
      emit(CARE, taskKey(cluster, Number(second)), { at: Number(second) + secondOf(taskTimeoutMillis) });
      emit(CARE, heldKey(cluster, Number(second)), { at: Number(second) + LONG_HELD_SECONDS });
    },
  });
  const ofOperations = graph.derive<BoundShoot, Deadline>({
    name: 'deadlinesOfOperations',
    from: [bindings, gone],
    reads: [observed, settings],
    seesAll: true,
    compute: ({ key, value: { isIgnored } }, read, emit) => {
      if (isIgnored) return;
      for (const [word, at] of Object.entries(momentsOf(read, key, { observed, settings }))) {
        emit(CARE, `${word}/${key}`, { at });
      }
    },
  });
  return [ofTasks, ofOperations] as const;
}

function taskKey(cluster: string, second: number): string {
  return `task/${cluster}/${second}`;
}

function heldKey(cluster: string, second: number): string {
  return `finalizers/${cluster}/${second}`;
}

/** `attempt`: tasks have had their time since the operation began. `stuck`: nothing has moved for the task timeout. */
type Moment = 'attempt' | 'stuck' | 'cycle' | 'rateLimit';

function momentsOf(
  read: Reader,
  key: string,
  { observed, settings }: Pick<Reads, 'observed' | 'settings'>,
): Partial<Record<Moment, number>> {
  const written = read.get(observed, 'Shoot', key);
  const last = lastOperationOf(written);
  const { taskTimeoutMillis, retryMillis, retryPeriodMillis } = careSettingsOf(read, settings);
  const updated = parseRfc3339(last?.lastUpdateTime ?? '');
  const began = parseRfc3339(textOf(written?.fields.retryCycleStartTime));
  const isLimited = lastErrorsOf(written).some(({ codes }) => codes.includes('ERR_INFRA_RATE_LIMITS_EXCEEDED'));
  return {
    ...(last?.state === 'Processing' && updated !== undefined ? { stuck: secondOf(updated + taskTimeoutMillis) } : {}),
    ...(began === undefined
      ? {}
      : { attempt: secondOf(began + taskTimeoutMillis), cycle: secondOf(began + retryMillis) }),
    // Not before a moment that is later than the period.
    ...(last?.state === 'Failed' && isLimited && updated !== undefined
      ? { rateLimit: Math.floor((updated + retryPeriodMillis) / 1000) + 1 }
      : {}),
  };
}

/** Which moments of a Shoot have passed. */
export function passedMoments(read: Reader, key: string, reads: Pick<Reads, 'observed' | 'settings' | 'elapsed'>) {
  const moments = momentsOf(read, key, reads);
  const isPassed = (word: Moment): boolean => {
    const at = moments[word];
    return at !== undefined && hasPassed(read, reads.elapsed, CARE, `${word}/${key}`, at);
  };
  return {
    stuck: isPassed('stuck'),
    cycle: isPassed('cycle'),
    rateLimit: isPassed('rateLimit'),
    /** An operation without a begin was begun by no one that knows this rule. */
    attempt: moments.attempt === undefined || isPassed('attempt'),
  };
}

/** Whether tasks of a cluster that began to fail in this second have failed for the task timeout. */
export function isLate(
  read: Reader,
  cluster: string,
  second: number,
  { settings, elapsed }: Pick<Reads, 'settings' | 'elapsed'>,
): boolean {
  const { taskTimeoutMillis } = careSettingsOf(read, settings);
  return hasPassed(read, elapsed, CARE, taskKey(cluster, second), second + secondOf(taskTimeoutMillis));
}

/** Whether finalizers have held a removal for long that the cluster reported first in this second. */
export function isHeldForLong(
  read: Reader,
  cluster: string,
  second: number,
  { elapsed }: Pick<Reads, 'elapsed'>,
): boolean {
  return hasPassed(read, elapsed, CARE, heldKey(cluster, second), second + LONG_HELD_SECONDS);
}
