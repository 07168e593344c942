import type { Diagnostic } from '../../model/diagnostic.ts';
import { excessText, type RevisionLimits } from '../../model/revision-limits.ts';
import type { GitRepo, TreeChange } from '../../ports/git-repo.ts';
import type { RefReading, RefRefusal } from '../../ports/source.ts';
import type { DecodeFile, ReadTreeFile } from '../tree/tree-file.ts';
import { readTree, type Tree } from '../tree/tree-reader.ts';
import { approvalSignatures } from './approval-signatures.ts';

/** How refs of one source are read. */
export interface RefReader {
  /** That of the source: another ref neither damages its copy nor makes it grow. */
  readonly repo: GitRepo;
  readonly decode: DecodeFile;
  readonly read: ReadTreeFile;
  readonly folder: string;
  readonly maxFileBytes: number;
  readonly limits: RevisionLimits;
  readonly judgesSignatures: boolean;
}

/** The revision that a ref is compared with. */
export interface RefBase {
  readonly revision: string;
  readonly tree: Tree;
}

/** Reads what merging a ref into the admitted revision would change. */
export async function readRef(
  reader: RefReader,
  base: RefBase,
  ref: string,
  signal: AbortSignal,
): Promise<RefReading | RefRefusal> {
  const { repo, folder, limits } = reader;
  const found = await repo.fetchRef(ref, signal);
  if (found.type === 'failed') return refused(found.reason, found.message);
  if (found.type === 'absent') return refused('RefNotFound', `${repo.address} has no ref ${ref}`);
  const { commit } = found;
  const excess = await repo.measure(commit, folder, limits);
  if (excess !== undefined) return refused('TooLarge', `${ref} ${excessText(excess)}`);
  const ancestor = await repo.mergeBase(base.revision, commit);
  if (ancestor === undefined) {
    return refused('NoCommonAncestor', `${ref} has no commit in common with ${base.revision.slice(0, 12)}`);
  }
  const theirs = await repo.diff(ancestor, commit, folder);
  const ours = ancestor === base.revision ? [] : await repo.diff(ancestor, base.revision, folder);
  const { changes, conflicts } = mergedChanges(theirs, ours);
  const read = await readTree(reader, base.tree, changes);
  if ('excess' in read) return refused('TooLarge', `${ref} ${excessText(read.excess)}`);
  const signatures = reader.judgesSignatures ? await approvalSignatures(repo, commit, folder, read.tree) : undefined;
  return {
    ...{ type: 'read', revision: commit, base: base.revision, changes: read.changes, conflicts },
    ...(read.tree.manifests === 0 && base.tree.manifests > 0
      ? { mustBeAccepted: 'it holds no manifest any more' }
      : {}),
    ...(signatures === undefined ? {} : { signatures }),
    findings: newFindings(base.tree.diagnostics, read.tree.diagnostics),
    read: async (path, side) => {
      const blob = (side === 'before' ? base.tree : read.tree).nodes.get(path)?.entry.blob;
      const outcome =
        blob === undefined ? undefined : await repo.readBlob(blob, reader.maxFileBytes).catch(() => undefined);
      return outcome?.type === 'read' ? outcome.bytes : undefined;
    },
  };
}

function refused(reason: string, message: string): RefRefusal {
  return { type: 'refused', reason, message };
}

/** The changes of the ref that the admitted revision does not have, and the paths that both have changed differently. */
function mergedChanges(
  theirs: readonly TreeChange[],
  ours: readonly TreeChange[],
): { readonly changes: readonly TreeChange[]; readonly conflicts: readonly string[] } {
  const own = new Map(ours.map(({ path, entry }) => [path, entry?.blob ?? null]));
  const changes = theirs.filter(({ path, entry }) => !own.has(path) || own.get(path) !== (entry?.blob ?? null));
  return {
    changes,
    conflicts: changes
      .map(({ path }) => path)
      .filter((path) => own.has(path))
      .sort(),
  };
}

/** The findings of a tree that the tree before it does not have. Places do not count: they move. */
export function newFindings(before: readonly Diagnostic[], after: readonly Diagnostic[]): readonly Diagnostic[] {
  const keyOf = ({ code, message, at }: Diagnostic): string => JSON.stringify([code, message, at?.path]);
  const known = new Set(before.map(keyOf));
  return after.filter((finding) => !known.has(keyOf(finding)));
}
