import type { GuardLimits } from '../../model/fleet/desired.ts';
import { boundPolicy, defaultFleetPolicy, type PolicySection } from '../../model/fleet/fleet-policy.ts';
import type { LastKnownGood } from '../../model/fleet/ledger.ts';
import type { Collection, Derived, Graph } from '../collections/types.ts';
import type { FleetSettings } from '../inputs.ts';
import { type Declarations, type Declared, declaredOf } from './declared.ts';

/** The policy in force: one entry with empty partition and key, or none if no policy is declared. */
export type PolicyValue = Declared<'FleetPolicy'>;

/** Derives the policy in force from the declarations of the kind FleetPolicy. */
export function derivePolicy(graph: Graph, declarations: Declarations): Derived<PolicyValue> {
  return graph.derive<PolicyValue, PolicyValue>({
    name: 'policy',
    ...declaredOf(declarations, 'FleetPolicy'),
    compute: ({ key, value }, _read, emit) => emit('', key, value),
  });
}

/**
 * Derives the limits of the guards for this commit. The old limits still apply to a change that loosens them, so each limit
 * is the tighter one of the declared policy and its last known good value, and within the bounds of the server.
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

/** Whether one of the limits is tighter than the other ones: what has passed under those is judged again. */
export function isTighter(limits: GuardLimits, than: GuardLimits): boolean {
  return Object.entries(tighter(limits, than)).some(([name, limit]) => limit !== than[name as keyof GuardLimits]);
}

function tighter(a: GuardLimits, b: GuardLimits): GuardLimits {
  const smaller = Object.entries(a).map(([name, limit]) => [name, Math.min(limit, b[name as keyof GuardLimits])]);
  return { ...(Object.fromEntries(smaller) as GuardLimits), windowSeconds: Math.max(a.windowSeconds, b.windowSeconds) };
}

/** The sections of the policy that domains have. */
export function sectionsOf({
  domains,
}: {
  readonly domains: readonly { readonly domain: { readonly section?: PolicySection } }[];
}): readonly PolicySection[] {
  return domains.flatMap(({ domain }) => domain.section ?? []);
}
