import type { GuardLimits } from '../../model/desired.ts';
import { boundPolicy, defaultFleetPolicy } from '../../model/fleet-policy.ts';
import type { LastKnownGood } from '../../model/ledger.ts';
import type { Collection, Derived, Graph } from '../collections/types.ts';
import type { FleetSettings } from '../inputs.ts';
import { type Declarations, type Declared, declaredOf } from './declared.ts';

/** The policy in force. One entry, key and partition empty; absent while no policy is declared. */
export type PolicyValue = Declared<'FleetPolicy'>;

/** The fleet's policy: as declared, or as last known good while the declaration cannot be read. */
export function derivePolicy(graph: Graph, declarations: Declarations): Derived<PolicyValue> {
  return graph.derive<PolicyValue, PolicyValue>({
    name: 'policy',
    ...declaredOf(declarations, 'FleetPolicy'),
    compute: ({ key, value }, _read, emit) => emit('', key, value),
  });
}

/**
 * The guards that judge this commit. A change that loosens them is judged under the old ones, so each limit is the
 * tighter of the last known good policy and the one declared now, and never looser than the server's own bounds.
 */
export function deriveGuardLimits(
  graph: Graph,
  fleet: Collection<FleetSettings>,
  policy: Collection<PolicyValue>,
  lastKnownGood: Collection<LastKnownGood>,
): Derived<GuardLimits> {
  return graph.derive<FleetSettings, GuardLimits>({
    name: 'guardLimits',
    from: fleet,
    reads: [policy, lastKnownGood],
    compute: ({ value: { bounds } }, read, emit) => {
      const declared = boundPolicy(read.get(policy, '', '')?.value ?? defaultFleetPolicy, bounds).policy.guards;
      const known = read.get(lastKnownGood, 'FleetPolicy', '') as LastKnownGood<'FleetPolicy'> | undefined;
      const before = boundPolicy(known?.value ?? defaultFleetPolicy, bounds).policy.guards;
      emit('', '', tighter(declared, before));
    },
  });
}

/** Limit by limit the tighter of two. */
export function tighter(a: GuardLimits, b: GuardLimits): GuardLimits {
  return {
    maxRemovalsPerCluster: Math.min(a.maxRemovalsPerCluster, b.maxRemovalsPerCluster),
    maxRemovalPercentPerCluster: Math.min(a.maxRemovalPercentPerCluster, b.maxRemovalPercentPerCluster),
    maxRemovalsPerFleet: Math.min(a.maxRemovalsPerFleet, b.maxRemovalsPerFleet),
    maxRemovalPercentPerFleet: Math.min(a.maxRemovalPercentPerFleet, b.maxRemovalPercentPerFleet),
    percentFromOwned: Math.min(a.percentFromOwned, b.percentFromOwned),
    windowSeconds: Math.max(a.windowSeconds, b.windowSeconds),
  };
}
