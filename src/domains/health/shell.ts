import type { DomainShell } from '../shell.ts';

/** Data planes of Kuma: their health, their Envoys, and the probes of their Pods. */
export const health: DomainShell = {
  name: 'health',
  manifest: async () => (await import('./manifest/manifest.ts')).healthManifest,
  engine: async () => (await import('./engine/health.ts')).health,
  agent: async () => (await import('./compose/agent.ts')).webhookOfAgents,
  server: async () => (await import('./compose/server.ts')).healthServer,
};
