import type { DriftMode } from '../../model/fleet/drift.ts';
import { boundPolicy } from '../../model/fleet/fleet-policy.ts';
import type { FieldPath } from '../../model/text/field-path.ts';
import type { EngineDiagnostic } from '../domain.ts';
import type { Declared } from '../fleet/declared.ts';
import { sectionsOf } from '../fleet/policy.ts';
import type { Engine } from '../graph.ts';

/** Settings of the policy and of Placements that exceed the bounds in the RelayConfig. */
export function settingsOutOfBounds(engine: Engine): readonly EngineDiagnostic[] {
  const bounds = engine.inputs.fleet.get('', '')?.bounds;
  if (bounds === undefined) return [];
  const policy = engine.policy.get('', '');
  const cuts = policy === undefined ? [] : boundPolicy(policy.value, bounds, sectionsOf(engine)).cuts;
  return [
    ...cuts.flatMap(({ field, message }) =>
      policy === undefined ? [] : [bounded(policy, field, `the server bounds the FleetPolicy: ${message}`)],
    ),
    ...(bounds.driftMode === undefined ? [] : otherModes(engine, bounds.driftMode)),
  ];
}

/** Placements whose mode of drift is not the one that the RelayConfig sets. */
function otherModes({ placements }: Engine, mode: DriftMode): readonly EngineDiagnostic[] {
  return [...placements.entries('')].flatMap(({ key: name, value: { declared } }) => {
    const written = declared.value.driftMode ?? mode;
    if (written === mode) return [];
    const message = `Placement ${name}: drift.mode is ${written}, the server sets ${mode} for all`;
    return [bounded(declared, ['spec', 'drift', 'mode'], message)];
  });
}

function bounded({ origin, identity }: Declared, field: FieldPath, message: string): EngineDiagnostic {
  return { severity: 'warning', reason: 'PolicyBounded', message, at: [{ ...origin, identity, field }] };
}
