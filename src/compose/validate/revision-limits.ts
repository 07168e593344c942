import { Buffer } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { defaultDecodeLimits } from '../../manifest/limits.ts';
import type { SourceDocument } from '../../model/fleet/desired.ts';
import { type Diagnostic, diagnosticOf } from '../../model/fleet/diagnostic.ts';
import {
  type Excess,
  excessOf,
  excessText,
  mostPathBytes,
  type RevisionLimits,
} from '../../model/limits/revision-limits.ts';
import type { TreeEntry } from '../../ports/git-repo.ts';
import type { Membership } from '../../sources/tree/ignore-file.ts';
import { createPace } from '../../sources/tree/pace.ts';
import { matchPaths } from '../../sources/tree/path-steps.ts';
import { countPlacementSteps, noPlacements, placementsIn } from '../../sources/tree/placement-steps.ts';
import { BeyondLimit, createRevisionCount } from '../../sources/tree/revision-count.ts';
import type { CheckedFile } from './check-file.ts';

/** The finding of a folder that a server would not admit. `path`: the file with which a count exceeds the limit. */
export function tooLarge(path: string, excess: Excess): Diagnostic {
  const message = `with this file, the folder ${excessText(excess)}`;
  const hint = 'remove what is no part of the desired state, or divide it into several sources';
  return diagnosticOf({
    severity: 'error',
    reason: 'RevisionTooLarge',
    message,
    hint,
    at: { path, line: 1, column: 1 },
  });
}

/** Ends the check of a request whose files together are above a limit. */
export class BeyondRevision extends Error {
  readonly diagnostic: Diagnostic;
  constructor(diagnostic: Diagnostic) {
    super(diagnostic.message);
    this.diagnostic = diagnostic;
  }
}

/** Counts what was found in files, in their order, as a server does; throws {@link BeyondRevision} at the first excess. */
export function countChecked(
  files: readonly { readonly name: string; readonly resource?: unknown }[],
  limits: RevisionLimits,
): (checked: CheckedFile, index: number) => void {
  const count = createRevisionCount(limits, Number.POSITIVE_INFINITY);
  // Servers do not read what a kustomization lists: it has the limits for itself.
  const ofResources = createRevisionCount(limits, Number.POSITIVE_INFINITY);
  return ({ size, diagnostics }, index) => {
    const own = files[index]?.resource === undefined ? count : ofResources;
    try {
      own.decoded(files[index]?.name ?? '', { size, diagnostics });
    } catch (error) {
      throw error instanceof BeyondLimit ? new BeyondRevision(tooLarge(files[index]?.name ?? '', error.excess)) : error;
    }
  };
}

/** The most steps that the rules in CEL may take for all files of a run: some minutes. One object may take a hundredth. */
const MOST_STEPS = 500_000_000;

/** Counts the steps of rules in CEL of files, in their order; throws {@link BeyondRevision} at the first excess. */
export function countSteps(files: readonly { readonly name: string }[]): (checked: CheckedFile, index: number) => void {
  let sum = 0;
  return ({ steps = 0 }, index) => {
    sum += steps;
    if (sum <= MOST_STEPS) return;
    const message = `with this file, the rules in CEL take more than ${MOST_STEPS} steps for all files together`;
    const hint =
      'write the rules of the CustomResourceDefinitions without loops in loops, or check fewer files at a time';
    const at = { path: files[index]?.name ?? '', line: 1, column: 1 };
    throw new BeyondRevision(diagnosticOf({ severity: 'error', reason: 'RuleTooExpensive', message, hint, at }));
  };
}

/** Counts the entries and manifests of a folder as a server does; its methods throw {@link BeyondRevision} at the first excess. */
export function createListingCount(limits: RevisionLimits, nameOf: (path: string) => string) {
  const refuse = (limit: keyof RevisionLimits, found: number, path: string): void => {
    const excess = excessOf(limits, limit, found);
    if (excess !== undefined) throw new BeyondRevision(tooLarge(nameOf(path), excess));
  };
  let entries = 0;
  let pathBytes = 0;
  const counter = () => {
    let files = 0;
    let bytes = 0;
    return (path: string, entry?: { readonly kind: string; readonly size: number }): void => {
      files += 1;
      if (entry?.kind === 'file' && entry.size <= defaultDecodeLimits.maxBytes) bytes += entry.size;
      refuse('files', files, path);
      refuse('bytes', bytes, path);
    };
  };
  return {
    /** Any file or folder. */
    entry: (path: string, isFolder: boolean): void => {
      entries += 1;
      pathBytes += Buffer.byteLength(path);
      refuse('entries', entries, path);
      refuse('depth', path.split('/').length - (isFolder ? 0 : 1), path);
      const most = mostPathBytes(limits);
      if (pathBytes <= most) return;
      const excess = { limit: 'entries', most, found: pathBytes, ofPaths: true } as const;
      throw new BeyondRevision(tooLarge(nameOf(path), excess));
    },
    toolFile: counter(),
    /** A manifest, or, without its entry, a file that a kustomization or chart claims and a server does not read. */
    manifest: counter(),
    /** A file that is read here because a kustomization lists it. */
    resource: counter(),
    /** Matches the entries with the ignore rules. */
    matching: (
      membership: Membership,
      entries: readonly { readonly path: string; readonly kind: TreeEntry['kind'] }[],
    ) => {
      const steps = { membership, limits, pace: createPace(nextTurn), kept: 0 };
      const kinds = entries.map(({ path, kind }) => [path, kind] as const);
      return judged(
        nameOf,
        matchPaths(steps, kinds, () => kinds),
      );
    },
  };
}

/** Counts the steps of matching the manifests of a source with the globs of its Placements, as a server does. */
export async function countPlacements(
  files: readonly { readonly path: string; readonly declarations: readonly SourceDocument[] }[],
  ignoreSteps: number,
  limits: RevisionLimits,
  nameOf: (path: string) => string,
): Promise<void> {
  const added = files.map(({ path }) => path);
  const placements = new Map(files.map(({ path, declarations }) => [path, placementsIn(declarations)]));
  const changes = { before: noPlacements, placements, removed: [], added, paths: () => added };
  await judged(nameOf, countPlacementSteps(changes, { limits, others: ignoreSteps, pace: createPace(nextTurn) }));
}

/** Rejects with a {@link BeyondRevision} at the path that the excess names. */
async function judged<Value>(nameOf: (path: string) => string, counting: Promise<Value>): Promise<Value> {
  try {
    return await counting;
  } catch (error) {
    if (!(error instanceof BeyondLimit)) throw error;
    throw new BeyondRevision(tooLarge(nameOf(error.excess.path ?? ''), error.excess));
  }
}
