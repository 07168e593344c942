import type { DecodedFile } from '../../model/fleet/desired.ts';
import { type Excess, excessOf, mostPathBytes, type RevisionLimits } from '../../model/limits/revision-limits.ts';
import { compareText } from '../../model/text/json.ts';
import type { TreeEntry } from '../../ports/git-repo.ts';

/** Ends the reading of a revision that exceeds a limit. */
export class BeyondLimit extends Error {
  readonly excess: Excess;
  constructor(excess: Excess) {
    super('a revision exceeds a limit');
    this.excess = excess;
  }
}

/** The number of files that an excess names. */
const NAMED = 3;

/**
 * Counts what a revision holds. Each method throws {@link BeyondLimit} at the first excess. All counts are of the complete
 * revision, so that the verdict does not depend on the revisions before, nor on the order of the files; what the excess says depends
 * on the order of `decoded`.
 */
export function createRevisionCount(limits: RevisionLimits, maxFileBytes: number) {
  let documents = 0;
  let nodes = 0;
  let findings = 0;
  let expandedBytes = 0;
  /** The largest files so far, the largest first. */
  let largest: readonly { readonly path: string; readonly found: number }[] = [];
  const refuse = (limit: keyof RevisionLimits, found: number): void => {
    const excess = excessOf(limits, limit, found);
    if (excess !== undefined) throw new BeyondLimit(excess);
  };
  return {
    /** All paths of the revision. */
    paths: (paths: Iterable<string>): void => {
      let entries = 0;
      let bytes = 0;
      for (const path of paths) {
        entries += 1;
        bytes += path.length;
      }
      refuse('entries', entries);
      const most = mostPathBytes(limits);
      if (bytes > most) throw new BeyondLimit({ limit: 'entries', most, found: bytes, ofPaths: true });
    },
    /**
     * All manifests of the revision. A file that is too large or is none is not read. `claimed`: the number of files that kustomizations
     * and charts claim, which are not read and cost a reading each.
     */
    manifests: (entries: readonly TreeEntry[], claimed = 0): void => {
      refuse('files', entries.length + claimed);
      const bytesOf = ({ kind, size }: TreeEntry): number => (kind === 'file' && size <= maxFileBytes ? size : 0);
      refuse(
        'bytes',
        entries.reduce((sum, entry) => sum + bytesOf(entry), 0),
      );
    },
    /** One decoded manifest of the revision. */
    decoded: (path: string, { size, diagnostics }: Pick<DecodedFile, 'size' | 'diagnostics'>): void => {
      documents += size.documents;
      nodes += size.nodes;
      findings += diagnostics.length;
      refuse('documents', documents);
      refuse('nodes', nodes);
      refuse('findings', findings);
      expandedBytes += size.expandedBytes;
      if (size.expandedBytes > (largest[NAMED - 1]?.found ?? 0)) {
        largest = [...largest, { path, found: size.expandedBytes }]
          .sort((a, b) => b.found - a.found || compareText(a.path, b.path))
          .slice(0, NAMED);
      }
      const excess = excessOf(limits, 'expandedBytes', expandedBytes);
      if (excess === undefined) return;
      const named = largest.map((file) => `${file.path} (${file.found})`).join(', ');
      throw new BeyondLimit({ ...excess, cause: `the largest files are ${named}` });
    },
  };
}
