import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFileTree } from '../../adapters/files/file-tree.ts';
import type { GitSigners } from '../../adapters/git/file-signature.ts';
import { prepareSigners } from '../../adapters/git/prepare-signers.ts';
import type { GitCredentials } from '../../adapters/git/remote.ts';
import { createMembersReader } from '../../adapters/git/work-tree-files.ts';
import { defaultFleetPolicy } from '../../model/fleet/fleet-policy.ts';
import type { SourceName } from '../../model/fleet/ids.ts';
import type {
  CredentialReferences,
  RelayConfig,
  SecretReference,
  SourceConfig,
} from '../../model/fleet/relay-config.ts';
import { errorText } from '../../model/text/messages.ts';
import { given } from '../../model/values/given.ts';
import type { Clock } from '../../ports/clock.ts';
import type { GitRepo } from '../../ports/git-repo.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { Source } from '../../ports/source.ts';
import type { HookPullRequests, HookTarget } from '../../server/hook-routes.ts';
import { createGitStatusSink, type GitStatusSink } from '../../sinks/git/status-sink.ts';
import { createFilesSource } from '../../sources/files/files-source.ts';
import { createGitSource } from '../../sources/git/git-source.ts';
import type { DecodeFile } from '../../sources/tree/tree-file.ts';
import type { GitAdapter } from './git-adapter.ts';

/** Dependencies of the adapters of a process. */
export interface ProcessDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
}

type GitSourceConfig = Extract<SourceConfig, { readonly type: 'git' }>;
type Remote = Pick<GitSourceConfig, 'url' | 'credentials' | 'ssh' | 'caFile'>;

/** Prepares the signers of approvals; undefined: signatures do not count. Rejects with a text for people. */
export async function openSigners(
  { approvalSigners, dataDirectory }: Pick<RelayConfig, 'approvalSigners' | 'dataDirectory'>,
  { clock, env }: Pick<ProcessDeps, 'clock' | 'env'>,
): Promise<GitSigners | undefined> {
  if (approvalSigners === undefined) return undefined;
  return prepareSigners({ clock, environment: env }, approvalSigners, join(dataDirectory, 'signers'));
}

/** Opens the configured sources except custom resources. They begin to fetch at once, while the store is read. */
export function openSources(
  config: RelayConfig,
  decode: DecodeFile,
  deps: ProcessDeps,
  git: GitAdapter,
  signers?: GitSigners,
): readonly Source[] {
  const { revision: limits, cloneBytes } = config.limits;
  const sources = config.sources.flatMap((source): readonly Source[] => {
    if (source.type === 'kubernetes') return [];
    const { name } = source;
    if (source.type === 'files') {
      const readMembers = createMembersReader({ clock: deps.clock, environment: deps.env });
      const tree = createFileTree(deps, { folder: source.path, limits, readMembers });
      return [createFilesSource({ tree, decode, ...deps }, { name, limits })];
    }
    const remote = { ...source, cloneBytes, ...(signers && { signers }) };
    const repo = openRepo(git, remote, join(config.dataDirectory, 'git', name), deps);
    const { pollIntervalSeconds, path } = source;
    const options = { name, pollIntervalSeconds, path, limits, judgesSignatures: signers !== undefined };
    const followed = createGitSource({ repo, decode, ...deps }, options);
    return [git.name === 'native' ? followed : { ...followed, address: `${followed.address} (by isomorphic-git)` }];
  });
  for (const source of sources) source.prefetch?.();
  return sources;
}

/** Returns the sources that hooks can trigger, with their secrets. Rejects if a secret cannot be read. */
export async function hookTargets(
  config: RelayConfig,
  sources: readonly Source[],
  env: ProcessDeps['env'],
  pullRequests: ReadonlyMap<SourceName, HookPullRequests>,
): Promise<readonly HookTarget[]> {
  const targets: HookTarget[] = [];
  for (const source of config.sources) {
    const running = sources.find(({ name }) => name === source.name);
    if (source.type !== 'git' || running === undefined) continue;
    const secret = source.hookSecret && (await readSecret(source.hookSecret, env, `hook secret of ${source.name}`));
    const requests = pullRequests.get(source.name);
    const trigger = (): void => running.trigger();
    targets.push({
      source: source.name,
      branch: source.branch,
      secret,
      trigger,
      ...(requests && { pullRequests: requests }),
    });
  }
  return targets;
}

/** Opens the sink of the status branch; undefined: it is switched off, or there is no git repository. */
export function openStatusSink(config: RelayConfig, deps: ProcessDeps, git: GitAdapter): GitStatusSink | undefined {
  const { enabled, branch, author, credentials, ssh, url, source: wanted } = config.statusGit;
  const isTarget = (source: SourceConfig): source is GitSourceConfig =>
    source.type === 'git' && (wanted === undefined || source.name === wanted);
  const target: Remote | undefined = url === undefined ? config.sources.find(isTarget) : { url };
  if (!enabled || target === undefined) return undefined;
  const directory = join(config.dataDirectory, 'git', '.status');
  const { cloneBytes } = config.limits;
  const remote = { ...target, branch, cloneBytes, ...given({ credentials, ssh }) };
  const repo = openRepo(git, remote, directory, deps);
  return createGitStatusSink(
    { repo, ...deps },
    { fleet: config.fleet, author, minIntervalSeconds: defaultFleetPolicy.status.minIntervalSeconds },
  );
}

type ToOpen = Remote & { readonly branch?: string; readonly cloneBytes: number; readonly signers?: GitSigners };

function openRepo(
  git: GitAdapter,
  { url: remote, branch, credentials: references, ssh, caFile, cloneBytes, signers }: ToOpen,
  directory: string,
  { env }: Pick<ProcessDeps, 'env'>,
): GitRepo {
  const credentials = references && gitCredentials(references, env);
  const optional = given({ caFile, branch, credentials, ssh, signers });
  return git.open({ remote, directory, maxCopyBytes: cloneBytes, ...optional });
}

/** Returns a function that reads the credentials of a repository, and rejects with a text for people. */
export function gitCredentials({ username, password, token }: CredentialReferences, env: ProcessDeps['env']) {
  return async (): Promise<GitCredentials> => {
    const secret = password ?? token;
    if (secret === undefined) throw new Error('the repository has neither a password nor a token');
    return {
      username: username?.type === 'text' ? username.text : username && (await readSecret(username, env, 'user name')),
      secret: await readSecret(secret, env, 'credential'),
    };
  };
}

/** Reads a secret as it is now, without white space at its end. Rejects with a text for people that names it as `what`. */
export async function readSecret(
  reference: SecretReference,
  env: ProcessDeps['env'],
  what = 'secret',
): Promise<string> {
  const isFile = reference.type === 'file';
  const text = isFile
    ? await readFile(reference.path, 'utf8').catch((cause: unknown) => {
        throw new Error(`the ${what} cannot be read: ${errorText(cause)}`, { cause });
      })
    : (env[reference.name] ?? '');
  const secret = text.trimEnd();
  const where = isFile ? reference.path : `the environment variable ${reference.name}`;
  if (secret === '') throw new Error(`${where} holds no ${what}: it is empty or missing`);
  return secret;
}
