import { errorText } from '../../model/error-text.ts';
import type { GitFetchOutcome, GitRepo } from '../../ports/git-repo.ts';
import type { Log } from '../../ports/log.ts';
import type { Admission, Candidate, Refusal } from '../tree/admission.ts';
import type { ReadTreeFile, TreeReader } from '../tree/tree-reader.ts';

/** What a vanished branch is called as a revision, so that a person can accept it. */
export const NO_BRANCH = 'no-branch';

/** What one look works with. */
export interface GitLook {
  readonly repo: GitRepo;
  readonly reader: TreeReader;
  readonly admission: Admission;
  readonly log: Log;
  /** Sub-folder, without slashes at its ends. */
  readonly folder: string;
  readonly maxFileBytes: number;
}

/**
 * Fetches, and admits, refuses or reports what it finds. `fetching`: a fetch that has begun for this look already.
 * Resolves with whether the look succeeded; never rejects.
 */
export async function lookOnce(
  look: GitLook,
  signal: AbortSignal,
  fetching?: Promise<GitFetchOutcome>,
): Promise<boolean> {
  try {
    return await takeOutcome(look, await (fetching ?? look.repo.fetch(signal)));
  } catch (error) {
    if (signal.aborted) return false;
    const message = errorText(error);
    look.log.error('a source could not be read', { detail: message });
    look.admission.failing('ReadFailed', message);
    return false;
  }
}

async function takeOutcome(look: GitLook, outcome: GitFetchOutcome): Promise<boolean> {
  switch (outcome.type) {
    case 'fetched':
      await takeTip(look, outcome.commit);
      return true;
    case 'absent':
      return takeAbsence(look);
    case 'failed':
      if (outcome.reason === 'Stopped') return false;
      await fallBack(look);
      look.admission.failing(outcome.reason, outcome.message);
      return false;
  }
}

async function takeTip(look: GitLook, tip: string): Promise<void> {
  const { admission, reader } = look;
  // A person may accept a waiting revision while this one is being read; it is then read again from there.
  for (;;) {
    if (tip === admission.observed()) return admission.synced();
    if (tip === admission.waiting()) return admission.stillRefused();
    const candidate = await readRevision(look, tip);
    const refusal = await refusalOf(look, candidate);
    const fellBack = refusal !== undefined && (await fallBack(look));
    if (fellBack || !reader.isCurrent(candidate.prepared)) continue;
    if (refusal !== undefined) return admission.refuse(candidate, refusal);
    admission.enter(candidate);
    return admission.synced();
  }
}

async function takeAbsence(look: GitLook): Promise<boolean> {
  const { admission, reader, repo } = look;
  if (admission.admitted() === undefined) {
    const message = `there is nothing yet at ${repo.branch} of ${repo.address}; push to it, or configure another branch`;
    admission.failing('BranchNotFound', message);
    return false;
  }
  await fallBack(look);
  for (;;) {
    if (admission.observed() === NO_BRANCH) admission.synced();
    else if (admission.waiting() === NO_BRANCH) admission.stillRefused();
    else {
      const gone = reader.paths().map((path) => ({ path, entry: null }));
      const candidate = { revision: NO_BRANCH, prepared: await reader.prepare(gone, readerOf(look)) };
      if (!reader.isCurrent(candidate.prepared)) continue;
      if (admission.admitted() === NO_BRANCH) {
        admission.enter(candidate);
        continue;
      }
      const message = `the branch ${repo.branch} has vanished from ${repo.address}`;
      admission.refuse(candidate, { reason: 'BranchVanished', message });
    }
    return true;
  }
}

/**
 * Tells of the admitted revision, if this process has not yet and the local copy still has it: a restart while the
 * remote is broken or its newest state is refused goes on from what was there. True if it did.
 */
async function fallBack(look: GitLook): Promise<boolean> {
  const { admission, reader, repo } = look;
  const admitted = admission.admitted();
  if (admission.observed() !== undefined || admitted === undefined || !(await copyHas(repo, admitted))) return false;
  const candidate = await readRevision(look, admitted);
  if (!reader.isCurrent(candidate.prepared)) return false;
  admission.enter(candidate);
  return true;
}

/** A copy that was never made has nothing; that is no trouble here. */
async function copyHas(repo: GitRepo, commit: string): Promise<boolean> {
  return repo.hasCommit(commit).catch(() => false);
}

async function readRevision(look: GitLook, revision: string): Promise<Candidate> {
  const { admission, reader, repo, folder } = look;
  const observed = admission.observed();
  const from = observed === undefined || observed === NO_BRANCH ? null : observed;
  const [changes, description] = await Promise.all([repo.diff(from, revision, folder), repo.commitInfo(revision)]);
  return { revision, description, prepared: await reader.prepare(changes, readerOf(look)) };
}

function readerOf({ repo, maxFileBytes }: GitLook): ReadTreeFile {
  return async (_path, entry) => {
    const outcome = await repo.readBlob(entry.blob, maxFileBytes);
    switch (outcome.type) {
      case 'read':
        return { bytes: outcome.bytes };
      case 'oversized':
        return { reason: `is ${outcome.size} bytes large; at most ${maxFileBytes} are read` };
      case 'missing':
        // No fault of the file: the copy lacks what its own tree names.
        throw new Error(`the local copy lacks the object ${entry.blob}`);
    }
  };
}

async function refusalOf(look: GitLook, { revision, prepared }: Candidate): Promise<Refusal | undefined> {
  const { admission, repo, reader, folder } = look;
  const admitted = admission.admitted();
  if (admitted === undefined || admitted === revision || admitted === NO_BRANCH) return undefined;
  if (!(await repo.isAncestor(admitted, revision))) {
    const [now, before] = [revision.slice(0, 12), admitted.slice(0, 12)];
    const message = `the history of ${repo.branch} was rewritten: ${now} does not contain ${before}, which was admitted before`;
    return { reason: 'HistoryRewritten', message };
  }
  // What an earlier process admitted had manifests, unless it can be seen that it had not.
  const hadNone = admission.observed() !== undefined && reader.manifests() === 0;
  if (prepared.manifests > 0 || hadNone) return undefined;
  const where = folder === '' ? `the branch ${repo.branch}` : `the folder ${JSON.stringify(folder)} of ${repo.branch}`;
  return { reason: 'EmptyTree', message: `${where} holds no manifest any more at ${revision.slice(0, 12)}` };
}
