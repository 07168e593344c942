import type { FleetPolicySpec } from '../../../../generated/fleet-policy.js';
import { readSelector } from '../../../manifest/kinds/selectors.ts';
import type { FieldProblem } from '../../../manifest/problem.ts';
import { type HealthSettings, healthDefaults } from '../model/settings.ts';

/** Reads `health` of a FleetPolicy. */
export function readHealth({ health = {} }: FleetPolicySpec, problems: FieldProblem[]): HealthSettings {
  const { sidecars, podSelector, injector, ...rest } = health;
  return {
    ...healthDefaults,
    ...rest,
    sidecars: sidecars === undefined ? healthDefaults.sidecars : [...new Set(sidecars)],
    injector: { ...healthDefaults.injector, ...injector },
    ...(podSelector === undefined
      ? {}
      : { podSelector: readSelector(podSelector, ['spec', 'health', 'podSelector'], problems) }),
  };
}
