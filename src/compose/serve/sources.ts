import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFileTree } from '../../adapters/files/file-tree.ts';
import { createNativeGitRepo } from '../../adapters/git/native-git-repo.ts';
import { decodeFile } from '../../manifest/decode-file.ts';
import { defaultFleetPolicy } from '../../model/fleet-policy.ts';
import type { RelayConfig, SecretReference, SourceConfig } from '../../model/relay-config.ts';
import { must, unreachable } from '../../model/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { GitRepo } from '../../ports/git-repo.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { Source } from '../../ports/source.ts';
import type { HookTarget } from '../../server/hook-routes.ts';
import { createGitStatusSink, type GitStatusSink } from '../../sinks/git/status-sink.ts';
import { createFilesSource } from '../../sources/files/files-source.ts';
import { createGitSource } from '../../sources/git/git-source.ts';

/** What every adapter of a process is made with. */
export interface ProcessDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** How a repository is reached. */
type Remote = Pick<GitSourceConfig, 'url' | 'credentials' | 'caFile'>;
type GitSourceConfig = Extract<SourceConfig, { readonly type: 'git' }>;

/** The configured sources, but for custom resources. What they will look at begins to come, while the store is read. */
export function openSources(config: RelayConfig, deps: ProcessDeps): readonly Source[] {
  const sources = makeSources(config, deps);
  for (const source of sources) source.prefetch?.();
  return sources;
}

function makeSources(config: RelayConfig, deps: ProcessDeps): readonly Source[] {
  return config.sources.flatMap((source) => {
    switch (source.type) {
      case 'kubernetes':
        return [];
      case 'files': {
        const tree = createFileTree(deps, { folder: source.path });
        return [createFilesSource({ tree, decode: decodeFile, ...deps }, { name: source.name })];
      }
      case 'git': {
        const repo = openRepo(source, join(config.dataDirectory, 'git', source.name), deps);
        const { name, pollIntervalSeconds, path } = source;
        return [createGitSource({ repo, decode: decodeFile, ...deps }, { name, pollIntervalSeconds, path })];
      }
      default:
        return unreachable(source);
    }
  });
}

/** The sources that a hook can wake, with their secrets. Rejects if a secret cannot be read. */
export async function hookTargets(
  config: RelayConfig,
  sources: readonly Source[],
  env: ProcessDeps['env'],
): Promise<readonly HookTarget[]> {
  const targets: HookTarget[] = [];
  for (const source of config.sources) {
    const running = sources.find(({ name }) => name === source.name);
    if (source.type !== 'git' || running === undefined) continue;
    const secret = source.hookSecret === undefined ? undefined : await readSecret(source.hookSecret, env);
    targets.push({ source: source.name, secret, trigger: () => running.trigger() });
  }
  return targets;
}

/** Where status commits go; undefined if they are switched off or there is no git repository to take them. */
export function openStatusSink(config: RelayConfig, deps: ProcessDeps): GitStatusSink | undefined {
  const { enabled, branch, author, credentials } = config.statusGit;
  const target = statusTarget(config);
  if (!enabled || target === undefined) return undefined;
  const directory = join(config.dataDirectory, 'git', '.status');
  const repo = openRepo({ ...target, branch, ...(credentials === undefined ? {} : { credentials }) }, directory, deps);
  return createGitStatusSink(
    { repo, ...deps },
    { fleet: config.fleet, author, minIntervalSeconds: defaultFleetPolicy.status.minIntervalSeconds },
  );
}

function statusTarget({ statusGit: { target }, sources }: RelayConfig): Remote | undefined {
  if (target.type === 'url') return { url: target.url };
  return sources.find(
    (source): source is GitSourceConfig =>
      source.type === 'git' && (target.source === undefined || source.name === target.source),
  );
}

function openRepo(
  { url, branch, credentials, caFile }: Remote & { readonly branch?: string },
  directory: string,
  { clock, log, env }: ProcessDeps,
): GitRepo {
  return must(
    createNativeGitRepo(
      { clock, log, environment: env },
      {
        remote: url,
        directory,
        ...(caFile === undefined ? {} : { caFile }),
        ...(branch === undefined ? {} : { branch }),
        ...(credentials === undefined ? {} : { credentials }),
      },
    ),
  );
}

/** The secret as it is now, without the line end of its file. Rejects with a text for people. */
export async function readSecret(reference: SecretReference, env: ProcessDeps['env']): Promise<string> {
  const text = reference.type === 'env' ? env[reference.name] : (await readFile(reference.path, 'utf8')).trimEnd();
  if (text === undefined || text === '') {
    const where = reference.type === 'env' ? `the environment variable ${reference.name}` : reference.path;
    throw new Error(`${where} should hold a secret and is empty`);
  }
  return text;
}
