import type { SourceName } from '../../model/fleet/ids.ts';
import { defaultRevisionLimits, type RevisionLimits } from '../../model/limits/revision-limits.ts';
import type { Clock } from '../../ports/clock.ts';
import type { GitFetchOutcome, GitRepo } from '../../ports/git-repo.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { RefChanges, RefRefusal, Source } from '../../ports/source.ts';
import type { Turn } from '../tree/pace.ts';
import { createPoller } from '../tree/poller.ts';
import {
  createRevisionCheck,
  type ExceedingRevision,
  type ReadRevision,
  type Refusal,
  type RevisionCheck,
} from '../tree/revision-check.ts';
import type { DecodeFile, ReadTreeFile } from '../tree/tree-file.ts';
import { changesTo, readTree } from '../tree/tree-reader.ts';
import { approvalSignatures, signaturesAt } from './approval-signatures.ts';
import { blobReader, findRef } from './read-ref.ts';

export interface GitSourceOptions {
  readonly name: SourceName;
  readonly pollIntervalSeconds: number;
  /** Sub-folder to follow; the complete repository unless set. */
  readonly path?: string;
  /** Larger files are unreadable; 16 MiB unless set. */
  readonly maxFileBytes?: number;
  /** The defaults unless set. */
  readonly limits?: RevisionLimits;
  /** Whether signatures of commits count for RemovalApprovals; they do not unless set. */
  readonly judgesSignatures?: boolean;
  /** The longest wait between looks while they fail; 300 unless set. */
  readonly maxRetrySeconds?: number;
}

