import type { GitPublishOutcome, GitPublishRequest } from '../../ports/git-repo.ts';
import { gitCopyError } from '../../ports/git-repo.ts';
import type { AuthorizationHeader } from './credentials.ts';
import { cleanMessage, failureOf } from './failures.ts';
import type { GitCommand } from './git-command.ts';
import { isObjectId } from './object-batch.ts';
import type { Remote } from './remote.ts';

const PUBLISH_REF = 'refs/fleetrelay/published';
const IMPORT_DEADLINE_MS = 60_000;

export interface PublishContext {
  readonly git: GitCommand;
  readonly repository: string;
  readonly remote: Remote;
  readonly branch: string;
  readonly authorization: AuthorizationHeader | undefined;
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Writes the commit into the local copy and pushes it, under the condition that the branch has not moved. */
export async function publishCommit(context: PublishContext, request: GitPublishRequest): Promise<GitPublishOutcome> {
  const commit = await writeCommit(context, request);
  const { git, repository, remote, branch, authorization, deadlineMs, signal } = context;
  const target = `refs/heads/${branch}`;
  const outcome = await git.run({
    args: [
      'push',
      '--porcelain',
      '--no-verify',
      '--no-recurse-submodules',
      // The lease makes the remote compare; the commit's parent is what it compares with, so history only grows.
      `--force-with-lease=${target}:${request.expected ?? ''}`,
      remote.url,
      `${commit}:${target}`,
    ],
    repository,
    deadlineMs,
    network: { authorization },
    signal,
  });
  if (outcome.end === 'exited' && outcome.code === 0) return { type: 'published', commit };
  const secrets = authorization?.secrets ?? [];
  const rejection = /^!\t[^\t]*\t(.*)$/m.exec(outcome.output.toString('utf8'))?.[1];
  if (outcome.end !== 'exited' || rejection === undefined) {
    return failureOf(outcome, `pushing ${branch} to ${remote.url}`, secrets);
  }
  if (isRace(rejection)) return { type: 'race' };
  return { type: 'refused', message: refusalMessage(rejection, outcome.errors, secrets) };
}

function isRace(rejection: string): boolean {
  return /stale info|fetch first|non-fast-forward|failed to update ref|cannot lock ref|incorrect old value|already exists|failed to lock/i.test(
    rejection,
  );
}

/** The server's own words, if it said any, after git's short reason. */
function refusalMessage(rejection: string, errors: string, secrets: readonly string[]): string {
  const words = [...errors.matchAll(/^remote: ?(.*)$/gm)].map((match) => match[1] ?? '').join('\n');
  const short = rejection.replace(/^\[[^\]]*\] /, '').replace(/^\((.*)\)$/, '$1');
  return cleanMessage(words.trim() === '' ? short : `${short}: ${words}`, secrets);
}

async function writeCommit(context: PublishContext, request: GitPublishRequest): Promise<string> {
  if (request.expected !== null && !isObjectId(request.expected))
    throw new Error('the expected commit is no commit id');
  const outcome = await context.git.run({
    args: ['fast-import', '--quiet', '--done', '--force', '--date-format=raw'],
    repository: context.repository,
    input: importStream(request),
    deadlineMs: IMPORT_DEADLINE_MS,
    signal: context.signal,
  });
  const commit = outcome.output.toString('latin1').trim();
  if (outcome.end === 'exited' && outcome.code === 0 && isObjectId(commit)) return commit;
  throw gitCopyError(`writing the commit failed: ${cleanMessage(outcome.errors, []) || outcome.end}`);
}

/** The commands for `git fast-import`; its answer is the new commit's id. */
export function importStream(request: GitPublishRequest): readonly (string | Uint8Array)[] {
  const who = `${identity(request.author.name)} <${identity(request.author.email)}> ${Math.floor(request.at / 1000)} +0000`;
  const stream: (string | Uint8Array)[] = [
    // Without this a commit without `from` would build on what the ref held before.
    `reset ${PUBLISH_REF}\n\n`,
    `commit ${PUBLISH_REF}\nmark :1\nauthor ${who}\ncommitter ${who}\n`,
    ...dataCommand(Buffer.from(request.message, 'utf8')),
    request.expected === null ? '' : `from ${request.expected}\n`,
  ];
  const changes = [...request.changes];
  // Removals first: a file may make room for a folder of the same name.
  for (const [path, bytes] of changes) if (bytes === null) stream.push(`D ${quotePath(path)}\n`);
  for (const [path, bytes] of changes) {
    if (bytes !== null) stream.push(`M 100644 inline ${quotePath(path)}\n`, ...dataCommand(bytes));
  }
  stream.push('\nget-mark :1\ndone\n');
  return stream;
}

function dataCommand(bytes: Uint8Array): readonly (string | Uint8Array)[] {
  return [`data ${bytes.length}\n`, bytes, '\n'];
}

function identity(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a line end would start another command.
  return text.replace(/[<>\u0000-\u001f\u007f]/g, ' ').trim();
}

/** Quotes a path for the stream; throws for a path that must not be in a tree (the caller made it: a programming error). */
function quotePath(path: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a line end would start another command.
  const bad = /[\u0000-\u001f\u007f]/.test(path) || path.split('/').some((part) => /^(|\.|\.\.|\.git)$/i.test(part));
  if (bad) throw new Error(`${JSON.stringify(path)} is not a path that can be published`);
  return `"${path.replace(/["\\]/g, '\\$&')}"`;
}
