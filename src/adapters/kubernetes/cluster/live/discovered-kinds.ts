import { engineKindOf } from '../../../../model/engine-kinds.ts';

/** Kinds whose objects are discovered beside the engine kinds, by group. `*`: all kinds of the group. */
const DISCOVERED: Readonly<Record<string, readonly string[]>> = {
  '': ['Namespace', 'Node', 'Pod', 'Service', 'ServiceAccount'],
  apps: ['DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet'],
  batch: ['Job'],
  autoscaling: ['HorizontalPodAutoscaler'],
  'discovery.k8s.io': ['EndpointSlice'],
  'networking.k8s.io': ['NetworkPolicy'],
  'gateway.networking.k8s.io': ['*'],
  'networking.istio.io': ['*'],
  'security.istio.io': ['*'],
  'telemetry.istio.io': ['*'],
  'kuma.io': ['DataplaneInsight'],
  'cilium.io': ['CiliumClusterwideNetworkPolicy', 'CiliumNetworkPolicy'],
};

/** Whether the objects of this kind are discovered in clusters that offer it. */
export function isDiscovered(group: string, kind: string): boolean {
  const kinds = DISCOVERED[group] ?? [];
  return kinds.includes('*') || kinds.includes(kind) || engineKindOf(group, kind) !== undefined;
}
