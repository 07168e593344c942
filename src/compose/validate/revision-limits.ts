import { Buffer } from 'node:buffer';
import { defaultDecodeLimits } from '../../manifest/limits.ts';
import { type Diagnostic, diagnosticOf } from '../../model/diagnostic.ts';
import { type Excess, excessOf, excessText, mostPathBytes, type RevisionLimits } from '../../model/revision-limits.ts';
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
  files: readonly { readonly name: string }[],
  limits: RevisionLimits,
): (checked: CheckedFile, index: number) => void {
  const count = createRevisionCount(limits, Number.POSITIVE_INFINITY);
  return ({ size, diagnostics }, index) => {
    try {
      count.decoded({ size, diagnostics });
    } catch (error) {
      throw error instanceof BeyondLimit ? new BeyondRevision(tooLarge(files[index]?.name ?? '', error.excess)) : error;
    }
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
    return (path: string, { kind, size }: { readonly kind: string; readonly size: number }): void => {
      files += 1;
      bytes += kind === 'file' && size <= defaultDecodeLimits.maxBytes ? size : 0;
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
    manifest: counter(),
  };
}
