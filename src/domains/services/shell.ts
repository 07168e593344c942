import type { DomainShell } from '../shell.ts';

/** Services that are made known in other clusters. */
export const services: DomainShell = {
  name: 'services',
  engine: async () => (await import('./engine/services.ts')).services,
};
