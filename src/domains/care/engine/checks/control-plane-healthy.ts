import type { Derived, Graph, Reader } from '../../../../engine/collections/types.ts';
import { type ObjectKey, objectRefOf } from '../../../../model/objects/object-key.ts';
import { type JsonObject, textOf, textsOf } from '../../../../model/text/json.ts';
import type { BoundShoot } from '../binding.ts';
import { bounded, boundedNames } from '../bounded-text.ts';
import { DEPLOYMENT_KIND, ETCD_KIND } from '../objects/components.ts';
import type { ConditionFinding } from '../thresholds.ts';
import { type CheckReads, deriveCheck } from './check.ts';
import {
  type ControlPlane,
  componentFindings,
  controlPlaneOf,
  managedResourceFindings,
  type PartsReads,
  partsRead,
} from './control-plane-parts.ts';
import { type ProbeReads, probeFinding } from './probe.ts';

const TYPE = 'ControlPlaneHealthy';

interface Reads extends CheckReads, PartsReads, ProbeReads {}

/**
 * Derives whether the control plane of each Shoot is healthy: its parts in the Seed, or without a Seed what the API server says
 * of itself. Key: the Shoot's.
 */
export function deriveControlPlaneHealthy(graph: Graph, reads: Reads): Derived<ConditionFinding> {
  return deriveCheck(graph, reads, {
    type: TYPE,
    name: 'controlPlaneHealthy',
    reads: [...partsRead(reads), reads.agents],
    good: { outcome: 'good', reason: 'ControlPlaneRunning', message: 'All control plane components are healthy.' },
    rules: (read, shoot) => {
      const controlPlane = controlPlaneOf(shoot);
      if (controlPlane !== undefined) return seedFindings(read, reads, shoot, controlPlane);
      return [probeFinding(read, shoot.cluster, reads, readyzFault)];
    },
  });
}

function* seedFindings(
  read: Reader,
  reads: Reads,
  shoot: BoundShoot,
  controlPlane: ControlPlane,
): Generator<ConditionFinding | undefined> {
  const role = 'controlplane';
  yield* componentFindings(read, reads, controlPlane, { kind: ETCD_KIND, role, required: ETCDS });
  const required = requiredDeployments(shoot);
  yield* componentFindings(read, reads, controlPlane, { kind: DEPLOYMENT_KIND, role, required });
  if (shoot.pools.length > 0) yield scaledDownFinding(read, reads, controlPlane);
  yield* managedResourceFindings(read, reads, controlPlane, TYPE);
}

const ETCDS = ['etcd-main', 'etcd-events'];

/** Source: Gardener's ComputeRequiredControlPlaneDeployments. */
function requiredDeployments({ pools, hasVerticalPodAutoscaler }: BoundShoot): readonly string[] {
  const always = ['gardener-resource-manager', 'kube-apiserver', 'kube-controller-manager'];
  if (pools.length === 0) return always;
  const canScale = pools.some(({ minimum, maximum }) => maximum > minimum);
  return [
    ...always,
    'kube-scheduler',
    'machine-controller-manager',
    ...(canScale ? ['cluster-autoscaler'] : []),
    ...(hasVerticalPodAutoscaler ? ['vpa-admission-controller', 'vpa-recommender', 'vpa-updater'] : []),
  ];
}

/** The Deployments that the dependency-watchdog may scale down, in the order of its configuration. */
const CONTROLLERS = ['kube-controller-manager', 'machine-controller-manager', 'cluster-autoscaler'];

function scaledDownFinding(
  read: Reader,
  { components }: Reads,
  { seed, namespace }: ControlPlane,
): ConditionFinding | undefined {
  const keys = CONTROLLERS.map((name) => `${DEPLOYMENT_KIND}/${namespace}/${name}` as ObjectKey);
  const scaledDown = keys.filter((key) => read.get(components.components, seed, key)?.isScaledDown === true);
  const [first] = scaledDown;
  if (first === undefined) return undefined;
  const what = 'The following deployments have been scaled down to 0 replicas by dependency-watchdog-prober';
  const names = scaledDown.map((key) => objectRefOf(key).name).join(', ');
  return { ...failed('ControllersScaledDown', `${what}: ${names}`), cause: { cluster: seed, key: first } };
}

/** Of an API server without a Seed, by `/readyz?verbose`. */
function readyzFault({ failedChecks, readyzError, error }: JsonObject): ConditionFinding | undefined {
  const names = textsOf(failedChecks);
  if (names.length > 0) {
    return failed(READYZ_FAILED, `API server /readyz endpoint reports failed checks: ${boundedNames(names)}`);
  }
  const why = textOf(readyzError) || textOf(error);
  if (why === '') return undefined;
  return failed(READYZ_FAILED, `Request to API server /readyz endpoint failed. (${bounded(why)})`);
}

const READYZ_FAILED = 'ReadyzChecksFailed';

function failed(reason: string, message: string): ConditionFinding {
  return { outcome: 'failed', reason, message };
}
