/** What one revision of a source may hold. Of files that are not read only the paths count. */
export interface RevisionLimits {
  /** Files and folders, manifests or not. */
  readonly entries: number;
  /** Levels of folders. */
  readonly depth: number;
  /** Manifests. */
  readonly files: number;
  /** Bytes of all manifests; content counts once for each path that has it. */
  readonly bytes: number;
  /** Documents of all manifests; each item of a list counts. */
  readonly documents: number;
  /** Values of all manifests: scalars, lists, mappings and keys, as often as aliases repeat them. */
  readonly nodes: number;
  /** Errors and warnings of all manifests. */
  readonly findings: number;
}

/** The limits of the schema of RelayConfig, which `fleetrelay validate` uses. */
export const defaultRevisionLimits: RevisionLimits = {
  entries: 250_000,
  depth: 100,
  files: 100_000,
  bytes: 256 * 1024 * 1024,
  documents: 100_000,
  nodes: 5_000_000,
  findings: 100_000,
};

/** The largest local clone of a repository, with its history. */
export const DEFAULT_CLONE_BYTES = 2 * 1024 * 1024 * 1024;

/** The bytes that all paths of a revision may have together, for each of the entries that it may have. */
const PATH_BYTES = 256;

/** The bytes that all paths of a revision may have together. */
export function mostPathBytes({ entries }: Pick<RevisionLimits, 'entries'>): number {
  return PATH_BYTES * entries;
}

/** A limit that a revision exceeds. */
export interface Excess {
  readonly limit: keyof RevisionLimits;
  readonly most: number;
  /** What was counted: at least this, because counting ends at the limit. */
  readonly found: number;
  /** The bytes of the paths are too many for the entries. */
  readonly ofPaths?: true;
}

/** The excess of a count; undefined if the limit allows it. */
export function excessOf(limits: RevisionLimits, limit: keyof RevisionLimits, found: number): Excess | undefined {
  return found > limits[limit] ? { limit, most: limits[limit], found } : undefined;
}

const NAMES: Readonly<Record<keyof RevisionLimits, string>> = {
  entries: 'files and folders',
  depth: 'levels of folders',
  files: 'manifests',
  bytes: 'bytes in its manifests',
  documents: 'documents',
  nodes: 'values in its manifests',
  findings: 'errors and warnings',
};

/** The predicate of a sentence about the revision: what was counted, the limit, and its field in RelayConfig. */
export function excessText({ limit, most, found, ofPaths }: Excess): string {
  const counted = ofPaths ? 'bytes in its paths' : NAMES[limit];
  return `has at least ${found} ${counted}; at most ${most} are read (limits.revision.${limit} of the RelayConfig)`;
}
