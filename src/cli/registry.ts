import type { CliCommand, CliContext } from './command.ts';

type Load = () => Promise<(context: CliContext) => CliCommand>;

/** Every command by its name, in the order of the overview. A module is loaded when its command runs, or for the overview. */
export const COMMANDS: ReadonlyMap<string, Load> = new Map<string, Load>([
  ['serve', async () => (await import('./commands/serve.ts')).serveCommand],
  ['agent', async () => (await import('./commands/agent.ts')).agentCommand],
  ['probe-proxy', async () => (await import('../domains/health/cli/probe-proxy.ts')).probeProxyCommand],
  ['validate', async () => (await import('./commands/validate.ts')).validateCommand],
  ['render', async () => (await import('./commands/render.ts')).renderCommand],
  ['plan', async () => (await import('./commands/plan.ts')).planCommand],
  ['snapshot', async () => (await import('./commands/snapshot.ts')).snapshotCommand],
  ['inject', async () => (await import('../domains/health/cli/inject.ts')).injectCommand],
  ['care', async () => (await import('../domains/care/cli/care.ts')).careCommand],
  ['status', async () => (await import('./commands/status.ts')).statusCommand],
  ['get', async () => (await import('./commands/get.ts')).getCommand],
  ['explain', async () => (await import('./commands/explain.ts')).explainCommand],
  ['impact', async () => (await import('./commands/impact.ts')).impactCommand],
  ['history', async () => (await import('./commands/history.ts')).historyCommand],
  ['approve', async () => (await import('./commands/approve.ts')).approveCommand],
  ['source', async () => (await import('./commands/source.ts')).sourceCommand],
  ['cluster', async () => (await import('./commands/cluster.ts')).clusterCommand],
  ['shoot', async () => (await import('../domains/care/cli/shoot.ts')).shootCommand],
  ['dataplane', async () => (await import('../domains/health/cli/dataplane.ts')).dataplaneCommand],
  ['audit', async () => (await import('./commands/audit.ts')).auditCommand],
  ['check', async () => (await import('./commands/check.ts')).checkCommand],
  ['debug', async () => (await import('./commands/debug.ts')).debugCommand],
  ['schema', async () => (await import('./commands/schema.ts')).schemaCommand],
  ['init', async () => (await import('./commands/init.ts')).initCommand],
  ['completion', async () => (await import('./commands/completion.ts')).completionCommand],
  ['version', async () => (await import('./commands/version.ts')).versionCommand],
]);

/** All commands, with their options and summaries. */
export function allCommands(context: CliContext): Promise<readonly CliCommand[]> {
  return Promise.all([...COMMANDS.values()].map(async (load) => (await load())(context)));
}