export interface GitSourceDeps {
  /** The branch to follow; the source closes it. */
  readonly repo: GitRepo;
  readonly decode: DecodeFile;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** What one look works with. */
interface Following {
  readonly repo: GitRepo;
  readonly decode: DecodeFile;
  readonly check: RevisionCheck;
  /** Sub-folder, without slashes at its ends. */
  readonly folder: string;
  readonly maxFileBytes: number;
  readonly limits: RevisionLimits;
  readonly judgesSignatures: boolean;
  readonly turn: Turn;
  /** A fetch that began before the first look, for that look. */
  prefetched: Promise<GitFetchOutcome> | undefined;
}

/** The revision of a branch that was deleted, so that a person can accept it. */
const NO_BRANCH = 'no-branch';

/**
 * Follows one branch of a repository. A revision is observed after it was fetched and read completely. A rewritten
 * history, a deleted branch and an empty tree wait for a person.
 */
export function createGitSource(deps: GitSourceDeps, options: GitSourceOptions): Source {
  const { repo, decode, clock, random } = deps;
  const { name, maxFileBytes = 16 * 1024 * 1024, limits = defaultRevisionLimits, maxRetrySeconds = 300 } = options;
  const { judgesSignatures = false } = options;
  const log = deps.log.child({ source: name });
  const folder = folderOf(options.path ?? '');
  const describe = (revision: string): string =>
    revision === NO_BRANCH ? `no branch ${repo.branch}` : `${repo.branch} at ${revision.slice(0, 12)}`;
  const check = createRevisionCheck(log, name, describe);
  const read = { folder, maxFileBytes, limits, judgesSignatures };
  const turn = (): Promise<void> => clock.sleep(0);
  const following: Following = { repo, decode, check, ...read, turn, prefetched: undefined };
  const intervalMs = options.pollIntervalSeconds * 1000;
  const stopping = new AbortController();
  let isStarted = false;
  const poller = createPoller(
    { clock, random, look: (signal) => lookOnce(following, signal), failed: check.failed },
    { intervalMs, retryMs: Math.min(intervalMs, 2_000), maxRetryMs: maxRetrySeconds * 1000 },
  );
  return {
    name,
    address: `${repo.address} ${repo.branch}${folder === '' ? '' : ` ${folder}/`}`,
    start: (listener, admitted) => {
      check.start(listener, admitted);
      isStarted = true;
      poller.start();
    },
    prefetch: () => {
      following.prefetched = repo.fetch(stopping.signal);
      // The first look handles a rejection; until then no one awaits the promise.
      following.prefetched.catch(() => undefined);
    },
    trigger: () => {
      // Before the start there is no listener: the first look fetches again, because the prefetched tip is outdated.
      if (isStarted) poller.trigger();
      else following.prefetched = undefined;
    },
    look: poller.look,
    accept: check.accept,
    readRef: (ref, signal) => readOther(following, ref, signal),
    read: async (_path, blob) => {
      const outcome = await repo.readBlob(blob, maxFileBytes).catch(() => undefined);
      return outcome?.type === 'read' ? outcome.bytes : undefined;
    },
    stop: async () => {
      stopping.abort();
      await poller.stop();
      await repo.close();
    },
  };
}

/** Finds what another ref than the branch would change. */
async function readOther(following: Following, ref: string, signal: AbortSignal): Promise<RefChanges | RefRefusal> {
  const { observed, tree } = following.check.state;
  if (observed === undefined || observed === NO_BRANCH) {
    return { type: 'refused', reason: 'NotRead', message: 'no revision of the source was read yet' };
  }
  return findRef(following, { revision: observed, tree }, ref, signal);
}

/** Returns `config/prod` for `./config/prod/`; the root is empty. A path that leads out of the repository matches nothing. */
function folderOf(path: string): string {
  return path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');
}

/** Fetches, and admits, refuses or reports the outcome. Resolves with whether the look succeeded. */
async function lookOnce(following: Following, signal: AbortSignal): Promise<boolean> {
  const { repo, check, prefetched } = following;
  following.prefetched = undefined;
  const outcome = await (prefetched ?? repo.fetch(signal));
  if (outcome.type === 'fetched') return takeTip(following, outcome.commit);
  if (outcome.type === 'failed') {
    if (outcome.reason === 'Stopped') return false;
    await fallBack(following);
    check.failing(outcome.reason, outcome.message);
    return false;
  }
  if (check.state.admitted !== undefined) return takeTip(following, NO_BRANCH);
  const message = `there is nothing yet at ${repo.branch} of ${repo.address}; push to it, or configure another branch`;
  check.failing('BranchNotFound', message);
  return false;
}

async function takeTip(following: Following, tip: string): Promise<true> {
  const { check } = following;
  // A person may accept the waiting revision while this one is read: then this one is read again after that one.
  while (!check.found(tip)) {
    const [read, isDescendant] = await Promise.all([
      readRevision(following, tip),
      descendsFromAdmitted(following, tip),
    ]);
    if ('excess' in read) {
      await fallBack(following);
      return check.exceed(read);
    }
    const refusal = refusalOf(following, read, isDescendant);
    if (refusal === undefined) check.admit(read);
    else if (!(await fallBack(following))) check.refuse(read, refusal);
  }
  return true;
}

/**
 * Observes the admitted revision if this process has observed none and the local copy has it. So a restart while the
 * remote is broken, or its newest revision is refused, continues from the admitted revision. Returns whether it did.
 */
async function fallBack(following: Following): Promise<boolean> {
  const { check, repo } = following;
  const { admitted, observed } = check.state;
  if (observed !== undefined || admitted === undefined) return false;
  // A copy that does not exist yet rejects.
  const hasIt = await repo.hasCommit(admitted).catch(() => false);
  const read = hasIt ? await readRevision(following, admitted) : undefined;
  return read !== undefined && !('excess' in read) && check.admit(read);
}

async function readRevision(following: Following, revision: string): Promise<ReadRevision | ExceedingRevision> {
  const { repo, check, decode, folder, maxFileBytes, limits, judgesSignatures, turn } = following;
  const { observed, tree, waiting } = check.state;
  const reading = { decode, read: readerOf(following), maxFileBytes, limits, spare: waiting?.read.tree, turn };
  if (revision === NO_BRANCH) return { revision, ...(await readTree(reading, tree, changesTo(tree, new Map()))) };
  const excess = await repo.measure(revision, folder, limits);
  if (excess !== undefined) return { revision, excess };
  const from = observed === undefined || observed === NO_BRANCH ? null : observed;
  const [changes, description] = await Promise.all([repo.diff(from, revision, folder), repo.commitInfo(revision)]);
  const read = await readTree(reading, tree, changes);
  if ('excess' in read || !judgesSignatures) return { revision, description, ...read };
  return {
    revision,
    description,
    ...read,
    signatures: await approvalSignatures(signaturesAt(repo, revision, folder), read.tree),
  };
}

function readerOf({ repo, maxFileBytes }: Following): ReadTreeFile {
  return blobReader((blob) => repo.readBlob(blob, maxFileBytes), maxFileBytes);
}

/** True also if no commit was admitted. */
async function descendsFromAdmitted({ check, repo }: Following, tip: string): Promise<boolean> {
  const { admitted } = check.state;
  if (admitted === undefined || admitted === NO_BRANCH || tip === NO_BRANCH) return true;
  return repo.isAncestor(admitted, tip);
}

function refusalOf(
  { check, repo, folder }: Following,
  { revision, tree }: ReadRevision,
  isDescendant: boolean,
): Refusal | undefined {
  const { admitted, observed, tree: before } = check.state;
  if (admitted === undefined || admitted === revision || admitted === NO_BRANCH) return undefined;
  if (revision === NO_BRANCH) {
    return { reason: 'BranchVanished', message: `the branch ${repo.branch} has vanished from ${repo.address}` };
  }
  if (!isDescendant) {
    const [now, then] = [revision.slice(0, 12), admitted.slice(0, 12)];
    const message = `the history of ${repo.branch} was rewritten: ${now} does not contain ${then}, which was admitted before`;
    return { reason: 'HistoryRewritten', message };
  }
  // Assume that the revision of an earlier process had manifests, unless its tree is known.
  const hadNone = observed !== undefined && before.manifests === 0;
  if (tree.manifests > 0 || hadNone) return undefined;
  const where = folder === '' ? `the branch ${repo.branch}` : `the folder ${JSON.stringify(folder)} of ${repo.branch}`;
  return { reason: 'EmptyTree', message: `${where} holds no manifest any more at ${revision.slice(0, 12)}` };
}
