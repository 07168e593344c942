import { createDecoders, type Decoders } from '../manifest/kinds/decoders.ts';
import { domains } from './domains.ts';

/** The decoders of all kinds that fleetrelay reads. */
export const decoders: Decoders = createDecoders(
  await Promise.all(domains.map(async ({ name, manifest }) => ({ name, ...(await manifest()) }))),
);
