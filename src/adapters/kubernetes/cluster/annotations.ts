/** What people write onto objects; each has its meaning in one place only. */
export const ADOPT = 'fleetrelay.dev/adopt';
export const REPLACE = 'fleetrelay.dev/replace';
export const FORCE_CONFLICTS = 'fleetrelay.dev/force-conflicts';
export const PRUNE = 'fleetrelay.dev/prune';
export const RECONCILE = 'fleetrelay.dev/reconcile';
export const DISCOVERY = 'fleetrelay.dev/discovery';
export const PAUSED = 'fleetrelay.dev/paused';
export const IGNORE_FIELDS = 'fleetrelay.dev/ignore-fields';
