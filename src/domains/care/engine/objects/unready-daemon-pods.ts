import type { Graph, Index } from '../../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../../engine/inputs.ts';
import type { LiveObject } from '../../../../model/agent/agent.ts';
import { conditionOf } from '../../../../model/objects/object-health/health.ts';
import { metadataOf, type ObjectKey, objectRefOf } from '../../../../model/objects/object-key.ts';
import { objectOf, objectsOf } from '../../../../model/text/json.ts';
import { POD_KIND } from './tunnel-pods.ts';

/** Groups the Pods of DaemonSets that are not ready by {@link daemonPodsGroup}. */
export function indexUnreadyDaemonPods(graph: Graph, { live }: Pick<EngineInputs, 'live'>): Index<LiveObject> {
  return graph.index('unreadyDaemonPods', live, ({ partition: cluster, key, value: { value } }) => {
    if (!key.startsWith(`${POD_KIND}/`) || conditionOf(objectOf(value.status), 'Ready')?.status === 'True') return [];
    const { namespace } = objectRefOf(key as ObjectKey);
    const owners = objectsOf(metadataOf(value).ownerReferences);
    return owners.flatMap(({ kind, name, controller }) =>
      kind === 'DaemonSet' && controller === true ? [daemonPodsGroup(cluster, namespace, `${name}`)] : [],
    );
  });
}

/** The group of the Pods of a DaemonSet. */
export function daemonPodsGroup(cluster: string, namespace: string, name: string): string {
  return `${cluster}/${namespace}/${name}`;
}
