import { care } from './care/shell.ts';
import { health } from './health/shell.ts';
import { services } from './services/shell.ts';
import type { DomainShell } from './shell.ts';

/** The domains, in their order: a domain can read what an earlier one has derived. */
export const domains: readonly DomainShell[] = [health, services, care];
