import { type GitPublishOutcome, type GitPublishRequest, gitCopyError } from '../../ports/git-repo.ts';
import { cleanMessage, failureOf } from './failures.ts';
import { askRemote, type FetchContext, isGitAnswer } from './fetch-into.ts';
import { isObjectId } from './git-objects.ts';
import { namesNear, outcomeOfRejection, type RemoteRefs } from './rejection.ts';

const PUBLISH_REF = 'refs/fleetrelay/published';
const IMPORT_DEADLINE_MS = 60_000;

export interface PublishContext extends FetchContext {
  readonly repository: string;
  readonly branch: string;
}

/** Writes the commit into the local copy and pushes it, on the condition that the branch has not moved. */
export async function publishCommit(context: PublishContext, request: GitPublishRequest): Promise<GitPublishOutcome> {
  const commit = await writeCommit(context, request);
  const { git, repository, remote, branch, authorization, deadlineMs, signal } = context;
  const target = `refs/heads/${branch}`;
  // The remote compares its branch with the lease, which is the parent of the commit: history only grows.
  const lease = `--force-with-lease=${target}:${request.expected ?? ''}`;
  const flags = ['--porcelain', '--no-verify', '--no-recurse-submodules', lease];
  const args = ['push', ...flags, remote.url, `${commit}:${target}`];
  const outcome = await git.run({ args, repository, deadlineMs, network: { authorization }, signal });
  if (outcome.succeeded) return { type: 'published', commit };
  const secrets = authorization?.secrets ?? [];
  const rejection = /^!\t[^\t]*\t(.*)$/m.exec(outcome.output.toString('utf8'))?.[1];
  if (outcome.end !== 'exited' || rejection === undefined) {
    return failureOf(outcome, `pushing ${branch} to ${remote.url}`, secrets);
  }
  // The client itself has seen that the branch is not where the lease says.
  if (rejection.startsWith('[rejected]')) return { type: 'race' };
  const message = refusalMessage(rejection, outcome.errors, secrets);
  return outcomeOfRejection({ branch, expected: request.expected, message }, await refsNear(context));
}

/** Undefined: the remote does not answer, or with too much. */
async function refsNear(context: PublishContext): Promise<RemoteRefs | undefined> {
  const { remote, branch } = context;
  const outcome = await askRemote(context, ['--refs', remote.url, ...namesNear(branch)]);
  if (!outcome.succeeded || !isGitAnswer(remote, outcome)) return undefined;
  const lines = outcome.output.toString('utf8').trimEnd().split('\n');
  return new Map(lines.map((line) => line.split('\t')).map(([commit = '', name = '']) => [name, commit]));
}

/** Git's short reason, followed by the message of the server if it sent one. */
function refusalMessage(rejection: string, errors: string, secrets: readonly string[]): string {
  const message = [...errors.matchAll(/^remote: ?(.*)$/gm)].map((match) => match[1] ?? '').join('\n');
  const short = rejection.replace(/^\[[^\]]*\] /, '').replace(/^\((.*)\)$/, '$1');
  return cleanMessage(message.trim() === '' ? short : `${short}: ${message}`, secrets);
}

async function writeCommit({ git, repository, signal }: PublishContext, request: GitPublishRequest): Promise<string> {
  if (request.expected !== null && !isObjectId(request.expected)) {
    throw new Error('the expected commit is no commit id');
  }
  for (const path of request.changes.keys()) checkPath(path);
  const args = ['fast-import', '--quiet', '--done', '--force', '--date-format=raw'];
  const input = importStream(request);
  const outcome = await git.run({ args, repository, input, deadlineMs: IMPORT_DEADLINE_MS, signal });
  const commit = outcome.output.toString('latin1').trim();
  if (outcome.succeeded && isObjectId(commit)) return commit;
  throw gitCopyError(`writing the commit failed: ${cleanMessage(outcome.errors, []) || outcome.end}`);
}

/** The commands for `git fast-import`, which answers with the id of the new commit. Made as git reads them. */
function* importStream(request: GitPublishRequest): Generator<string, void> {
  const { author, at, message, expected, changes } = request;
  const who = `${withoutDelimiters(author.name)} <${withoutDelimiters(author.email)}> ${Math.floor(at / 1000)} +0000`;
  // Without this line, a commit without `from` would continue from the old value of the ref.
  yield `reset ${PUBLISH_REF}\n\n`;
  yield `commit ${PUBLISH_REF}\nmark :1\nauthor ${who}\ncommitter ${who}\n${dataCommand(message)}`;
  if (expected !== null) yield `from ${expected}\n`;
  // Removals first: a removed file can make room for a folder of the same name.
  for (const [path, text] of changes) if (text === null) yield `D ${quotePath(path)}\n`;
  for (const [path, text] of changes)
    if (text !== null) yield `M 100644 inline ${quotePath(path)}\n${dataCommand(text)}`;
  yield '\nget-mark :1\ndone\n';
}

function dataCommand(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`;
}

/** A name or address of an author, which must not end the line or the address. */
export function withoutDelimiters(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a line end would start another command.
  return text.replace(/[<>\u0000-\u001f\u007f]/g, ' ').trim();
}

/** Throws on a path that a tree must not contain, which is a defect of the caller. */
export function checkPath(path: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a line end would start another command.
  const bad = /[\u0000-\u001f\u007f]/.test(path) || path.split('/').some((part) => /^(|\.|\.\.|\.git)$/i.test(part));
  if (bad) throw new Error(`${JSON.stringify(path)} is not a path that can be published`);
}

/** Quotes a path for the stream. */
function quotePath(path: string): string {
  return `"${path.replace(/["\\]/g, '\\$&')}"`;
}
