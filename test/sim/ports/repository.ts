import { createFakeGitRemote, type FakeGitRemote } from '../../support/git-fake-repo.ts';
import { type FileModel, type Tree, textOfFile } from '../desired.ts';

/** A repository of desired state: its files, and the documents that people meant by them. */
export interface SimRepository {
  readonly source: string;
  readonly remote: FakeGitRemote;
  /** What the tip of the branch holds. */
  tree(): Tree;
  /** What a commit holds; undefined: no commit of this repository. */
  treeAt(commit: string): Tree | undefined;
  tip(): string;
  /** Is `ancestor` in the history of `commit`, or that commit? */
  contains(commit: string, ancestor: string): boolean;
  /** Commits on top of the tip; null removes a file. */
  commit(changes: ReadonlyMap<string, FileModel | null>): string;
  /** As {@link commit}, with a history that contains nothing of what was before. */
  rewrite(changes: ReadonlyMap<string, FileModel | null>): string;
}

export function createSimRepository(source: string): SimRepository {
  const remote = createFakeGitRemote();
  const trees = new Map<string, Tree>();
  const parents = new Map<string, string>();
  let tip = '';

  const push = (changes: ReadonlyMap<string, FileModel | null>, orphan: boolean): string => {
    const tree = new Map(trees.get(tip));
    for (const [path, file] of changes) {
      if (file === null) tree.delete(path);
      else tree.set(path, file);
    }
    const files = orphan ? tree : changes;
    const texts = [...files].map(([path, file]) => [path, file === null ? null : textOfFile(file)] as const);
    const commit = remote.push(Object.fromEntries(texts), { orphan });
    if (!orphan && tip !== '') parents.set(commit, tip);
    trees.set(commit, tree);
    tip = commit;
    return commit;
  };
  return {
    source,
    remote,
    tree: () => trees.get(tip) ?? new Map(),
    treeAt: (commit) => trees.get(commit),
    tip: () => tip,
    contains: (commit, ancestor) => {
      for (let at: string | undefined = commit; at !== undefined; at = parents.get(at))
        if (at === ancestor) return true;
      return false;
    },
    commit: (changes) => push(changes, false),
    rewrite: (changes) => push(changes, true),
  };
}
