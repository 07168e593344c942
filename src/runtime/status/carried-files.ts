/**
 * Files that the branch held when this process began, and that nobody has spoken of since. They stay until it is sure
 * that nobody will: a server that has read nothing yet must not empty the branch.
 */
export interface CarriedFiles {
  add(path: string, text: string): void;
  /** The file has been rendered, or is known to go. */
  spokenOf(path: string): void;
  /** What to say of them: once that they stay, and once everything has been read that they go. */
  changes(complete: boolean): ReadonlyMap<string, string | null>;
}

export function createCarriedFiles(): CarriedFiles {
  const files = new Map<string, string>();
  let stated = false;
  return {
    add: (path, text) => void files.set(path, text),
    spokenOf: (path) => void files.delete(path),
    changes: (complete) => {
      const changes = new Map<string, string | null>();
      if (!complete && !stated) for (const [path, text] of files) changes.set(path, text);
      if (complete) {
        // Files that were never stated need no removal: the first statement is the full set.
        if (stated) for (const path of files.keys()) changes.set(path, null);
        files.clear();
      }
      stated = true;
      return changes;
    },
  };
}
