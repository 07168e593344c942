import type { JsonValue } from '../../model/json.ts';
import type { Collection, Derived, Graph, Reader } from '../collections/types.ts';
import { type Deadline, hasPassed } from '../deadlines.ts';
import type { AgentValue, EngineInputs } from '../inputs.ts';
import type { BoundShoot } from './binding.ts';
import { lastOperationOf } from './operation.ts';
import type { CareSettingsRead } from './settings.ts';
import { isAsleep, type Sleep } from './sleep.ts';
import { type Finding, type Judged, judge } from './thresholds.ts';

/** Owner of the deadlines of care. */
export const CARE = 'care';

/** After so many monitor periods without its agent a cluster is not known any more. */
const SILENT_PERIODS = 5;

interface Reads extends Pick<EngineInputs, 'agents' | 'observed' | 'elapsed'> {
  readonly bindings: Derived<BoundShoot>;
  readonly sleepers: Derived<Sleep>;
  readonly settings: Collection<JsonValue>;
}

/**
 * Derives the conditions of findings. Partition: type of the condition. Key: the Shoot's. A condition reads what was written
 * last, and a finding of a cluster whose agent is silent does not hold for ever.
 */
export function deriveConditions(graph: Graph, findings: readonly Derived<Finding>[], reads: Reads) {
  const { bindings, sleepers, settings, observed, elapsed } = reads;
  const silences = deriveSilences(graph, reads);
  const conditions = graph.derive<Finding, Judged>({
    name: 'shootConditions',
    from: findings,
    reads: [bindings, sleepers, settings, observed, elapsed, silences],
    seesAll: true,
    compute: ({ partition: type, key, value: finding }, read, emit) => {
      const shoot = read.get(bindings, '', key);
      // Nothing reads the cluster of a Shoot that sleeps.
      const isJudged = shoot !== undefined && !isAsleep(read, sleepers, key);
      const silent = isJudged ? silenceOf(read, shoot, { silences, elapsed }) : undefined;
      const { thresholds } = read.get(settings, '', '') as unknown as CareSettingsRead;
      const written = read.get(observed, 'Shoot', key);
      const judged = judge(type, silent ?? finding, {
        written: written?.conditions.find((condition) => condition.type === type),
        operation: lastOperationOf(written),
        thresholdMillis: thresholds[type],
        hasPassed: (at) => hasPassed(read, elapsed, CARE, thresholdKey(type, key), at),
      });
      emit(type, key, judged);
    },
  });
  const deadlines = graph.derive<{ readonly until?: number }, Deadline>({
    name: 'careDeadlines',
    from: [silences, conditions],
    seesAll: true,
    compute: ({ partition: type, key, value: { until } }, _read, emit) => {
      if (until !== undefined) emit(CARE, type === '' ? silenceKey(key) : thresholdKey(type, key), { at: until });
    },
  });
  return { conditions, deadlines, silences };
}

/** The clusters of Shoots whose agents are silent, and the moment from which they are not known. Partition empty, key the cluster. */
function deriveSilences(graph: Graph, { bindings, settings, agents }: Reads): Derived<{ readonly until: number }> {
  const bound = graph.index('shootsByCluster', bindings, ({ value: { cluster, seed } }) =>
    seed === undefined ? [cluster] : [cluster, seed],
  );
  return graph.derive<AgentValue, { readonly until: number }>({
    name: 'silentClustersOfShoots',
    from: agents,
    reads: [bound, settings],
    compute: ({ key: cluster, value: { connected, since } }, read, emit) => {
      if (connected || since === 0 || read.count(bound, cluster) === 0) return;
      const { monitorPeriodMillis } = read.get(settings, '', '') as unknown as CareSettingsRead;
      emit('', cluster, { until: Math.ceil((since + SILENT_PERIODS * monitorPeriodMillis) / 1000) });
    },
  });
}

function silenceKey(cluster: string): string {
  return `silent/${cluster}`;
}

function thresholdKey(type: string, shoot: string): string {
  return `${type}/${shoot}`;
}

/** What {@link silenceOf} reads. */
export interface SilenceReads extends Pick<EngineInputs, 'elapsed'> {
  readonly silences: Derived<{ readonly until: number }>;
}

/** The finding for a Shoot of which an agent has been silent for too long; undefined if none has. */
export function silenceOf(
  read: Reader,
  { cluster, seed = cluster }: Pick<BoundShoot, 'cluster' | 'seed'>,
  { silences, elapsed }: SilenceReads,
): Finding | undefined {
  const silent = [cluster, seed].find((name) => {
    const at = read.get(silences, '', name)?.until;
    return at !== undefined && hasPassed(read, elapsed, CARE, silenceKey(name), at);
  });
  if (silent === undefined) return undefined;
  const message = `The agent of cluster ${silent} stopped sending heartbeats.`;
  return { outcome: 'unknown', reason: 'StatusUnknown', message };
}
