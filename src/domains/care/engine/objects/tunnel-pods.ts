import type { Derived, Graph, Index } from '../../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../../engine/inputs.ts';
import type { LiveObject } from '../../../../model/agent/agent.ts';
import { labelsOf } from '../../../../model/objects/object-key.ts';
import { objectOf } from '../../../../model/text/json.ts';

/** The Namespace of the tunnel Pods in a Shoot's cluster. */
export const TUNNEL_NAMESPACE = 'kube-system';
export const POD_KIND = '/Pod';

/** {@link deriveTunnelPods}. */
export interface TunnelPods {
  /** Whether the Pod runs. Partition: the cluster. Key: the Pod's. */
  readonly pods: Derived<boolean>;
  /** All, grouped by cluster. */
  readonly all: Index<boolean>;
  /** Those that run, grouped by cluster. */
  readonly running: Index<boolean>;
}

/** Derives the Pods by which a control plane reaches the Nodes of its cluster. */
export function deriveTunnelPods(graph: Graph, { live }: Pick<EngineInputs, 'live'>): TunnelPods {
  const pods: Derived<boolean> = graph.derive<LiveObject, boolean>({
    name: 'tunnelPods',
    from: live,
    keys: (key) => key.startsWith(`${POD_KIND}/${TUNNEL_NAMESPACE}/`),
    compute: ({ partition: cluster, key, value: { value } }, _read, emit) => {
      if (labelsOf(value).type === 'tunnel') emit(cluster, key, objectOf(value.status).phase === 'Running');
    },
  });
  const all = graph.index('tunnelPodsByCluster', pods, ({ partition: cluster }) => [cluster]);
  const running = graph.index('runningTunnelPods', pods, ({ partition: cluster, value }) => (value ? [cluster] : []));
  return { pods, all, running };
}
