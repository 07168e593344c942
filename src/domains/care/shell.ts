import type { DomainShell } from '../shell.ts';

/** The care of Gardener's Shoots. */
export const care: DomainShell = {
  name: 'care',
  manifest: async () => (await import('./manifest/manifest.ts')).careManifest,
  engine: async () => (await import('./engine/care.ts')).care,
  installed: async () => (await import('./compose/installed.ts')).careInstalled,
  agent: async () => (await import('./compose/agent.ts')).careInAgents,
  server: async () => (await import('./compose/server.ts')).careServer,
  cli: {
    commands: [
      { name: 'care', after: 'inject', load: async () => (await import('./cli/care.ts')).careCommand },
      {
        name: 'shoot',
        after: 'cluster',
        load: async () => (await import('./cli/shoot.ts')).shootCommand,
        names: { reconcile: 'shoots', retry: 'shoots' },
      },
    ],
    views: async () => (await import('./cli/views.ts')).careViews,
  },
  render: { reports: async () => (await import('./compose/recorded-reports.ts')).reportsOfRecorded },
};
