import { type Excess, excessOf, mostPathBytes, type RevisionLimits } from '../../model/limits/revision-limits.ts';
import { entriesOf, isFolder } from './tree-object.ts';

/** Reads a tree object; undefined: there is none, or it is larger than `maxBytes`. */
export type ReadTreeObject = (tree: string, maxBytes: number) => Promise<Buffer | 'oversized' | undefined>;

/** What is below a folder. */
interface Measure {
  /** Files and folders. */
  readonly entries: number;
  /** Levels of folders below this one. */
  readonly depth: number;
  /** The length of the paths, relative to the folder. */
  readonly pathBytes: number;
}

class BeyondLimit extends Error {
  readonly excess: Excess;
  constructor(excess: Excess) {
    super();
    this.excess = excess;
  }
}

const MOST_KNOWN = 100_000;
/** Of one entry: the longest mode and object id, a space and a zero. */
const LONGEST_FRAME = 40;

/**
 * Counts trees without listing them. A folder is read once, however many paths lead to it and however many revisions have
 * it: so a few objects that stand for millions of paths cost a few reads, and a new revision costs what it has changed.
 */
export function createTreeMeter(read: ReadTreeObject) {
  const known = new Map<string, Promise<Measure>>();
  return {
    /** The first limit that the tree exceeds. Rejects if `read` does. */
    measure: async (tree: string, limits: RevisionLimits): Promise<Excess | undefined> => {
      if (known.size > MOST_KNOWN) known.clear();
      try {
        const { entries, depth, pathBytes } = await measured({ read, known, limits, folders: 0 }, tree, 0);
        return (
          excessOf(limits, 'entries', entries) ?? excessOf(limits, 'depth', depth) ?? pathExcess(limits, pathBytes)
        );
      } catch (error) {
        // What was measured on the way is complete, what was not must be read again.
        known.clear();
        if (error instanceof BeyondLimit) return error.excess;
        throw error;
      }
    },
  };
}

interface Measuring {
  readonly read: ReadTreeObject;
  readonly known: Map<string, Promise<Measure>>;
  readonly limits: RevisionLimits;
  /** Folders that were read for this revision: each is an entry of it. */
  folders: number;
}

function measured(measuring: Measuring, tree: string, level: number): Promise<Measure> {
  const { known } = measuring;
  const before = known.get(tree);
  if (before !== undefined) return before;
  const own = measureFolder(measuring, tree, level);
  known.set(tree, own);
  return own;
}

async function measureFolder(measuring: Measuring, tree: string, level: number): Promise<Measure> {
  const { read, limits } = measuring;
  const refuse = (excess: Excess | undefined): void => {
    if (excess !== undefined) throw new BeyondLimit(excess);
  };
  refuse(excessOf(limits, 'depth', level));
  refuse(excessOf(limits, 'entries', measuring.folders));
  measuring.folders += 1;
  const most = mostPathBytes(limits);
  // A larger object has too many entries, or names that are too long.
  const content = await read(tree, most + LONGEST_FRAME * limits.entries);
  if (content === undefined) throw new Error(`the local copy lacks the object ${tree}`);
  if (content === 'oversized') throw new BeyondLimit({ limit: 'entries', most, found: most + 1, ofPaths: true });
  let entries = 0;
  let pathBytes = 0;
  let depth = 0;
  for (const { mode, name, id } of entriesOf(content, tree.length / 2)) {
    entries += 1;
    pathBytes += name.length;
    if (isFolder(mode)) {
      const inside = await measured(measuring, id.toString('hex'), level + 1);
      entries += inside.entries;
      pathBytes += inside.pathBytes + inside.entries * (name.length + 1);
      depth = Math.max(depth, 1 + inside.depth);
    }
    refuse(excessOf(limits, 'entries', entries));
    refuse(pathExcess(limits, pathBytes));
  }
  return { entries, depth, pathBytes };
}

function pathExcess(limits: RevisionLimits, found: number): Excess | undefined {
  const most = mostPathBytes(limits);
  return found > most ? { limit: 'entries', most, found, ofPaths: true } : undefined;
}
