import type { Contribution, Derived, Entry, Graph, Index, Reader } from '../../../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../../../engine/inputs.ts';
import type { LiveObject } from '../../../../../model/agent/agent.ts';
import { conditionOf } from '../../../../../model/objects/object-health/health.ts';
import { labelsOf, metadataOf, type ObjectKey, objectRefOf } from '../../../../../model/objects/object-key.ts';
import { type JsonObject, objectOf, textOf } from '../../../../../model/text/json.ts';
import { integerOf } from '../../../../../model/text/proto-json.ts';
import type { ControlPlane } from '../control-plane-parts.ts';
import type { CordonedState } from './node-verdict.ts';

/** The kinds of machine-controller-manager in the namespace of a control plane. */
export const MACHINE_KIND = 'machine.sapcloud.io/Machine';
export const MACHINE_DEPLOYMENT_KIND = 'machine.sapcloud.io/MachineDeployment';

/** What a Machine counts as; `preserved`: it failed, and is kept for people to look at. */
export type MachineState = 'running' | 'pending' | 'erroneous' | 'preserved';

/** What a MachineDeployment demands. */
export interface Demand {
  /** 0 while it is being deleted. */
  readonly machines: number;
  readonly isRolling: boolean;
  readonly hasFailedMachines: boolean;
  /** The number of its Machines that failed and are preserved. */
  readonly preservedFailed: number;
}

/** Groups the Machines of all control planes, and derives what their MachineDeployments demand. */
export function deriveMachines(graph: Graph, { live }: Pick<EngineInputs, 'live'>) {
  /** Most Machines are never looked at alone, so that there is no collection of them. */
  const byState = graph.index('machinesByState', live, ofMachines(stateGroups));
  const byNode = graph.index('machinesByNode', live, ofMachines(nodeGroups));
  /** Partition: the Seed. Key: the namespace of the control plane. */
  const demands: Derived<readonly Contribution<Demand>[]> = graph.gather<LiveObject, Demand>({
    name: 'demandsOfControlPlanes',
    from: live,
    keys: (key) => key.startsWith(`${MACHINE_DEPLOYMENT_KIND}/`),
    compute: ({ partition: seed, key, value: { value } }, _read, emit) =>
      emit(seed, objectRefOf(key as ObjectKey).namespace, demandOf(value)),
  });
  const cordonedState = (read: Reader, seed: string, namespace: string, node: string): CordonedState => {
    const [machine] = read.first(byNode, machineOfNode(seed, namespace, node), 1);
    if (machine === undefined) return 'withoutMachine';
    if (isPreservedMachine(machine.value.value)) return 'kept';
    return metadataOf(machine.value.value).deletionTimestamp === undefined ? 'notDeleted' : 'draining';
  };
  const preserving = graph.index('preservingControlPlanes', demands, ({ partition: seed, value }) =>
    value.some((each) => each.value.preservedFailed > 0) ? [seed] : [],
  );
  return { byNode, cordonedState, demands, preserving, counts: graph.counts('numbersOfMachines', byState) };
}

/** What {@link preservedMachines} reads. */
export interface PreservedMachinesReads {
  readonly demands: Derived<readonly Contribution<Demand>[]>;
  /** The control planes with preserved Machines, by Seed. */
  readonly preserving: Index<unknown>;
}

/** The number of Machines of a control plane that failed and are preserved. */
export function preservedMachines(
  read: Reader,
  { demands, preserving }: PreservedMachinesReads,
  { seed, namespace }: ControlPlane,
): number {
  // Most Seeds have none: then no Shoot waits for its own.
  if (read.count(preserving, seed) === 0) return 0;
  const all = read.get(demands, seed, namespace) ?? [];
  return all.reduce((sum, { value }) => sum + value.preservedFailed, 0);
}

/** Groups no other live objects. */
function ofMachines(groupsOf: (seed: string, namespace: string, machine: JsonObject) => readonly string[]) {
  return ({ partition: seed, key, value }: Entry<LiveObject>): readonly string[] =>
    key.startsWith(`${MACHINE_KIND}/`) ? groupsOf(seed, objectRefOf(key as ObjectKey).namespace, value.value) : [];
}

function stateGroups(seed: string, namespace: string, machine: JsonObject): readonly string[] {
  return [machineGroup(seed, namespace, stateOf(machine))];
}

/** Machine-controller-manager keeps it until a time, although it failed or should go. */
function isPreservedMachine(machine: JsonObject): boolean {
  return textOf(currentStatusOf(machine).preserveExpiryTime) !== '';
}

function currentStatusOf({ status }: JsonObject): JsonObject {
  return objectOf(objectOf(status).currentStatus);
}

function nodeGroups(seed: string, namespace: string, machine: JsonObject): readonly string[] {
  const node = textOf(labelsOf(machine).node);
  return node === '' ? [] : [machineOfNode(seed, namespace, node)];
}

/** The group of the Machines of a control plane in a state. */
export function machineGroup(seed: string, namespace: string, state: MachineState): string {
  return `${seed}/${namespace}/${state}`;
}

function machineOfNode(seed: string, namespace: string, node: string): string {
  return `${seed}/${namespace}/${node}`;
}

function stateOf(machine: JsonObject): MachineState {
  if (isPreservedMachine(machine)) return 'preserved';
  const phase = textOf(currentStatusOf(machine).phase);
  if (phase === 'Running' || phase === 'Available') return 'running';
  return phase === 'Pending' || phase === '' ? 'pending' : 'erroneous';
}

function demandOf({ metadata, spec, status: found }: JsonObject): Demand {
  const { replicas } = objectOf(spec);
  const status = objectOf(found);
  const progressing = conditionOf(status, 'Progressing');
  const isWanted = objectOf(metadata).deletionTimestamp === undefined && typeof replicas === 'number';
  return {
    machines: isWanted ? replicas : 0,
    isRolling: progressing?.status === 'True' && progressing.reason !== 'NewMachineSetAvailable',
    hasFailedMachines: Array.isArray(status.failedMachines) && status.failedMachines.length > 0,
    preservedFailed: integerOf(status.preservedFailedReplicas),
  };
}
