import { lstatSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { quote } from '../../model/fleet/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { FolderMembers, ReadMembers } from '../../ports/file-tree.ts';
import { cleanMessage } from './failures.ts';
import { createGitCommand, type GitCommand, homeOutside, type ProcessOutcome, type Setting } from './git-command.ts';
import { type Environment, parseRemote } from './remote.ts';
import { kindOfMode, pathText } from './tree-object.ts';
import { ANY_MANIFEST, fieldsOf, type Listed, parseOthers, workTreeRoot } from './work-tree-place.ts';

interface Deps {
  readonly clock: Clock;
  /** The environment of this process. */
  readonly environment: Environment;
}

const DEADLINE_MS = 120_000;
const MAX_LISTING_BYTES = 256 * 1024 * 1024;
/** The work tree may be of another user, as in a container. None of these commands starts a program that the repository names. */
const SETTINGS: readonly Setting[] = [['safe.directory', '*']];

/**
 * Returns a function that finds what git would commit of a folder: tracked files, and untracked ones that are not ignored. Undefined:
 * the folder is in no work tree, or git ignores what lies in it, so that its name asks for its files. Without the program git, or if git
 * refuses the work tree of another user, isomorphic-git answers. It rejects with a text for people if the work tree cannot be listed.
 */
export function createMembersReader(deps: Deps): ReadMembers {
  return async (named) => {
    const folder = await realpath(named).catch(() => undefined);
    const root = folder === undefined ? undefined : workTreeRoot(folder);
    if (folder === undefined || root === undefined) return undefined;
    const remote = parseRemote(resolve(root));
    if (!remote.ok) return undefined;
    const home = homeOutside(root, deps.environment);
    const gitIn = (directory: string): GitCommand =>
      createGitCommand(deps, { directory, remote: remote.value, caFile: undefined, home });
    const listed = await listWithGit(gitIn, folder, root);
    if (listed.type === 'noAnswer') {
      const { listWithoutGit } = await import('./isomorphic/work-tree-listing.ts');
      const found = await listWithoutGit(folder, root);
      return found === undefined ? undefined : membersOf(folder, found);
    }
    if (listed.type === 'failed') throw new Error(`git cannot list the files of ${quote(named)}: ${listed.message}`);
    return listed.type === 'listed' ? membersOf(folder, listed.files) : undefined;
  };
}

type Listing =
  | { readonly type: 'listed'; readonly files: readonly Listed[] }
  | { readonly type: 'none' }
  /** There is no program git, or it refuses the work tree of another user. */
  | { readonly type: 'noAnswer' }
  | { readonly type: 'failed'; readonly message: string };

async function listWithGit(gitIn: (directory: string) => GitCommand, folder: string, root: string): Promise<Listing> {
  const git = gitIn(folder);
  const list = (args: readonly string[]) =>
    git.run({
      args: ['ls-files', '-z', ...args],
      settings: SETTINGS,
      deadlineMs: DEADLINE_MS,
      maxOutputBytes: MAX_LISTING_BYTES,
    });
  const where = { args: ['rev-parse', '--show-toplevel'], settings: SETTINGS, deadlineMs: DEADLINE_MS };
  const [tracked, untracked, top] = await Promise.all([
    list(['--cached', '--stage', '-t']),
    list(['--others', '--exclude-standard']),
    git.run(where),
  ]);
  for (const outcome of [tracked, untracked, top]) {
    const failure = failureOf(outcome);
    if (failure !== undefined) return failure;
  }
  const named = top.output.toString('utf8').replace(/\r?\n$/, '');
  if ((await realpath(named).catch(() => named)) !== root) {
    return { type: 'failed', message: `its configuration (core.worktree) names another work tree, ${quote(named)}` };
  }
  const files = [...parseStage(tracked.output), ...parseOthers(untracked.output)];
  if (folder !== root && files.every(({ path }) => basename(path).startsWith('.'))) {
    const args = ['check-ignore', '--quiet', '--no-index', '--', `./${basename(folder)}/${ANY_MANIFEST}`];
    const call = { args, takesPatterns: true, settings: SETTINGS, deadlineMs: DEADLINE_MS } as const;
    const ignored = await gitIn(dirname(folder)).run(call);
    if (ignored.succeeded) return { type: 'none' };
  }
  return { type: 'listed', files };
}

function failureOf({ succeeded, end, errors }: ProcessOutcome): Listing | undefined {
  if (succeeded) return undefined;
  // Versions before 2.38 take the permission from the settings of the user alone.
  if (end === 'missing' || /unsafe repository|dubious ownership/.test(errors)) return { type: 'noAnswer' };
  // A folder of this name that is no repository.
  if (/not a git repository|invalid gitfile format|must be run in a work tree/.test(errors)) return { type: 'none' };
  return { type: 'failed', message: cleanMessage(errors, []) || WHY_ENDED[end] };
}

const WHY_ENDED: Readonly<Record<ProcessOutcome['end'], string>> = {
  exited: 'it gave no reason',
  timedOut: `it gave no answer within ${DEADLINE_MS / 1000} seconds`,
  aborted: 'it was ended',
  overflow: `its answer is larger than ${MAX_LISTING_BYTES} bytes`,
  missing: 'it could not be started',
};

/** Parses `ls-files --stage -t -z`: `tag SPACE mode SPACE id SPACE stage TAB path NUL`. A conflict has a path several times. */
function* parseStage(output: Buffer): Generator<Listed> {
  for (const entry of fieldsOf(output)) {
    const tab = entry.indexOf('\t');
    const [tag, mode = ''] = entry.subarray(0, tab).toString('latin1').split(' ');
    const kind = kindOfMode(mode);
    if (kind === 'folder' || kind === 'unknown') continue;
    yield { path: pathText(entry.subarray(tab + 1)), kind, ...(tag === 'S' ? { isLeftOut: true } : {}) };
  }
}

/** @param root the folder, absolute: a file that is there after all, although git was told to leave it out, is a member as the others are */
function membersOf(root: string, listed: readonly Listed[]): FolderMembers {
  const kinds = new Map<string, Listed['kind']>();
  const folders = new Set<string>();
  const leftOut: string[] = [];
  for (const { path, kind, isLeftOut } of listed) {
    if (isLeftOut === true && lstatSync(join(root, path), { throwIfNoEntry: false }) === undefined) {
      leftOut.push(path);
      continue;
    }
    kinds.set(path, kind);
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  return { kindOf: (path) => kinds.get(path), reaches: (folder) => folders.has(folder), leftOut };
}
