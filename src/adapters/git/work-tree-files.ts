import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { quote } from '../../model/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { FolderMembers, ReadMembers } from '../../ports/file-tree.ts';
import { cleanMessage } from './failures.ts';
import { createGitCommand, type GitCommand, type Setting } from './git-command.ts';
import { type Environment, parseRemote } from './remote.ts';
import { kindOfMode, pathText } from './tree-object.ts';
import type { Listed } from './work-tree-place.ts';

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
 * the folder is in no work tree, or git ignores the folder itself, so that its name asks for its files. Without the program git
 * isomorphic-git answers. It rejects with a text for people if the work tree cannot be listed.
 */
export function createMembersReader(deps: Deps): ReadMembers {
  return async (named) => {
    const folder = await realpath(named).catch(() => undefined);
    const root = folder === undefined ? undefined : workTreeRoot(folder);
    if (folder === undefined || root === undefined) return undefined;
    const remote = parseRemote(resolve(root));
    if (!remote.ok) return undefined;
    const gitIn = (directory: string): GitCommand =>
      createGitCommand(deps, { directory, remote: remote.value, caFile: undefined });
    const listed = await listWithGit(gitIn, folder, root);
    if (listed.type === 'noProgram') {
      const { listWithoutGit } = await import('./isomorphic/work-tree-listing.ts');
      const found = await listWithoutGit(folder, root);
      return found === undefined ? undefined : membersOf(found);
    }
    if (listed.type === 'failed') throw new Error(`git cannot list the files of ${quote(named)}: ${listed.message}`);
    return listed.type === 'listed' ? membersOf(listed.files) : undefined;
  };
}

/** The nearest folder with a `.git`; undefined: there is none. */
function workTreeRoot(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (basename(at) === '.git') return undefined;
    if (existsSync(join(at, '.git'))) return at;
    if (at === dirname(at)) return undefined;
  }
}

type Listing =
  | { readonly type: 'listed'; readonly files: readonly Listed[] }
  | { readonly type: 'none' }
  | { readonly type: 'noProgram' }
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
  const [tracked, untracked] = await Promise.all([
    list(['--cached', '--stage', '-t']),
    list(['--others', '--exclude-standard']),
  ]);
  for (const { succeeded, end, errors } of [tracked, untracked]) {
    if (succeeded) continue;
    if (end === 'missing') return { type: 'noProgram' };
    // A folder of this name that is no repository.
    if (/not a git repository|must be run in a work tree/.test(errors)) return { type: 'none' };
    return { type: 'failed', message: cleanMessage(errors, []) || end };
  }
  const files = [...parseStage(tracked.output), ...parseOthers(untracked.output)];
  if (files.length === 0 && folder !== root) {
    const args = ['check-ignore', '--quiet', '--', `./${basename(folder)}/`];
    const call = { args, takesPatterns: true, settings: SETTINGS, deadlineMs: DEADLINE_MS } as const;
    const ignored = await gitIn(dirname(folder)).run(call);
    if (ignored.succeeded) return { type: 'none' };
  }
  return { type: 'listed', files };
}

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

/** A path with a slash at its end is a repository of its own, of which git would commit a submodule. */
function* parseOthers(output: Buffer): Generator<Listed> {
  for (const entry of fieldsOf(output)) {
    const path = pathText(entry);
    yield path.endsWith('/') ? { path: path.slice(0, -1), kind: 'submodule' } : { path, kind: 'file' };
  }
}

function* fieldsOf(output: Buffer): Generator<Buffer> {
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf(0, at);
    if (end < 0) return;
    yield output.subarray(at, end);
    at = end + 1;
  }
}

function membersOf(listed: readonly Listed[]): FolderMembers {
  const kinds = new Map<string, Listed['kind']>();
  const folders = new Set<string>();
  const leftOut: string[] = [];
  for (const { path, kind, isLeftOut } of listed) {
    if (isLeftOut === true) {
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
