import { isAgentReport } from '../../../../model/agent/agent-report.ts';
import { engineKindIds, engineKindOf, engineKindRow } from '../../../../model/fleet/engine-kinds.ts';
import { nameOfKind } from '../../../../model/objects/object-key.ts';

/** Kinds whose objects are discovered beside the engine kinds and what these read, by group. `*`: all kinds of the group. */
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
  'cilium.io': ['CiliumClusterwideNetworkPolicy', 'CiliumNetworkPolicy'],
};

/** What the engine kinds read of live state. */
const READ: ReadonlySet<string> = new Set(
  engineKindIds.flatMap((id) => engineKindRow(id).discovers).filter((kind) => !isAgentReport(kind)),
);

/** Whether the objects of this kind are discovered in clusters that offer it. */
export function isDiscovered(group: string, kind: string): boolean {
  const kinds = DISCOVERED[group] ?? [];
  return (
    kinds.includes('*') ||
    kinds.includes(kind) ||
    READ.has(nameOfKind({ group, kind })) ||
    engineKindOf(group, kind) !== undefined
  );
}
