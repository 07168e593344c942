import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { quote } from '../../model/fleet/ids.ts';
import { ok, problem, type Result } from '../../model/values/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { GitRepo, TreeEntry } from '../../ports/git-repo.ts';
import { createCopyReader } from './copy-reader.ts';
import { cleanMessage } from './failures.ts';
import { createGitCommand, type GitCall, type GitCommand, homeOutside, type Setting } from './git-command.ts';
import { isObjectId } from './git-objects.ts';
import { type Environment, parseRemote } from './remote.ts';
import { kindOfMode, pathText } from './tree-object.ts';
import { fieldsOf, parseOthers, workTreeRoot } from './work-tree-place.ts';

/** A path that differs between the two ends of a range. */
export interface ChangedPath {
  /** Relative to the root of the work tree. */
  readonly path: string;
  /** The blob of the file at the beginning of the range; null: there was no file. */
  readonly before: string | null;
  /** What is there at the end of the range; null: nothing. */
  readonly now: TreeEntry['kind'] | null;
}

/** What commits, and the work tree after them, have changed. */
export interface WorkTreeChanges {
  /** The absolute path of the root of the work tree, without links. */
  readonly root: string;
  /** The commit at the beginning of the range. */
  readonly from: string;
  /** The commit at its end; null: the work tree. */
  readonly to: string | null;
  readonly changes: readonly ChangedPath[];
  /** Reads a blob; rejects with a `GitCopyError` if git fails. */
  readonly readBlob: GitRepo['readBlob'];
  /** The differences between two commits; rejects with a `GitCopyError` if git fails. */
  readonly diff: GitRepo['diff'];
  /** Ends the process that reads blobs. */
  close(): void;
}

interface Deps {
  readonly clock: Clock;
  /** The environment of this process. */
  readonly environment: Environment;
}

const DEADLINE_MS = 120_000;
const NO_PROGRAM = 'this needs the git program, which could not be started; install git and put it on the PATH';
const MAX_LISTING_BYTES = 256 * 1024 * 1024;

/**
 * Returns what a range of commits has changed in the work tree that holds a folder, from the last commit that both ends
 * share. `A..B` (or `A...B`): between two commits; a single `A`: from there to the work tree with its untracked files. A
 * problem, as a text for people, if there is no work tree, a commit is not known, or git fails.
 */
export async function readWorkTreeChanges(
  deps: Deps,
  folder: string,
  range: string,
  signal?: AbortSignal,
): Promise<Result<WorkTreeChanges>> {
  const remote = parseRemote(resolve(folder));
  if (!remote.ok) return remote;
  const real = await realpath(folder).catch(() => folder);
  const home = homeOutside(workTreeRoot(real) ?? real, deps.environment);
  const gitIn = (directory: string): GitCommand =>
    createGitCommand(deps, { directory, remote: remote.value, caFile: undefined, home });
  const found = await run(gitIn(folder), { args: ['rev-parse', '--show-toplevel', '--absolute-git-dir'], signal });
  if (!found.ok && found.problem === NO_PROGRAM) return found;
  if (!found.ok) return problem(`${quote(folder)} is in no work tree of a git repository (${found.problem})`);
  const [root = '', repository = ''] = found.value.toString('utf8').split('\n');
  const git = gitIn(root);
  const withoutFilters = await run(git, { args: LIST_FILTERS, repository, signal });
  const settings = withoutFilters.ok
    ? [...fieldsOf(withoutFilters.value)].map((name): Setting => [pathText(name), ''])
    : [];
  const ask = (args: readonly string[]) => run(git, { args, repository, settings, signal });
  const commits = await commitsOf(range, ask);
  if (!commits.ok) return commits;
  const { from, to } = commits.value;
  const listing = await ask(['diff', ...DIFF_FLAGS, from, ...(to === null ? [] : [to]), '--']);
  if (!listing.ok) return listing;
  const changes = [...parseDiff(listing.value)];
  if (to === null) {
    const untracked = await ask(['ls-files', '-z', '--others', '--exclude-standard']);
    if (!untracked.ok) return untracked;
    for (const { path, kind } of parseOthers(untracked.value)) changes.push({ path, before: null, now: kind });
  }
  const reader = createCopyReader(git, deps.clock, repository);
  const { readBlob, diff } = reader.reading;
  return ok({ root, from, to, changes, readBlob, diff, close: reader.stop });
}

/**
 * The settings of the repository that name programs which change the content of files. To compare a file, git starts those
 * that the attributes of the file name. Exit code 1: there are none.
 */
const LIST_FILTERS = ['config', '-z', '--name-only', '--get-regexp', '^filter\\..*\\.(clean|smudge|process|required)$'];

/** No setting of the repository changes the form of the answer or starts a program; of a submodule only its commit is looked at. */
const DIFF_FLAGS = [
  '--raw',
  '-z',
  '--no-abbrev',
  '--no-renames',
  '--no-relative',
  '--no-ext-diff',
  '--no-textconv',
  '--ignore-submodules=dirty',
];

type Ask = (args: readonly string[]) => Promise<Result<Buffer>>;

/** The commits of the two ends; `to` null: the work tree. */
async function commitsOf(
  range: string,
  ask: Ask,
): Promise<Result<{ readonly from: string; readonly to: string | null }>> {
  const [, first = range, last] = /^(.*?)\.{2,3}(.*)$/.exec(range) ?? [];
  const begin = await commitOf(first === '' ? 'HEAD' : first, ask);
  if (!begin.ok) return begin;
  const end = await commitOf(last === undefined || last === '' ? 'HEAD' : last, ask);
  if (!end.ok) return end;
  const base = await ask(['merge-base', begin.value, end.value]);
  const from = base.ok ? base.value.toString('latin1').trim() : '';
  if (!isObjectId(from)) {
    return problem(
      `${quote(first)} has no commit in common with ${last === undefined ? 'HEAD' : quote(last)}; a shallow clone needs more history`,
    );
  }
  return ok({ from, to: last === undefined ? null : end.value });
}

async function commitOf(name: string, ask: Ask): Promise<Result<string>> {
  const found = name.startsWith('-')
    ? problem('no name')
    : await ask(['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]);
  const commit = found.ok ? found.value.toString('latin1').trim() : '';
  return isObjectId(commit) ? ok(commit) : problem(`the repository has no commit ${quote(name)}; fetch it first`);
}

/** Parses `diff --raw -z --no-abbrev`: `:mode mode id id status NUL path NUL`. */
function* parseDiff(output: Buffer): Generator<ChangedPath> {
  const fields = fieldsOf(output);
  for (let head = fields.next(); head.done !== true; head = fields.next()) {
    const [oldMode = '', newMode = '', before = ''] = head.value.toString('latin1').slice(1).split(' ');
    const path = pathText(fields.next().value ?? Buffer.alloc(0));
    const now = kindOfMode(newMode);
    // The mode of what is not there is 000000.
    const isThere = now !== 'unknown' && now !== 'folder';
    yield { path, before: kindOfMode(oldMode) === 'file' ? before : null, now: isThere ? now : null };
  }
}

async function run(
  git: GitCommand,
  call: Pick<GitCall, 'args' | 'repository' | 'settings' | 'signal'>,
): Promise<Result<Buffer>> {
  const outcome = await git.run({ ...call, deadlineMs: DEADLINE_MS, maxOutputBytes: MAX_LISTING_BYTES });
  if (outcome.succeeded) return ok(outcome.output);
  return problem(outcome.end === 'missing' ? NO_PROGRAM : cleanMessage(outcome.errors, []) || outcome.end);
}
