import type { Domain } from '../engine/domain.ts';
import { domains } from './domains.ts';

/** The domains of the engine, in their order. */
export const engineDomains: readonly Domain[] = await Promise.all(domains.map(({ engine }) => engine()));
