/** Files of the core that still import a domain. The list only gets shorter. */
export const LEAKS: readonly string[] = [
  'src/compose/manifests/agent-policy.ts',
  'src/compose/manifests/agent-rights.ts',
  'src/compose/manifests/agent-webhook.ts',
  'src/compose/manifests/installed-agent.ts',
  'src/model/agent-settings.ts',
];
