import type { Index, Reader } from '../../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../../engine/inputs.ts';
import type { LiveObject } from '../../../../model/agent/agent.ts';
import type { ObjectKey } from '../../../../model/objects/object-key.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../../../model/text/json.ts';
import { integerOf } from '../../../../model/text/proto-json.ts';
import type { BoundShoot } from '../binding.ts';
import { deploymentProblem } from '../objects/components.ts';
import { generationsOf } from '../objects/generations.ts';
import { daemonPodsGroup } from '../objects/unready-daemon-pods.ts';
import type { ControlPlane } from './control-plane-parts.ts';
import { type PreservedMachinesReads, preservedMachines } from './every-node-ready/machines.ts';
import { isPreserved } from './every-node-ready/node-health.ts';
import { NODE_KIND } from './every-node-ready/node-verdict.ts';

/** What {@link excuseOfPreservedNodes} reads. */
export interface PreservedReads extends PreservedMachinesReads, Pick<EngineInputs, 'live'> {
  /** Pods of DaemonSets that are not ready. */
  readonly unreadyDaemonPods: Index<LiveObject>;
}

/** The most Pods of a DaemonSet that are looked at. One with more Pods that are not ready is not excused. */
const MOST_PODS = 500;

/**
 * Tests whether a ManagedResource has a problem only because Pods of DaemonSets are not ready on Nodes whose failed Machine is
 * preserved; undefined: no Machine is. Source: Gardener's checkSystemComponents and CheckDaemonSetWithPreservedNodes.
 */
export function excuseOfPreservedNodes(
  read: Reader,
  reads: PreservedReads,
  { cluster, pools }: BoundShoot,
  controlPlane: ControlPlane,
): ((managedResource: ObjectKey) => boolean) | undefined {
  if (pools.length === 0 || preservedMachines(read, reads, controlPlane) === 0) return undefined;
  return (managedResource) => {
    const status = objectOf(read.get(reads.live, controlPlane.seed, managedResource)?.value.status);
    const looks = objectsOf(status.resources).map((workload) => lookAt(read, reads, cluster, workload));
    return !looks.includes('unhealthy') && looks.includes('excused');
  };
}

/** `excused`: only Pods on preserved Nodes are not ready. */
type Look = 'healthy' | 'excused' | 'unhealthy';

/** Other kinds are healthy as soon as they are applied. A workload that is not here is not healthy. */
function lookAt(read: Reader, reads: PreservedReads, cluster: string, workload: JsonObject): Look {
  const [kind, namespace, name] = [textOf(workload.kind), textOf(workload.namespace), textOf(workload.name)];
  if (kind !== 'DaemonSet' && kind !== 'Deployment' && kind !== 'StatefulSet') return 'healthy';
  const found = read.get(reads.live, cluster, `apps/${kind}/${namespace}/${name}`)?.value;
  if (found === undefined) return 'unhealthy';
  if (kind === 'Deployment') return deploymentProblem(found) === undefined ? 'healthy' : 'unhealthy';
  if (kind === 'StatefulSet') return isHealthyStatefulSet(found) ? 'healthy' : 'unhealthy';
  const numbers = daemonNumbers(found);
  if (isHealthyDaemonSet(found, numbers)) return 'healthy';
  const preserved = podsOnPreservedNodes(read, reads, cluster, daemonPodsGroup(cluster, namespace, name));
  return preserved > 0 && numbers.unavailable - preserved <= numbers.tolerated ? 'excused' : 'unhealthy';
}

function podsOnPreservedNodes(read: Reader, reads: PreservedReads, cluster: string, group: string): number {
  if (read.count(reads.unreadyDaemonPods, group) > MOST_PODS) return 0;
  return read.members(reads.unreadyDaemonPods, group).filter(({ value: { value: pod } }) => {
    const node = read.get(reads.live, cluster, `${NODE_KIND}//${textOf(objectOf(pod.spec).nodeName)}`);
    return node !== undefined && isPreserved(objectOf(node.value.status));
  }).length;
}

function isHealthyStatefulSet(value: JsonObject): boolean {
  const { replicas = 1 } = objectOf(value.spec);
  return isObserved(value) && integerOf(objectOf(value.status).readyReplicas) >= integerOf(replicas);
}

interface DaemonNumbers {
  readonly unavailable: number;
  /** The number of Pods that may be unavailable: 0 unless a roll-out goes on. */
  readonly tolerated: number;
}

function daemonNumbers(value: JsonObject): DaemonNumbers {
  const { desiredNumberScheduled, updatedNumberScheduled, numberUnavailable } = objectOf(value.status);
  const desired = integerOf(desiredNumberScheduled);
  const isRollingOut = integerOf(updatedNumberScheduled) < desired;
  return { unavailable: integerOf(numberUnavailable), tolerated: isRollingOut ? maxUnavailable(value, desired) : 0 };
}

/** Source: Gardener's CheckDaemonSet. */
function isHealthyDaemonSet(value: JsonObject, { unavailable, tolerated }: DaemonNumbers): boolean {
  const { currentNumberScheduled, desiredNumberScheduled, numberMisscheduled } = objectOf(value.status);
  if (!isObserved(value) || integerOf(numberMisscheduled) > 0) return false;
  return integerOf(currentNumberScheduled) >= integerOf(desiredNumberScheduled) && unavailable <= tolerated;
}

function maxUnavailable(value: JsonObject, desired: number): number {
  const { type, rollingUpdate } = objectOf(objectOf(value.spec).updateStrategy);
  const most = objectOf(rollingUpdate).maxUnavailable;
  if (type !== 'RollingUpdate') return 0;
  const percent = /^(\d+)%$/.exec(textOf(most))?.[1];
  if (typeof most === 'number') return integerOf(most);
  return percent === undefined ? 0 : Math.floor((Number(percent) * desired) / 100);
}

function isObserved(value: JsonObject): boolean {
  const generations = generationsOf(value);
  return generations === undefined || generations.observed >= generations.generation;
}
