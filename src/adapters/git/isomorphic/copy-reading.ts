import type { GitCopyError } from '../../../ports/git-repo.ts';
import { createObjectReading, type GitObjects, type ObjectReading } from '../git-objects.ts';
import { shallowCommits } from './copy-files.ts';
import { createCommitHistory } from './history.ts';

type Arguments<Method extends keyof ObjectReading> = Parameters<ObjectReading[Method]>;

/** The complete history does not have a commit. */
class MissingCommit extends Error implements GitCopyError {
  override readonly name = 'GitCopyError';
}

/** The methods that read the local copy; the first argument of each is not used. `open` makes an empty copy if there is none. */
export function createCopyReading(openRepository: () => Promise<void>, repository: string, objects: GitObjects) {
  const reading = createObjectReading(objects);
  let shallow: ReadonlySet<string> = new Set();
  const history = createCommitHistory({ objects, shallow: () => shallow });
  let isDamaged = false;
  let isOpen = false;
  const open = async (): Promise<void> => {
    if (isOpen) return;
    await openRepository();
    shallow = await shallowCommits(repository);
    isOpen = true;
  };
  /** Remembers that the copy is damaged if the step fails. */
  const read = async <Value>(step: () => Promise<Value>): Promise<Value> => {
    try {
      await open();
      return await step();
    } catch (error) {
      const isOfCopy = error instanceof Error && error.name === 'GitCopyError';
      if (isOfCopy && !(error instanceof MissingCommit)) isDamaged = true;
      throw error;
    }
  };
  /** Reads of commits, which may be in history that is not here yet. */
  const readOf = <Value>(commits: readonly (string | null)[], step: () => Promise<Value>): Promise<Value> =>
    read(async () => {
      for (const commit of commits) {
        if (commit !== null && !(await history.has(commit))) throw new MissingCommit(`the local copy lacks ${commit}`);
      }
      return step();
    });
  return {
    /** To be called before the remote is used. */
    open,
    /** To be called after the remote was used, which may have changed the copy. */
    changed: (): void => {
      isOpen = false;
    },
    /** To be called when a damaged copy was removed. */
    mended: (): void => {
      isDamaged = false;
      isOpen = false;
    },
    /** True if a read has failed since the last call of `mended`. */
    isDamaged: () => isDamaged,
    methods: {
      hasCommit: (_signal: AbortSignal, commit: string) => read(() => history.has(commit)),
      isAncestor: (_signal: AbortSignal, ancestor: string, descendant: string) =>
        read(() => history.isAncestor(ancestor, descendant)),
      mergeBase: (_signal: AbortSignal, a: string, b: string) => read(() => history.mergeBase(a, b)),
      commitInfo: (_signal: AbortSignal, commit: string) => readOf([commit], () => reading.commitInfo(commit)),
      diff: (_signal: AbortSignal, ...[from, to, folder]: Arguments<'diff'>) =>
        readOf([from, to], () => reading.diff(from, to, folder)),
      measure: (_signal: AbortSignal, ...[commit, folder, limits]: Arguments<'measure'>) =>
        readOf([commit], () => reading.measure(commit, folder, limits)),
      readBlob: (_signal: AbortSignal, ...[blob, maxBytes]: Arguments<'readBlob'>) =>
        read(() => reading.readBlob(blob, maxBytes)),
    },
  };
}
