import type { ClusterName } from '../../model/ids.ts';
import type { OutcomeCounts } from '../../model/outcome.ts';
import { rfc3339 } from '../../model/time.ts';
import { countProgress, type Engine, progressGroup } from '../graph.ts';
import { type ConditionValue, countOutcomes, summarise, worstFirst } from './conditions.ts';
import { countHealth, healthyCondition } from './health.ts';
import type { Progress } from './progress.ts';
import { safeModeConditions } from './safe-mode.ts';
import { discoveredConditions } from './unknown-kinds.ts';

/** How a cluster is doing. */
export interface ClusterStatus {
  readonly name: ClusterName;
  readonly counts: OutcomeCounts;
  readonly connected: boolean;
  /** Since when it is connected or not, milliseconds since 1970; 0: never seen. */
  readonly since: number;
  readonly warm: boolean;
  readonly inSync: boolean;
  /** Why nothing moves; empty if there is nothing to say. */
  readonly trouble: string;
  readonly conditions: readonly ConditionValue[];
}

/** The status of a registered cluster; undefined if there is none of that name. */
export function clusterStatus(engine: Engine, name: string): ClusterStatus | undefined {
  const cluster = engine.clusters.get('', name);
  if (cluster === undefined) return undefined;
  const agent = engine.inputs.agents.get('', name);
  const counts = countOutcomes(countProgress(engine, name));
  const connected = agent?.connected === true;
  const warm = agent?.warm === true;
  const seen = isSeen(engine, name);
  const inSync = connected && seen && counts.applied + counts.held === counts.targeted;
  const worst = worstProgress(engine, name);
  const declared: ConditionValue[] = cluster.isLastKnownGood
    ? [
        {
          type: 'Declared',
          status: 'Unknown',
          reason: 'LastKnownGood',
          message: `${cluster.origin.path} cannot be read: it holds as last known good`,
        },
      ]
    : [];
  return {
    name: cluster.value.name,
    counts,
    connected,
    since: agent?.since ?? 0,
    warm,
    inSync,
    trouble: agent?.trouble ?? '',
    conditions: [
      warmCondition(warm),
      connectedCondition(connected, agent?.since ?? 0, agent?.trouble ?? ''),
      inSyncCondition(inSync, { connected, seen }, counts, agent?.trouble ?? ''),
      ...discoveredConditions(engine, name),
      ...safeModeConditions(engine, name),
      ...healthyCondition(engine, name, connected && seen),
      ...summarise(counts, worst, countHealth(engine, name)),
      ...declared,
    ],
  };
}

/** The progress in a cluster that a person should hear of first; undefined if everything is applied. */
export function worstProgress(engine: Engine, cluster: string, source?: string): Progress | undefined {
  for (const state of worstFirst) {
    const group = progressGroup(cluster, state, source);
    if (engine.indexes.progress.count(group) > 0) return engine.indexes.progress.members(group)[0]?.value;
  }
  return undefined;
}

/** The worst of several, by the same order. */
export function worstOf(all: readonly Progress[]): Progress | undefined {
  for (const state of worstFirst) {
    const found = all.find((progress) => progress.state === state);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** False if no kind at all could be listed: then the agent answers, and its cluster does not. */
function isSeen(engine: Engine, cluster: string): boolean {
  const kinds = [...engine.inputs.kinds.entries(cluster)];
  return kinds.length === 0 || kinds.some(({ value }) => value.state === 'complete');
}

function warmCondition(warm: boolean): ConditionValue {
  return warm
    ? {
        type: 'ClusterWarm',
        status: 'True',
        reason: 'FirstSnapshotReceived',
        message: 'the first complete input snapshot was received',
      }
    : {
        type: 'ClusterWarm',
        status: 'False',
        reason: 'ClusterRegistered',
        message: 'no input snapshot was received yet',
      };
}

function connectedCondition(connected: boolean, since: number, trouble: string): ConditionValue {
  // Since when is the condition's own time: a message with a time in it would change at each restart of the server.
  if (connected) return { type: 'Connected', status: 'True', reason: 'AgentConnected', message: '' };
  const refused = trouble === '' ? '' : `; ${trouble}`;
  return since === 0
    ? {
        type: 'Connected',
        status: 'False',
        reason: 'NeverConnected',
        message: `its agent has not connected yet${refused}`,
      }
    : { type: 'Connected', status: 'False', reason: 'AgentDisconnected', message: `since ${rfc3339(since)}${refused}` };
}

function inSyncCondition(
  inSync: boolean,
  { connected, seen }: { readonly connected: boolean; readonly seen: boolean },
  { applied, targeted }: OutcomeCounts,
  trouble: string,
): ConditionValue {
  const message = `${applied} of ${targeted} applied`;
  if (!connected) {
    return { type: 'InSync', status: 'Unknown', reason: 'AgentDisconnected', message: `as last seen: ${message}` };
  }
  if (!seen)
    return { type: 'InSync', status: 'Unknown', reason: 'ClusterUnreadable', message: `as last seen: ${message}` };
  if (inSync) return { type: 'InSync', status: 'True', reason: 'InSync', message };
  return trouble === ''
    ? { type: 'InSync', status: 'False', reason: 'OutOfSync', message }
    : {
        type: 'InSync',
        status: 'False',
        reason: 'Blocked',
        message: `${message}; nothing more gets through: ${trouble}`,
      };
}
