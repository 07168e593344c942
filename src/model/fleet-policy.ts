import type { FleetPolicy } from './desired.ts';

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
};
