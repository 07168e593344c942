import { type GitObjects, isObjectId, readCommit } from '../git-objects.ts';

/** The answer is in history that the local copy does not have yet. */
export class NeedsHistory extends Error {}

export interface HistoryDeps {
  readonly objects: GitObjects;
  /** The commits whose parents are not in the local copy, though they have some. */
  readonly shallow: () => ReadonlySet<string>;
}

/** A walk down the history of a commit. */
interface Walk {
  /** The parents of each commit. */
  readonly commits: ReadonlyMap<string, readonly string[]>;
  /** Commits among them below which the local copy has nothing. */
  readonly ends: readonly string[];
}

/**
 * Answers questions about a history by the newest part of it, which the local copy has. Throws {@link NeedsHistory} if the rest could
 * change the answer.
 */
export function createCommitHistory({ objects, shallow }: HistoryDeps) {
  const isHere = async (commit: string): Promise<boolean> => (await objects.header(commit))?.type === 'commit';
  /** Whether the commit is in the history of the remote, as far as it is known. */
  const has = async (commit: string): Promise<boolean> => {
    if (!isObjectId(commit)) return false;
    if (await isHere(commit)) return true;
    if (shallow().size > 0) throw new NeedsHistory(commit);
    return false;
  };
  const walk = async (from: string, until?: string): Promise<Walk> => {
    const ending = shallow();
    const commits = new Map<string, readonly string[]>();
    const ends: string[] = [];
    const left = [from];
    for (let commit = left.pop(); commit !== undefined; commit = left.pop()) {
      if (commits.has(commit)) continue;
      const isEnd = ending.has(commit);
      const parents = isEnd ? [] : (await readCommit(objects, commit)).parents;
      commits.set(commit, parents);
      if (isEnd) ends.push(commit);
      if (commit === until) break;
      left.push(...parents.filter((parent) => !commits.has(parent)));
    }
    return { commits, ends };
  };
  return {
    has,
    isAncestor: async (ancestor: string, descendant: string): Promise<boolean> => {
      const areHere = (await has(descendant)) && (await has(ancestor));
      if (!areHere || ancestor === descendant) return areHere;
      const { commits, ends } = await walk(descendant, ancestor);
      if (commits.has(ancestor)) return true;
      if (ends.length > 0) throw new NeedsHistory(ancestor);
      return false;
    },
    mergeBase: async (a: string, b: string): Promise<string | undefined> => {
      if (!(await has(a)) || !(await has(b))) return undefined;
      const [ofA, ofB] = [await walk(a), await walk(b)];
      // All commits below a common end are its ancestors, so only an end that one of them lacks can hide a newer common commit.
      if (ofA.ends.some((end) => !ofB.commits.has(end)) || ofB.ends.some((end) => !ofA.commits.has(end))) {
        throw new NeedsHistory(a);
      }
      const common = [...ofA.commits.keys()].filter((commit) => ofB.commits.has(commit));
      const older = new Set(common.flatMap((commit) => ofA.commits.get(commit) ?? []));
      return newest(
        objects,
        common.filter((commit) => !older.has(commit)),
      );
    },
  };
}

/** Of several best common ancestors git takes the newest. */
async function newest(objects: GitObjects, commits: readonly string[]): Promise<string | undefined> {
  const dated = await Promise.all(
    commits.map(async (commit) => {
      const { start } = await readCommit(objects, commit);
      return { commit, at: Number(/^committer .*> (-?\d+) /m.exec(start.toString('latin1'))?.[1] ?? 0) };
    }),
  );
  return dated.sort((one, other) => other.at - one.at)[0]?.commit;
}
