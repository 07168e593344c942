import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import git from 'isomorphic-git';
import type { GitFailure, GitFetchOutcome } from '../../../ports/git-repo.ts';
import { failed } from '../failures.ts';
import { isObjectId } from '../git-objects.ts';
import { copyPaths, FETCHED_REF } from '../local-copy.ts';
import { parseBranch, parseRef } from '../remote.ts';
import { copyFiles, mergePacks, openRepository, packNames, readRef, removePacks, writeRef } from './copy-files.ts';
import type { PackObjects } from './pack-objects.ts';
import { askForRef, type RemoteContext } from './remote-calls.ts';
import { replaceCopy, type Target, transfer, type Wanted } from './transfer.ts';

export interface FetchingOptions {
  readonly directory: string;
  readonly maxCopyBytes: number;
  /** Undefined: the remote's default branch. */
  readonly branch: string | undefined;
  /** For one call over the network, in milliseconds. */
  readonly deadlineMs: number;
  readonly objects: PackObjects;
}

/** The local copy and what is known of it. */
interface Copy extends Target {
  readonly paths: readonly [string, string, string];
  readonly deadlineMs: number;
  branch: string | undefined;
  /** What `fetchRef` has fetched: the ref, and the packs it has brought. */
  other: { readonly ref: string; readonly packs: ReadonlySet<string> } | undefined;
  /** The tip that needs too much disk. */
  refused: { readonly tip: string; readonly failure: GitFailure } | undefined;
  /** The next of {@link DEPTHS}. */
  stage: number;
}

/** The ref of the local copy with what `fetchRef` has fetched. */
const OTHER_REF = 'refs/fleetrelay/other';
/** What deepens a history: commits from the tip. After the last the history is complete. */
const DEPTHS = [100, 2_000, 0x7f_ff_ff_ff];

/**
 * Fetches with isomorphic-git. A first fetch has depth 1 and later ones have none, because with a depth the server sends everything
 * again; and the ref that is fetched always names the last fetched commit, because only that is told to the server.
 */
export function createFetching({ directory, branch, ...options }: FetchingOptions) {
  const paths = copyPaths(directory);
  const [repository, fresh, old] = paths;
  const state = { branch, other: undefined, refused: undefined, stage: 0 };
  const copy: Copy = { ...options, ...state, paths, repository };
  return {
    /** The branch; undefined until its name is known. */
    branch: () => copy.branch,
    /** Makes an empty copy if there is none. */
    open: async (): Promise<void> => {
      await rm(fresh, { recursive: true, force: true });
      // The process ended between the two renames of a replacement: the old copy is valid.
      if (!existsSync(repository) && existsSync(old)) await rename(old, repository);
      await openRepository(repository);
    },
    /** Removes a damaged copy. */
    clear: async (): Promise<void> => {
      copy.objects.refresh();
      forget(copy);
      await rm(repository, { recursive: true, force: true });
    },
    fetch: async (context: RemoteContext): Promise<GitFetchOutcome> => {
      const problem = copy.branch === undefined ? await findDefaultBranch(copy, context) : undefined;
      return problem ?? fetchTip(copy, context, copy.branch ?? '');
    },
    fetchRef: async (context: RemoteContext, name: string): Promise<GitFetchOutcome> => {
      const ref = parseRef(name);
      return ref.ok ? fetchRef(copy, context, ref.value) : { type: 'absent' };
    },
    /** Fetches more of the history of the branch; after some calls all of it. Undefined: it is here. */
    deepen: async (context: RemoteContext): Promise<GitFailure | undefined> => {
      const depth = DEPTHS[Math.min(copy.stage, DEPTHS.length - 1)];
      const what = `fetching the history of ${copy.branch} from ${context.url}`;
      const outcome = await transfer(context, copy, { local: FETCHED_REF, remote: refOf(copy.branch), what, depth });
      copy.stage += 1;
      return outcome.type === 'failed' ? outcome : undefined;
    },
  };
}

function refOf(branch: string | undefined): string {
  return `refs/heads/${branch}`;
}

function forget(copy: Copy): void {
  copy.other = undefined;
  copy.stage = 0;
}

async function hasCommit({ objects }: Copy, commit: string): Promise<boolean> {
  return (await objects.objects.header(commit).catch(() => undefined))?.type === 'commit';
}

/** False if the copy lacks what was fetched, or cannot be read. */
async function hasFetched(copy: Copy, outcome: GitFetchOutcome): Promise<boolean> {
  return outcome.type !== 'fetched' || hasCommit(copy, outcome.commit);
}

