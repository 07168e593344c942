/** What later domains may know of data planes and their health. */
export { isReady, type KnownDataplane } from './engine/dataplanes.ts';
export { type HealthParts, health } from './engine/health.ts';
export type { InboundIndexes } from './engine/inbounds.ts';
export { joined } from './engine/joined.ts';
export { clustersOfService, type ServiceOwner, withinRights } from './engine/service-owners.ts';
export { isCounted } from './engine/status.ts';
export { networkingOf } from './model/dataplane.ts';
