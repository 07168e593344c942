import type { Domain } from '../engine/domain.ts';
import { care } from './care/engine/care.ts';
import { health } from './health/engine/health.ts';
import { services } from './services/engine/services.ts';

/** The domains of the engine, in their order: a domain can read what an earlier one has derived. */
export const engineDomains: readonly Domain[] = [health, services, care];
