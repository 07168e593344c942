import type { AgentSettings } from './agent-settings.ts';
import type { FleetPolicy } from './desired.ts';
import { compareText } from './json.ts';

/** What holds where no FleetPolicy says otherwise. The one place of these figures; the schema states the same. */
export const defaultFleetPolicy: FleetPolicy = {
  guards: {
    maxRemovalsPerCluster: 10,
    maxRemovalPercentPerCluster: 50,
    maxRemovalsPerFleet: 50,
    maxRemovalPercentPerFleet: 30,
    percentFromOwned: 10,
    windowSeconds: 600,
  },
  safeMode: { mode: 'scoped', safeStartWindowSeconds: 180 },
  status: { enabled: true, minIntervalSeconds: 2 },
  discovery: { excludedNamespaces: [], excludedKinds: [] },
  drift: { ignoredFields: [] },
};

/** What a policy says to agents; `additionalKinds`: what domains need of this cluster beside that. */
export function settingsOfPolicy(
  { discovery, drift }: FleetPolicy,
  additionalKinds: readonly string[] = [],
): AgentSettings {
  const excludedKinds = discovery.excludedKinds.map(kindAsInKeys).sort(compareText);
  return {
    discovery: { ...discovery, excludedKinds, ...(additionalKinds.length === 0 ? {} : { additionalKinds }) },
    ignoredFields: drift.ignoredFields ?? [],
  };
}

/** `Kind` or `Kind.group` as `group/Kind`. */
function kindAsInKeys(written: string): string {
  const dot = written.indexOf('.');
  return dot < 0 ? `/${written}` : `${written.slice(dot + 1)}/${written.slice(0, dot)}`;
}
