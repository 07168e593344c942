import type { CliContext } from './cli-context.ts';
import type { CliCommand } from './command.ts';

/** A command. Its module is loaded when it runs, or for the overview. */
interface CommandRow {
  readonly name: string;
  readonly load: () => Promise<(context: CliContext) => CliCommand>;
}

const CORE: readonly CommandRow[] = [
  { name: 'serve', load: async () => (await import('./commands/serve.ts')).serveCommand },
  { name: 'agent', load: async () => (await import('./commands/agent.ts')).agentCommand },
  { name: 'validate', load: async () => (await import('./commands/validate.ts')).validateCommand },
  { name: 'render', load: async () => (await import('./commands/render.ts')).renderCommand },
  { name: 'plan', load: async () => (await import('./commands/plan.ts')).planCommand },
  { name: 'snapshot', load: async () => (await import('./commands/snapshot.ts')).snapshotCommand },
  { name: 'status', load: async () => (await import('./commands/status.ts')).statusCommand },
  { name: 'get', load: async () => (await import('./commands/get.ts')).getCommand },
  { name: 'explain', load: async () => (await import('./commands/explain.ts')).explainCommand },
  { name: 'impact', load: async () => (await import('./commands/impact.ts')).impactCommand },
  { name: 'history', load: async () => (await import('./commands/history.ts')).historyCommand },
  { name: 'approve', load: async () => (await import('./commands/approve.ts')).approveCommand },
  { name: 'source', load: async () => (await import('./commands/source.ts')).sourceCommand },
  { name: 'cluster', load: async () => (await import('./commands/cluster.ts')).clusterCommand },
  { name: 'audit', load: async () => (await import('./commands/audit.ts')).auditCommand },
  { name: 'check', load: async () => (await import('./commands/check.ts')).checkCommand },
  { name: 'debug', load: async () => (await import('./commands/debug.ts')).debugCommand },
  { name: 'schema', load: async () => (await import('./commands/schema.ts')).schemaCommand },
  { name: 'init', load: async () => (await import('./commands/init.ts')).initCommand },
  { name: 'completion', load: async () => (await import('./commands/completion.ts')).completionCommand },
  { name: 'version', load: async () => (await import('./commands/version.ts')).versionCommand },
];

/** Every command, also of domains, in the order of the overview. */
export async function allRows(): Promise<readonly CommandRow[]> {
  const [{ domains }, { placed }] = await Promise.all([import('../domains/domains.ts'), import('./domain-cli.ts')]);
  const groups = domains.flatMap(({ cli }) => [...Map.groupBy(cli?.commands ?? [], ({ after }) => after)]);
  return placed<CommandRow>(
    CORE,
    groups.map(([after, rows]) => ({ after, rows })),
  );
}

/** The command of this name; undefined: there is none. For a command of the core, no domain is loaded. */
export async function commandNamed(name: string): Promise<CommandRow | undefined> {
  const isNamed = (row: CommandRow): boolean => row.name === name;
  return CORE.find(isNamed) ?? (await allRows()).find(isNamed);
}

/** All commands, with their options and summaries. */
export async function allCommands(context: CliContext): Promise<readonly CliCommand[]> {
  return Promise.all((await allRows()).map(async ({ load }) => (await load())(context)));
}
