import type { Derived, Graph } from '../../../../engine/collections/types.ts';
import type { Deadline } from '../../../../engine/deadlines.ts';
import { deriveExtensionFindings } from '../extensions.ts';
import { deriveLabelledFindings } from '../labelled-objects.ts';
import { deriveLeases } from '../leases.ts';
import { deriveComponents } from '../objects/components.ts';
import { deriveManagedResources } from '../objects/managed-resources.ts';
import { deriveTunnelPods } from '../objects/tunnel-pods.ts';
import { indexUnreadyDaemonPods } from '../objects/unready-daemon-pods.ts';
import type { ConditionFinding } from '../thresholds.ts';
import { deriveApiServerAvailable } from './api-server-available.ts';
import { deriveControlPlaneHealthy } from './control-plane-healthy.ts';
import { deriveEveryNodeReady } from './every-node-ready/every-node-ready.ts';
import { deriveGates } from './gate.ts';
import { deriveObservabilityComponentsHealthy } from './observability-components-healthy.ts';
import { deriveSystemComponentsHealthy } from './system-components-healthy.ts';

type Reads = Parameters<typeof deriveGates>[1] &
  Parameters<typeof deriveLabelledFindings>[1] &
  Parameters<typeof deriveManagedResources>[1];

/** Derives the findings of all checks, on verdicts on single objects. */
export function deriveChecks(graph: Graph, core: Reads) {
  const gates = deriveGates(graph, core);
  const components = deriveComponents(graph, core);
  const managedResources = deriveManagedResources(graph, core);
  const tunnelPods = deriveTunnelPods(graph, core);
  const unreadyDaemonPods = indexUnreadyDaemonPods(graph, core);
  const leases = deriveLeases(graph, core);
  const extensions = deriveExtensionFindings(graph, { ...core, ...leases });
  const labelled = deriveLabelledFindings(graph, core);
  const reads = {
    ...core,
    ...leases,
    gates,
    components,
    managedResources,
    tunnelPods,
    before: [extensions.findings],
    after: [labelled.findings],
  };
  const apiServer = deriveApiServerAvailable(graph, reads);
  const nodes = deriveEveryNodeReady(graph, reads);
  const machines = { demands: nodes.demands, preserving: nodes.preserving };
  const findings: readonly Derived<ConditionFinding>[] = [
    apiServer,
    deriveControlPlaneHealthy(graph, reads),
    deriveObservabilityComponentsHealthy(graph, reads),
    deriveSystemComponentsHealthy(graph, { ...reads, ...machines, unreadyDaemonPods }),
    nodes.everyNodeReady,
  ];
  const deadlines: readonly Derived<Deadline>[] = [managedResources.deadlines];
  const collections: readonly Derived<unknown>[] = [
    gates,
    components.components,
    tunnelPods.pods,
    leases.leases,
    leases.leasesOfNodes,
    leases.leaseNumbers,
    ...nodes.collections,
    ...extensions.collections,
    ...labelled.collections,
    ...managedResources.collections,
    ...findings,
  ];
  return { gates, apiServer, machines, findings, deadlines, collections };
}
