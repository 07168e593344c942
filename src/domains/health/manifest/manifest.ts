import type { DomainManifest } from '../../../manifest/kinds/decoders.ts';
import { healthSection } from '../model/settings.ts';
import { readDataplane } from './decode.ts';
import { readHealth } from './settings.ts';

/** What documents say of data planes and their health. */
export const healthManifest: DomainManifest = {
  decoders: { Dataplane: readDataplane },
  policy: { health: readHealth },
  section: healthSection,
};
