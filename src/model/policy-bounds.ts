import type { FleetPolicy, GuardLimits } from './desired.ts';
import type { FieldPath } from './field-path.ts';
import type { PolicyBounds } from './relay-config.ts';

/** One setting that was cut. */
interface PolicyCut {
  readonly field: FieldPath;
  /** "guards.x is 5, the server allows 3". */
  readonly message: string;
}

/** A policy inside its bounds, and the settings that were cut. */
export interface BoundedPolicy {
  readonly policy: FleetPolicy;
  readonly cuts: readonly PolicyCut[];
}

/**
 * Cuts a policy to the bounds that the server's own file sets. A larger limit is looser, except for the window: there a
 * shorter one is.
 */
export function boundPolicy(policy: FleetPolicy, bounds: PolicyBounds): BoundedPolicy {
  const cuts: PolicyCut[] = [];
  const guards: Record<keyof GuardLimits, number> = { ...policy.guards };
  for (const name of Object.keys(guards) as (keyof GuardLimits)[]) {
    const bound = bounds.guards[name];
    const wanted = guards[name];
    const isLooser = bound !== undefined && (name === 'windowSeconds' ? wanted < bound : wanted > bound);
    if (!isLooser) continue;
    guards[name] = bound;
    cuts.push({
      field: ['spec', 'guards', name],
      message: `guards.${name} is ${wanted}, the server allows ${bound}`,
    });
  }
  const { mode } = policy.safeMode;
  if (bounds.safeModes.length === 0 || bounds.safeModes.includes(mode)) {
    return { policy: { ...policy, guards }, cuts };
  }
  const strictest = bounds.safeModes.includes('strict') ? 'strict' : (bounds.safeModes[0] ?? 'strict');
  const allowed = bounds.safeModes.includes('scoped') ? 'scoped' : strictest;
  cuts.push({
    field: ['spec', 'safeMode', 'mode'],
    message: `safeMode.mode is ${mode}, the server allows ${bounds.safeModes.join(', ')}`,
  });
  return { policy: { ...policy, guards, safeMode: { ...policy.safeMode, mode: allowed } }, cuts };
}
