import type { ConditionFinding } from '../../thresholds.ts';
import { namespaceObstacle } from '../../visibility.ts';
import { type ClusterRule, causedBy, failed, type Look, nodeName } from './look.ts';
import { MACHINE_DEPLOYMENT_KIND, MACHINE_KIND, type MachineState, machineGroup } from './machines.ts';
import { NODE_KIND } from './node-verdict.ts';

/** The numbers of a cluster while it is scaled. */
interface Scale {
  /** Of Machines. */
  readonly desired: number;
  /** Of Nodes. */
  readonly registered: number;
  /** Of Nodes that take Pods. */
  readonly ready: number;
  /** Of Nodes that are not ready because their failed Machine is preserved: they fill a place all the same. */
  readonly preserved: number;
  readonly isRolling: boolean;
}

/** The number of ready Nodes must be the number of desired Machines. Source: Gardener's CheckNodesScaling. */
export const nodesAreScaled: ClusterRule = (look) => {
  const { read, reads, cluster, shoot } = look;
  const { seed, controlPlaneNamespace: namespace } = shoot;
  if (seed === undefined) return undefined;
  const unseen =
    namespaceObstacle(read, reads, cluster, '', NODE_KIND) ??
    namespaceObstacle(read, reads, seed, namespace, MACHINE_DEPLOYMENT_KIND) ??
    namespaceObstacle(read, reads, seed, namespace, MACHINE_KIND);
  if (unseen !== undefined) return unseen;
  const demands = (read.get(reads.machines.demands, seed, namespace) ?? []).map(({ value }) => value);
  const registered = registeredNodes(look);
  const scale: Scale = {
    desired: demands.reduce((sum, { machines }) => sum + machines, 0),
    registered,
    ready: registered - look.count('notReady'),
    preserved: look.count('preservedMachine'),
    isRolling: demands.some((each) => each.isRolling) && !demands.some((each) => each.hasFailedMachines),
  };
  if (isScalingUp(scale)) return scalingUp(scale, (state) => machineCount(look, seed, namespace, state));
  return scale.registered > scale.desired ? scalingDown(look, scale) : undefined;
};

/** The Nodes with a pool that machine-controller-manager manages. */
function registeredNodes({ shoot, nodesOf, count }: Look): number {
  const pools = new Set(shoot.pools.map(({ name }) => name));
  const ofPools = [...pools].reduce((sum, pool) => sum + nodesOf(pool), 0);
  return ofPools + count('elsewhere') - count('unmanaged');
}

function isScalingUp({ desired, registered, ready, preserved, isRolling }: Scale): boolean {
  if (ready >= desired) return false;
  if (registered < desired || ready + preserved < desired) return true;
  return isRolling && registered !== desired;
}

function scalingUp(
  { desired, registered, ready, isRolling }: Scale,
  machines: (state: MachineState) => number,
): ConditionFinding {
  const reason = !isRolling && registered < desired ? 'NodesScalingUp' : 'NodesRollOutScalingUp';
  const [running, pending, erroneous] = [machines('running'), machines('pending'), machines('erroneous')];
  const all = running + pending + erroneous + machines('preserved');
  if (all < desired) return failed(reason, `not enough machine objects created yet (${all}/${desired})`);
  if (erroneous > 0) return failed(reason, `${machinesAre(erroneous)} erroneous`);
  if (pending > 0) return failed(reason, `${machinesAre(pending)} provisioning and should join the cluster soon`);
  return failed(reason, `not enough ready worker nodes registered in the cluster (${ready}/${desired})`);
}

function scalingDown(look: Look, { registered, desired }: Scale): ConditionFinding | undefined {
  const fault = (message: string, more?: Pick<ConditionFinding, 'cause'>) => failed('NodesScalingDown', message, more);
  const [cordoned] = look.first('cordonedWrong', 1);
  if (cordoned !== undefined) {
    const node = nodeName(cordoned.key);
    const notDeleted = 'found but corresponding machine object does not have a deletion timestamp';
    const isWithout = cordoned.value.scaling === 'withoutMachine';
    const missing = `machine object for cordoned node "${node}" not found`;
    return fault(isWithout ? missing : `cordoned non-preserved node "${node}" ${notDeleted}`, causedBy(cordoned));
  }
  const draining = look.count('draining');
  if (registered - draining > desired) {
    const what = 'too many worker nodes are registered. Exceeding maximum desired machine count';
    return fault(`${what} (${registered}/${desired})`);
  }
  const advice = 'If this persists, check your pod disruption budgets and pending finalizers.';
  const note = 'Please note, that nodes that fail to be drained will be deleted automatically';
  return fault(`${machinesAre(draining)} waiting to be completely drained from pods. ${advice} ${note}`);
}

function machinesAre(count: number): string {
  return count === 1 ? '1 machine is' : `${count} machines are`;
}

function machineCount({ read, reads }: Look, seed: string, namespace: string, state: MachineState): number {
  return read.get(reads.machines.counts, '', machineGroup(seed, namespace, state)) ?? 0;
}
