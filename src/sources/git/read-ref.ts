import type { Diagnostic } from '../../model/fleet/diagnostic.ts';
import { type Excess, excessText, type RevisionLimits } from '../../model/limits/revision-limits.ts';
import { given } from '../../model/values/given.ts';
import type { GitRepo, TreeChange } from '../../ports/git-repo.ts';
import type { RefChanges, RefReading, RefRefusal, TreePart } from '../../ports/source.ts';
import type { DecodeFile, ReadTreeFile } from '../tree/tree-file.ts';
import { treeOfParts, treeParts } from '../tree/tree-parts.ts';
import { readTree, type Tree } from '../tree/tree-reader.ts';
import { approvalSignatures, signaturesAt } from './approval-signatures.ts';

/** How refs of one source are found. */
export interface RefReader {
  /** The repository of the source. Another ref neither damages its copy nor makes it grow. */
  readonly repo: GitRepo;
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

/** Finds what merging a ref into the admitted revision would change. No file of it is read. */
export async function findRef(
  reader: RefReader,
  base: RefBase,
  ref: string,
  signal: AbortSignal,
): Promise<RefChanges | RefRefusal> {
  const { repo, folder, limits, maxFileBytes, judgesSignatures } = reader;
  const found = await repo.fetchRef(ref, signal);
  if (found.type === 'failed') return refused(found.reason, found.message);
  if (found.type === 'absent') return refused('RefNotFound', `${repo.address} has no ref ${ref}`);
  const { commit } = found;
  const excess = await repo.measure(commit, folder, limits);
  if (excess !== undefined) return refusedExcess(ref, excess);
  const ancestor = await repo.mergeBase(base.revision, commit);
  if (ancestor === undefined) {
    return refused('NoCommonAncestor', `${ref} has no commit in common with ${base.revision.slice(0, 12)}`);
  }
  const theirs = await repo.diff(ancestor, commit, folder);
  const ours = ancestor === base.revision ? [] : await repo.diff(ancestor, base.revision, folder);
  const { changes, conflicts } = mergedChanges(theirs, ours);
  const changed = new Map(changes.map(({ path, entry }) => [path, entry?.blob]));
  const blobBefore = (path: string): string | undefined => base.tree.nodes.get(path)?.entry.blob;
  return {
    type: 'found',
    revision: commit,
    base: base.revision,
    changes,
    conflicts,
    reading: { limits, maxFileBytes, judgesSignatures },
    tree: { [Symbol.iterator]: () => treeParts(base.tree) },
    readBlob: (blob) => repo.readBlob(blob, maxFileBytes),
    signaturesOf: signaturesAt(repo, commit, folder),
    read: async (path, side) => {
      const blob = side === 'after' && changed.has(path) ? changed.get(path) : blobBefore(path);
      const outcome = blob === undefined ? undefined : await repo.readBlob(blob, maxFileBytes).catch(() => undefined);
      return outcome?.type === 'read' ? outcome.bytes : undefined;
    },
  };
}

/** What reading a ref works with; plain data but for the functions. */
export interface RefToRead extends Pick<RefChanges, 'changes' | 'readBlob' | 'signaturesOf'> {
  /** As it was asked for. */
  readonly ref: string;
  readonly reading: RefChanges['reading'];
  readonly tree: readonly TreePart[];
}

/** Reads what {@link findRef} has found. Rejects if a file cannot be read from the copy. */
export async function readRefChanges(
  { ref, changes, reading, tree, readBlob, signaturesOf }: RefToRead,
  decode: DecodeFile,
): Promise<RefReading | RefRefusal> {
  const { limits, maxFileBytes, judgesSignatures } = reading;
  const read = blobReader(readBlob, maxFileBytes);
  const base = await treeOfParts(tree, read);
  const found = await readTree({ decode, read, maxFileBytes, limits }, base, changes);
  if ('excess' in found) return refusedExcess(ref, found.excess);
  const signatures = judgesSignatures ? await approvalSignatures(signaturesOf, found.tree) : undefined;
  return {
    changes: found.changes,
    ...(found.tree.manifests === 0 && base.manifests > 0 ? { mustBeAccepted: 'it holds no manifest any more' } : {}),
    ...given({ signatures }),
    findings: newFindings(base.diagnostics, found.tree.diagnostics),
  };
}

/** Reads the files of a tree as blobs of a local copy. */
export function blobReader(readBlob: RefChanges['readBlob'], maxFileBytes: number): ReadTreeFile {
  return async (_path, { blob }) => {
    const outcome = await readBlob(blob);
    switch (outcome.type) {
      case 'read':
        return { bytes: outcome.bytes };
      case 'oversized':
        return { reason: `is ${outcome.size} bytes large; at most ${maxFileBytes} are read` };
      case 'missing':
        // The file is not at fault: the copy lacks an object that its own tree names.
        throw new Error(`the local copy lacks the object ${blob}`);
    }
  };
}

function refusedExcess(ref: string, excess: Excess): RefRefusal {
  return refused('TooLarge', `${ref} ${excessText(excess)}`);
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
