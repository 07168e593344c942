/** Kinds whose objects are discovered, by group; `*`: all kinds of the group that can be watched. */
const DISCOVERED: Readonly<Record<string, readonly string[]>> = {
  '': ['Namespace', 'Node', 'Pod', 'Service', 'ServiceAccount'],
  apps: ['DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet'],
  autoscaling: ['HorizontalPodAutoscaler'],
  'discovery.k8s.io': ['EndpointSlice'],
  'networking.k8s.io': ['NetworkPolicy'],
  'gateway.networking.k8s.io': ['*'],
  'networking.istio.io': ['*'],
  'security.istio.io': ['*'],
  'telemetry.istio.io': ['*'],
  'cilium.io': ['CiliumClusterwideNetworkPolicy', 'CiliumNetworkPolicy'],
  'admin.gloo.solo.io': ['KubernetesCluster'],
  'core.gardener.cloud': ['Shoot'],
  'kuma.io': ['Dataplane'],
  'fleetrelay.dev': ['*'],
};

export const AUTOSCALER = 'autoscaling/HorizontalPodAutoscaler';

/** Are the objects of this kind discovered, where the kind is there? */
export function isDiscovered(group: string, kind: string): boolean {
  const kinds = DISCOVERED[group] ?? [];
  return kinds.includes('*') || kinds.includes(kind);
}
