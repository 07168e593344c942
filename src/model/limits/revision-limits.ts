/** What one revision of a source may hold. Files that are not read count by their paths alone. */
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
  /** Bytes of all documents as canonical JSON, as often as aliases repeat them. */
  readonly expandedBytes: number;
  /** Errors and warnings of all manifests. */
  readonly findings: number;
  /**
   * Steps of matching all paths of manifests, ignored or not, against the ignore rules, and the manifests against the globs of the
   * Placements of the revision: compared characters, at most.
   */
  readonly matchingSteps: number;
}

/** The limits of the schema of RelayConfig, which `fleetrelay validate` uses. */
export const defaultRevisionLimits: RevisionLimits = {
  entries: 250_000,
  depth: 100,
  files: 100_000,
  bytes: 256 * 1024 * 1024,
  documents: 100_000,
  nodes: 5_000_000,
  expandedBytes: 512 * 1024 * 1024,
  findings: 100_000,
  matchingSteps: 1_000_000_000,
};

/** The largest local clone of a repository, with its history. */
export const DEFAULT_CLONE_BYTES = 2 * 1024 * 1024 * 1024;

/** The bytes that all paths of a revision may have together, for each of the entries that it may have. */
const PATH_BYTES = 256;

/** The bytes that all paths of a revision may have together. */
export function mostPathBytes({ entries }: Pick<RevisionLimits, 'entries'>): number {
  return PATH_BYTES * entries;
}

/** The wildcards that the globs of all Placements of a revision may have together. The same number holds for all its ignore rules. */
export const MOST_WILDCARDS = 5_000;

/**
 * The steps of matching one path against the globs of the Placements of one source. The engine matches a path in one piece, so this
 * bounds what it does between two turns of the event loop.
 */
export const MOST_STEPS_OF_PATH = 2_000_000;

/** A limit that a revision exceeds. */
export interface Excess {
  readonly limit: keyof RevisionLimits;
  readonly most: number;
  /** What was counted: at least this, because counting ends at the limit. */
  readonly found: number;
  /** The bytes of the paths are too many for the entries. */
  readonly ofPaths?: true;
  /** A limit of matching that no configuration changes. */
  readonly fixed?: 'wildcards' | 'stepsOfPath';
  /** The path with which the sum of matching exceeds the limit, in canonical order; of too many wildcards a file that has many. */
  readonly path?: string;
  /** What has a large part of it, as a sentence for people: a file, a rule or a Placement. */
  readonly cause?: string;
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
  expandedBytes: 'bytes in its documents as JSON, aliases counted in full',
  findings: 'errors and warnings',
  matchingSteps: 'steps of matching paths',
};

const FIXED_NAMES: Readonly<Record<NonNullable<Excess['fixed']>, string>> = {
  wildcards: 'wildcards in the globs of its Placements',
  stepsOfPath: 'steps of matching one path with the globs of its Placements',
};

/**
 * The predicate of a sentence about the revision: what was counted, the limit, its field in RelayConfig if it has one, and what has a
 * large part of it.
 */
export function excessText({ limit, most, found, ofPaths, fixed, cause }: Excess): string {
  const counted = ofPaths ? 'bytes in its paths' : fixed === undefined ? NAMES[limit] : FIXED_NAMES[fixed];
  const field = fixed === undefined ? ` (limits.revision.${limit} of the RelayConfig)` : '';
  return `has at least ${found} ${counted}; at most ${most} are read${field}${cause === undefined ? '' : `: ${cause}`}`;
}

/** What a person can do about the excess. */
export function excessAdvice({ fixed }: Excess): string {
  const raise = fixed === undefined ? ', or raise the limit in the RelayConfig and restart the server' : '';
  return `Make the revision smaller${raise}; no command lifts it`;
}
