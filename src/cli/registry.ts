import type { Command } from 'commander';
import type { CliContext } from './command.ts';

/** One command: what the overview says about it, and how it is loaded. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<(context: CliContext) => Command>;
}

/** All commands in the order of the overview. Only the one that is called is ever loaded (and all for completion). */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'serve',
    summary: 'run the management server',
    load: async () => (await import('./commands/serve.ts')).serveCommand,
  },
  {
    name: 'agent',
    summary: 'run the agent of one cluster',
    load: async () => (await import('./commands/agent.ts')).agentCommand,
  },
  {
    name: 'validate',
    summary: 'check manifests, with file:line:column for every error',
    load: async () => (await import('./commands/validate.ts')).validateCommand,
  },
  {
    name: 'render',
    summary: 'what clusters should hold and what status would say, from a folder, without a server',
    load: async () => (await import('./commands/render.ts')).renderCommand,
  },
  {
    name: 'status',
    summary: 'how far the fleet agrees with the repository',
    load: async () => (await import('./commands/status.ts')).statusCommand,
  },
  {
    name: 'get',
    summary: 'list clusters, outputs, sources, held removals, diagnostics or mirrored services',
    load: async () => (await import('./commands/get.ts')).getCommand,
  },
  {
    name: 'explain',
    summary: 'where an object or a declaration comes from, or why it is missing',
    load: async () => (await import('./commands/explain.ts')).explainCommand,
  },
  {
    name: 'approve',
    summary: 'release removals that a guard holds',
    load: async () => (await import('./commands/approve.ts')).approveCommand,
  },
  {
    name: 'source',
    summary: 'list sources, accept a refused revision, suspend and resume',
    load: async () => (await import('./commands/source.ts')).sourceCommand,
  },
  {
    name: 'cluster',
    summary: 'register, list, deregister, replace or suspend clusters; token of a cluster',
    load: async () => (await import('./commands/cluster.ts')).clusterCommand,
  },
  {
    name: 'audit',
    summary: 'what people asked to be done, and what became of it',
    load: async () => (await import('./commands/audit.ts')).auditCommand,
  },
  {
    name: 'check',
    summary: 'find what is wrong, and say what to do',
    load: async () => (await import('./commands/check.ts')).checkCommand,
  },
  {
    name: 'debug',
    summary: 'collect what a maintainer needs, without secrets',
    load: async () => (await import('./commands/debug.ts')).debugCommand,
  },
  {
    name: 'completion',
    summary: 'completion script for bash, zsh or fish',
    load: async () => (await import('./commands/completion.ts')).completionCommand,
  },
  {
    name: 'version',
    summary: 'version of fleetrelay and of what it runs on',
    load: async () => (await import('./commands/version.ts')).versionCommand,
  },
];
