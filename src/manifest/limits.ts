/** Limits of one file. A file beyond any of them is refused completely. */
export interface DecodeLimits {
  /** Size of the file in bytes. */
  readonly maxBytes: number;
  /** Documents in one file; each item of a List counts. */
  readonly maxDocuments: number;
  /**
   * Values (scalars, lists, mappings, keys) in one file; an alias counts as the value of its anchor. A file is refused unparsed if
   * values can begin at more than twice this number of places.
   */
  readonly maxNodes: number;
  /** Nesting of lists and mappings, also through aliases. At most 100. */
  readonly maxDepth: number;
  /** Aliases (`*name`) in one file. */
  readonly maxAliases: number;
}

/** The limits of files in sources. */
export const defaultDecodeLimits: DecodeLimits = {
  maxBytes: 16 * 1024 * 1024,
  maxDocuments: 10_000,
  maxNodes: 500_000,
  maxDepth: 100,
  maxAliases: 1_000,
};

/** Further findings of one file are left out, so that a hostile file does not cause a million. */
export const MAX_FINDINGS = 10_000;
