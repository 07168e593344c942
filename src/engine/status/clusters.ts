import type { KindState } from '../../model/agent.ts';
import type { ConditionValue, OutcomeCounts } from '../../model/conditions.ts';
import { rfc3339 } from '../../model/time.ts';
import type { Collection, Derived, Graph, Index } from '../collections/types.ts';
import type { ClusterValue } from '../fleet/clusters.ts';
import type { AgentValue } from '../inputs.ts';
import { countOutcomes, countsField, summarise } from './conditions.ts';
import type { StatusPart } from './declared-status.ts';
import { countHealth, healthyCondition } from './health.ts';
import { tally, worstTrouble } from './lookups.ts';
import { type Progress, progressGroup, progressStates } from './progress.ts';
import { causeOf, type SafeModeReads } from './safe-mode-cause.ts';
import { discoveredCondition } from './unknown-kinds.ts';

/** What the status of clusters is derived from. */
export interface ClusterStatusInputs extends SafeModeReads {
  readonly clusters: Collection<ClusterValue>;
  readonly agents: Collection<AgentValue>;
  readonly kinds: Collection<KindState>;
  /** Groups are {@link progressGroup}. */
  readonly progressByState: Index<Progress>;
  /** Groups are {@link healthGroup}. */
  readonly health: Index<Progress>;
}

/** The status of every registered cluster. */
export function deriveClusterStatuses(graph: Graph, inputs: ClusterStatusInputs): Derived<StatusPart> {
  const { clusters, agents, kinds, progressByState, health, mode, unseen, ledgerByScope, readers } = inputs;
  const kindsByState = graph.index('kindsByState', kinds, ({ partition, value }) => [
    kindGroup(partition, value.state),
  ]);
  return graph.derive<ClusterValue, StatusPart>({
    name: 'clusterStatuses',
    from: clusters,
    reads: [
      ...[agents, kindsByState, progressByState, health, mode, unseen, ledgerByScope],
      ...readers.map((reader) => reader.clusters),
    ],
    seesAll: true,
    compute: ({ key: name, value: cluster }, read, emit) => {
      const group = (state: (typeof progressStates)[number]): string => progressGroup(name, state);
      const counts = countOutcomes(tally(progressStates, (state) => read.count(progressByState, group(state))));
      const { connected = false, warm = false, since = 0, trouble = '' } = read.get(agents, '', name) ?? {};
      const ofKinds = (state: KindState['state']): number => read.count(kindsByState, kindGroup(name, state));
      // If no kind at all can be listed, the agent answers and its cluster does not.
      const seen = ofKinds('complete') > 0 || ofKinds('unknown') + ofKinds('offered') === 0;
      const unknown = read.members(kindsByState, kindGroup(name, 'unknown')).map(({ value }) => value);
      const byHealth = countHealth(read, health, name);
      const safeMode = read.get(mode, '', '');
      const hidden = read.get(unseen, '', name);
      const cause = safeMode && hidden && causeOf(read, inputs, safeMode, name, hidden);
      emit('KubernetesCluster', name, {
        conditions: [
          warmCondition(warm),
          connectedCondition(connected, since, trouble),
          inSyncCondition({ connected, seen }, counts, trouble),
          ...discoveredCondition(unknown),
          ...(cause === undefined
            ? []
            : [{ type: 'SafeMode', status: 'True', reason: cause.reason, message: cause.message } as const]),
          ...healthyCondition(read, health, name, byHealth, connected && seen),
          ...summarise(counts, worstTrouble(read, progressByState, group), byHealth),
          ...lastKnownGood(cluster),
        ],
        fields: { counts: countsField(counts) },
      });
    },
  });
}

function kindGroup(cluster: string, state: KindState['state']): string {
  return `${cluster}/${state}`;
}

function lastKnownGood({ isLastKnownGood, origin, refusal }: ClusterValue): readonly ConditionValue[] {
  if (!isLastKnownGood) return [];
  const message = `${origin.path} ${refusal === undefined ? 'cannot be read' : 'is not accepted'}: it holds as last known good`;
  return [{ type: 'Declared', status: 'Unknown', reason: 'LastKnownGood', message }];
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
  { connected, seen }: { readonly connected: boolean; readonly seen: boolean },
  { applied, held, targeted }: OutcomeCounts,
  trouble: string,
): ConditionValue {
  const message = `${applied} of ${targeted} applied`;
  if (!connected) {
    return { type: 'InSync', status: 'Unknown', reason: 'AgentDisconnected', message: `as last seen: ${message}` };
  }
  if (!seen)
    return { type: 'InSync', status: 'Unknown', reason: 'ClusterUnreadable', message: `as last seen: ${message}` };
  if (applied + held === targeted) return { type: 'InSync', status: 'True', reason: 'InSync', message };
  return trouble === ''
    ? { type: 'InSync', status: 'False', reason: 'OutOfSync', message }
    : {
        type: 'InSync',
        status: 'False',
        reason: 'Blocked',
        message: `${message}; nothing more gets through: ${trouble}`,
      };
}
