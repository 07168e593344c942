import { given } from '../../model/values/given.ts';
import type { Clock } from '../../ports/clock.ts';
import type { GitRepo } from '../../ports/git-repo.ts';
import { copyFailure, DeadlinePassed } from './failures.ts';
import { createSignatureReader, type GitSigners } from './file-signature.ts';
import type { GitCommand } from './git-command.ts';
import { createObjectReading, type GitObjects, isNearAncestor, isObjectId } from './git-objects.ts';
import { FETCHED_COMMIT } from './local-copy.ts';
import { createObjectBatch } from './object-batch.ts';

export type CopyReader = ReturnType<typeof createCopyReader>;

const LOCAL_DEADLINE_MS = 120_000;

export interface CopyReaderOptions {
  readonly signers?: GitSigners | undefined;
  /** A folder of objects that are read too, relative to the working directory of git. */
  readonly otherObjects?: string;
}

interface Context {
  readonly git: GitCommand;
  readonly repository: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly objects: GitObjects;
  readonly hasCommit: (commit: string) => Promise<boolean>;
}

/** The part of a {@link GitRepo} that reads the local copy. Its long-lived processes start at the first use. */
export function createCopyReader(
  git: GitCommand,
  clock: Clock,
  repository: string,
  { signers = {}, otherObjects }: CopyReaderOptions = {},
) {
  const environment = given({ GIT_ALTERNATE_OBJECT_DIRECTORIES: otherObjects });
  const start = (kind: string) => git.start(['cat-file', kind], repository, environment);
  const contents = createObjectBatch(clock, () => start('--batch'), true);
  const headers = createObjectBatch(clock, () => start('--batch-check'), false);
  const objects: GitObjects = { read: contents.read, header: (id) => headers.read(id, 0) };
  const own = createObjectReading(objects);
  const context: Context = { git, repository, environment, objects, hasCommit: own.hasCommit };
  const signaturesOf = createSignatureReader(git, repository, environment, signers);
  let damaged = false;
  const noticed = async <Value>(reading: Promise<Value>): Promise<Value> => {
    try {
      return await reading;
    } catch (error) {
      if (!(error instanceof DeadlinePassed)) damaged = true;
      throw error;
    }
  };
  const reading: Omit<GitRepo, 'address' | 'branch' | 'fetch' | 'fetchRef' | 'publish' | 'close'> = {
    hasCommit: (commit) => noticed(own.hasCommit(commit)),
    isAncestor: (ancestor, descendant) => noticed(isAncestor(context, ancestor, descendant)),
    mergeBase: (a, b) => noticed(mergeBase(context, a, b)),
    commitInfo: (commit) => noticed(own.commitInfo(commit)),
    diff: (from, to, folder) => noticed(own.diff(from, to, folder)),
    measure: (commit, folder, limits) => noticed(own.measure(commit, folder, limits)),
    signaturesOf: (commit, files) => noticed(signaturesOf(commit, files)),
    readBlob: (blob, maxBytes) => noticed(own.readBlob(blob, maxBytes)),
  };
  return {
    reading,
    /** The commit that the last fetch has brought; undefined: none, or the copy cannot be read. */
    fetched: async (): Promise<string | undefined> => {
      const commit = await headers.read(FETCHED_COMMIT, 0).catch(() => undefined);
      return commit?.id;
    },
    /** True if a read has failed since the last call of `restart`. */
    damaged: () => damaged,
    /** Ends the processes that read the copy, because it was replaced. */
    restart: () => {
      damaged = false;
      contents.restart();
      headers.restart();
    },
    /** Ends these processes for good: what is read after that fails. */
    stop: (): void => {
      contents.stop();
      headers.stop();
    },
  };
}

async function isAncestor(context: Context, ancestor: string, descendant: string): Promise<boolean> {
  const areHere = (await context.hasCommit(ancestor)) && (await context.hasCommit(descendant));
  if (!areHere || ancestor === descendant) return areHere;
  const isNear = await isNearAncestor(context.objects, ancestor, descendant);
  if (isNear !== undefined) return isNear;
  const outcome = await runLocal(context, ['merge-base', '--is-ancestor', ancestor, descendant]);
  if (outcome.code === 0 || outcome.code === 1) return outcome.code === 0;
  throw copyFailure('walking the history', outcome);
}

async function mergeBase(context: Context, a: string, b: string): Promise<string | undefined> {
  if (!(await context.hasCommit(a)) || !(await context.hasCommit(b))) return undefined;
  const outcome = await runLocal(context, ['merge-base', a, b]);
  if (outcome.code !== 0 && outcome.code !== 1) throw copyFailure('walking the history', outcome);
  const commit = outcome.output.toString('latin1').trim();
  return isObjectId(commit) ? commit : undefined;
}

function runLocal({ git, repository, environment }: Context, args: readonly string[]) {
  return git.run({ args, repository, environment, deadlineMs: LOCAL_DEADLINE_MS });
}
