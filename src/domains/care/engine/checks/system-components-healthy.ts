import type { Derived, Graph, Reader } from '../../../../engine/collections/types.ts';
import { agentReportKey, agentReportKind } from '../../../../model/agent/agent-report.ts';
import { objectOf, textOf } from '../../../../model/text/json.ts';
import { TUNNEL_PROBE } from '../../model/reports.ts';
import type { BoundShoot } from '../binding.ts';
import { bounded } from '../bounded-text.ts';
import { POD_KIND, TUNNEL_NAMESPACE, type TunnelPods } from '../objects/tunnel-pods.ts';
import type { ConditionFinding } from '../thresholds.ts';
import { kindObstacle, namespaceObstacle, notChecked } from '../visibility.ts';
import { type CheckReads, deriveCheck } from './check.ts';
import { controlPlaneOf, managedResourceFindings, type PartsReads, partsRead } from './control-plane-parts.ts';
import { excuseOfPreservedNodes, type PreservedReads } from './preserved-nodes.ts';

const TYPE = 'SystemComponentsHealthy';
/** What an agent reports that may test the tunnel. */
const TUNNEL_KIND = agentReportKind(TUNNEL_PROBE);
const TUNNEL_KEY = agentReportKey(TUNNEL_PROBE);

interface Reads extends CheckReads, PartsReads, PreservedReads {
  readonly tunnelPods: TunnelPods;
}

/** Derives whether what Gardener runs inside each Shoot's cluster is healthy. Key: the Shoot's. */
export function deriveSystemComponentsHealthy(graph: Graph, reads: Reads): Derived<ConditionFinding> {
  const { tunnelPods } = reads;
  return deriveCheck(graph, reads, {
    type: TYPE,
    name: 'systemComponentsHealthy',
    reads: [
      ...partsRead(reads),
      tunnelPods.all,
      tunnelPods.running,
      reads.demands,
      reads.preserving,
      reads.unreadyDaemonPods,
    ],
    good: { outcome: 'good', reason: 'SystemComponentsRunning', message: 'All system components are healthy.' },
    whileDown: notChecked,
    rules: (read, shoot) => findings(read, reads, shoot),
  });
}

function* findings(read: Reader, reads: Reads, shoot: BoundShoot): Generator<ConditionFinding | undefined> {
  const controlPlane = controlPlaneOf(shoot);
  if (controlPlane === undefined) return;
  const excuse = () => excuseOfPreservedNodes(read, reads, shoot, controlPlane);
  yield* managedResourceFindings(read, reads, controlPlane, TYPE, excuse);
  if (shoot.pools.length > 0) yield tunnelFinding(read, reads, shoot.cluster);
}

/** Without a probe one running Pod is enough. */
function tunnelFinding(read: Reader, reads: Reads, cluster: string): ConditionFinding | undefined {
  const unseen =
    namespaceObstacle(read, reads, cluster, TUNNEL_NAMESPACE, POD_KIND) ??
    kindObstacle(read, reads.kinds, cluster, TUNNEL_KIND);
  if (unseen !== undefined) return unseen;
  const { all, running } = reads.tunnelPods;
  if (read.count(all, cluster) === 0) {
    const message = 'no tunnels are currently deployed to perform health-check on';
    return { outcome: 'failed', reason: 'NoTunnelDeployed', message };
  }
  if (read.count(running, cluster) === 0) return broken('no running vpn-shoot pod found yet in the shoot cluster');
  const { connected, error } = objectOf(read.get(reads.live, cluster, TUNNEL_KEY)?.value.status);
  if (connected !== false) return undefined;
  return { ...broken(bounded(textOf(error))), cause: { cluster, key: TUNNEL_KEY } };
}

function broken(why: string): ConditionFinding {
  const message = `Tunnel connection has not been established (${why})`;
  return { outcome: 'failed', reason: 'TunnelConnectionBroken', message };
}
