import type { DomainShell } from '../shell.ts';

/** Data planes of Kuma: their health, their Envoys, and the probes of their Pods. */
export const health: DomainShell = {
  name: 'health',
  manifest: async () => (await import('./manifest/manifest.ts')).healthManifest,
  engine: async () => (await import('./engine/health.ts')).health,
  installed: async () => (await import('./compose/installed-webhook.ts')).healthInstalled,
  agent: async () => (await import('./compose/agent.ts')).healthInAgents,
  server: async () => (await import('./compose/server.ts')).healthServer,
  cli: {
    commands: [
      {
        name: 'probe-proxy',
        after: 'agent',
        load: async () => (await import('./cli/probe-proxy-command.ts')).lazyProbeProxyCommand,
      },
      { name: 'inject', after: 'snapshot', load: async () => (await import('./cli/inject.ts')).injectCommand },
      {
        name: 'dataplane',
        after: 'cluster',
        load: async () => (await import('./cli/dataplane.ts')).dataplaneCommand,
        names: { token: 'dataplanes', bootstrap: 'dataplanes', run: 'dataplanes' },
      },
    ],
    agent: async () => (await import('./cli/webhook-options.ts')).webhookOptions,
    views: async () => (await import('./cli/views.ts')).healthViews,
  },
  render: {
    file: {
      option: 'insights',
      what: 'DataplaneInsights: which declared data planes are connected (default: none ever was)',
      read: async () => (await import('./compose/insights.ts')).readInsights,
    },
  },
};
