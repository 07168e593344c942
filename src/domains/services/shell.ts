import type { DomainShell } from '../shell.ts';

/** Services that are made known in other clusters. */
export const services: DomainShell = {
  name: 'services',
  manifest: async () => (await import('./manifest/manifest.ts')).servicesManifest,
  engine: async () => (await import('./engine/services.ts')).services,
  cli: { commands: [], views: async () => (await import('./cli/views.ts')).serviceViews },
};