/** Sets the branch. The result is undefined, or the reason why the branch is not known. */
async function findDefaultBranch(copy: Copy, context: RemoteContext): Promise<GitFetchOutcome | undefined> {
  const head = await askForRef(context, 'HEAD', `fetching the default branch from ${context.url}`);
  if (head.type === 'failed') return head;
  const name = parseBranch(head.value?.target?.replace(/^refs\/heads\//, '') ?? '');
  if (!name.ok) return { type: 'absent' };
  copy.branch = name.value;
  return undefined;
}

async function fetchTip(copy: Copy, context: RemoteContext, name: string): Promise<GitFetchOutcome> {
  const { repository, refused, objects } = copy;
  const wanted: Wanted = { local: FETCHED_REF, remote: refOf(name), what: `fetching ${name} from ${context.url}` };
  const tip = await askForRef(context, wanted.remote, wanted.what);
  if (tip.type === 'failed') return tip;
  if (tip.value === undefined) return { type: 'absent' };
  const { commit } = tip.value;
  if (refused?.tip === commit) return refused.failure;
  if ((await readRef(repository)) === commit && (await hasCommit(copy, commit))) return { type: 'fetched', commit };
  const outcome = await fetchOrReplace(copy, context, wanted);
  const isTooLarge = outcome.type === 'failed' && outcome.reason === 'TooLarge';
  copy.refused = isTooLarge ? { tip: commit, failure: outcome } : undefined;
  if (outcome.type !== 'fetched') return outcome;
  if (!(await hasFetched(copy, outcome))) {
    return failed('BadObjects', `${wanted.what} failed: the server did not send its commit`);
  }
  await writeRef(repository, FETCHED_REF, outcome.commit);
  if (await mergePacks(repository, copy.other?.packs ?? new Set())) objects.refresh();
  return outcome;
}

async function fetchOrReplace(copy: Copy, context: RemoteContext, wanted: Wanted): Promise<GitFetchOutcome> {
  const outcome = await fetchFurther(copy, context, wanted);
  // A part of a copy that is too large may be history that the branch has left behind. A damaged one hides what was fetched.
  const isUsable = outcome.type === 'failed' ? outcome.reason !== 'TooLarge' : await hasFetched(copy, outcome);
  if (isUsable) return outcome;
  const replaced = await replaceCopy(context, copy, wanted, copy.paths);
  if (replaced.type === 'fetched') forget(copy);
  return replaced;
}

async function fetchFurther(copy: Copy, context: RemoteContext, wanted: Wanted): Promise<GitFetchOutcome> {
  const known = await readRef(copy.repository);
  if (known === undefined || !(await hasCommit(copy, known))) return transfer(context, copy, { ...wanted, depth: 1 });
  // After a rewritten history the server sends all of it. If that takes long, its tip alone is fetched, beside what is here.
  const patience = AbortSignal.any([context.signal, AbortSignal.timeout(copy.deadlineMs / 3)]);
  const outcome = await transfer({ ...context, signal: patience }, copy, wanted);
  const isTooLong = outcome.type === 'failed' && outcome.reason === 'Stopped' && !context.signal.aborted;
  return isTooLong ? transfer(context, copy, { ...wanted, depth: 1 }) : outcome;
}

async function fetchRef(copy: Copy, context: RemoteContext, ref: string): Promise<GitFetchOutcome> {
  const { repository, objects } = copy;
  if (await hasCommit(copy, ref)) return { type: 'fetched', commit: ref };
  const what = `fetching ${ref} from ${context.url}`;
  if (!isObjectId(ref)) {
    const tip = await askForRef(context, ref, what);
    if (tip.type === 'failed') return tip;
    if (tip.value === undefined) return { type: 'absent' };
  }
  if (copy.other?.ref !== ref) await discardOther(copy);
  const kept = copy.other?.packs ?? [];
  const before = new Set(await packNames(repository));
  const outcome = await transfer(context, copy, { local: OTHER_REF, remote: ref, what });
  const added = (await packNames(repository)).filter((pack) => !before.has(pack));
  copy.other = { ref, packs: new Set([...kept, ...added]) };
  if (outcome.type !== 'fetched') return isObjectId(ref) ? notServed(outcome) : outcome;
  const commit = await peeled(objects, outcome.commit);
  // A ref that names no commit has none to fetch; of a commit that is not served nothing arrives.
  if (commit === undefined) return { type: 'absent' };
  await writeRef(repository, OTHER_REF, commit);
  return { type: 'fetched', commit };
}

/** Removes what was fetched for another ref. The server is then told that the branch is here. */
async function discardOther(copy: Copy): Promise<void> {
  const { repository, objects, other } = copy;
  copy.other = undefined;
  objects.refresh();
  await removePacks(repository, [...(other?.packs ?? [])]);
  const known = await readRef(repository);
  if (known !== undefined) await writeRef(repository, OTHER_REF, known);
  else await git.deleteRef({ fs: copyFiles, gitdir: repository, ref: OTHER_REF });
}

/** A server that does not have a commit, or does not serve it, ends the answer with an error. */
function notServed(outcome: GitFetchOutcome): GitFetchOutcome {
  const isRefused = outcome.type === 'failed' && /not our ref|unadvertised/i.test(outcome.message);
  return isRefused ? { type: 'absent' } : outcome;
}

/** The commit that an object names: itself, or of a tag its target. */
async function peeled({ objects }: PackObjects, id: string): Promise<string | undefined> {
  let at = id;
  for (let tags = 0; tags < 10; tags += 1) {
    const object = await objects.read(at, 64 * 1024, true);
    if (object?.type === 'commit') return at;
    const target = /^object ([0-9a-f]{40})$/m.exec(object?.bytes?.toString('latin1') ?? '')?.[1];
    if (object?.type !== 'tag' || target === undefined) return undefined;
    at = target;
  }
  return undefined;
}
