import type { LiveObject } from '../../../../model/agent.ts';
import { type JsonObject, objectOf, textOf } from '../../../../model/json.ts';
import { conditionOf } from '../../../../model/object-health.ts';
import { labelsOf, metadataOf, type ObjectKey, objectRefOf } from '../../../../model/object-key.ts';
import type { Derived, Graph, Index } from '../../../collections/types.ts';
import type { EngineInputs } from '../../../inputs.ts';
import type { Demand } from './look.ts';

/** The kinds of machine-controller-manager in the namespace of a control plane. */
export const MACHINE_KIND = 'machine.sapcloud.io/Machine';
export const MACHINE_DEPLOYMENT_KIND = 'machine.sapcloud.io/MachineDeployment';

/** A Machine, by what counts in scaling. */
export interface Machine {
  readonly state: 'running' | 'pending' | 'erroneous';
  readonly isBeingDeleted: boolean;
  /** The name of its Node; empty: it has none yet. */
  readonly node: string;
}

/** Derives the Machines of all control planes, their numbers, and what their MachineDeployments demand. */
export function deriveMachines(graph: Graph, { live }: Pick<EngineInputs, 'live'>) {
  /** Partition: the Seed. Key: the Machine's. */
  const machines: Derived<Machine> = graph.derive<LiveObject, Machine>({
    name: 'machinesOfShoots',
    from: live,
    keys: (key) => key.startsWith(`${MACHINE_KIND}/`),
    compute: ({ partition: seed, key, value: { value } }, _read, emit) =>
      emit(seed, key, {
        state: stateOf(textOf(objectOf(objectOf(value.status).currentStatus).phase)),
        isBeingDeleted: metadataOf(value).deletionTimestamp !== undefined,
        node: textOf(labelsOf(value).node),
      }),
  });
  const byState = graph.index('machinesByState', machines, ({ partition: seed, key, value: { state } }) => {
    const { namespace } = objectRefOf(key as ObjectKey);
    return [machineGroup(seed, namespace, 'all'), machineGroup(seed, namespace, state)];
  });
  const byNode: Index<Machine> = graph.index('machinesByNode', machines, ({ partition: seed, key, value: { node } }) =>
    node === '' ? [] : [machineOfNode(seed, objectRefOf(key as ObjectKey).namespace, node)],
  );
  /** Partition: the Seed. Key: the namespace of the control plane. */
  const demands = graph.gather<LiveObject, Demand>({
    name: 'demandsOfControlPlanes',
    from: live,
    keys: (key) => key.startsWith(`${MACHINE_DEPLOYMENT_KIND}/`),
    compute: ({ partition: seed, key, value: { value } }, _read, emit) =>
      emit(seed, objectRefOf(key as ObjectKey).namespace, demandOf(value)),
  });
  return { machines, byNode, demands, counts: graph.counts('numbersOfMachines', byState) };
}

/** The group of the Machines of a control plane in a state. */
export function machineGroup(seed: string, namespace: string, state: Machine['state'] | 'all'): string {
  return `${seed}/${namespace}/${state}`;
}

/** The group of the Machines of a Node. */
export function machineOfNode(seed: string, namespace: string, node: string): string {
  return `${seed}/${namespace}/${node}`;
}

function stateOf(phase: string): Machine['state'] {
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
  };
}
