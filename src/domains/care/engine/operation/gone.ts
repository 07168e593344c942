import type { Collection, Derived, Graph } from '../../../../engine/collections/types.ts';
import type { AgentValue, EngineInputs, SourceValue } from '../../../../engine/inputs.ts';
import type { ObservedStatus } from '../../../../model/fleet/conditions.ts';
import { textOf } from '../../../../model/text/json.ts';
import { isOfGardener, shootOf } from '../../model/shoot.ts';
import type { BoundShoot } from '../binding.ts';
import { lastOperationOf } from '../written-operation.ts';

interface Reads extends Pick<EngineInputs, 'observed' | 'sources'> {
  readonly agents: Collection<AgentValue>;
  readonly bindings: Derived<BoundShoot>;
}

/**
 * Derives the Shoots that no source declares any more, and whose status was written: what is left of them is deleted. They are as
 * their status says. A declaration holds until it is proven gone, so its absence is the proof, once every source was read. A
 * custom resource has ended together with its status. Partition empty, key the declaration's.
 */
export function deriveGoneShoots(graph: Graph, { observed, agents, sources, bindings }: Reads): Derived<BoundShoot> {
  const byId = graph.index<AgentValue>('agentsById', agents, ({ value: { id } }) => (id === undefined ? [] : [id]));
  const unread = graph.index<SourceValue>('unreadSources', sources, ({ value: { read } }) => (read ? [] : ['all']));
  return graph.derive<ObservedStatus, BoundShoot>({
    name: 'goneShoots',
    from: observed,
    partition: 'Shoot',
    reads: [bindings, byId, unread],
    compute: ({ key, value: status }, read, emit) => {
      const last = lastOperationOf(status);
      if (read.count(unread, 'all') > 0 || read.get(bindings, '', key) !== undefined) return;
      if (last === undefined || isOver(last) || isOfGardener(status.fields) || 'uid' in status.fields) return;
      const [namespace = '', name = ''] = key.split('/');
      const { seedName, technicalID, clusterIdentity } = status.fields;
      const [agent] = read.first(byId, textOf(clusterIdentity), 1);
      const declared = { spec: { seedName: textOf(seedName) } };
      emit('', key, {
        ...shootOf({ namespace, name }, declared),
        namespace,
        name,
        isDeleted: true,
        cluster: agent?.key ?? name,
        controlPlaneNamespace: textOf(technicalID),
      });
    },
  });
}

function isOver({ type, state }: { readonly type: string; readonly state: string }): boolean {
  return type === 'Delete' && state === 'Succeeded';
}
