/** Bounds of what one file may hold; a file beyond any of them is refused, never read in part. */
export interface DecodeLimits {
  /** Size of the file in bytes. */
  readonly maxBytes: number;
  /** Documents in one file, the items of a List counted one by one. */
  readonly maxDocuments: number;
  /** Values (scalars, lists, mappings) in one file, with every alias counted as what it stands for. */
  readonly maxNodes: number;
  /** Nesting of lists and mappings, through aliases as well. At most 100. */
  readonly maxDepth: number;
  /** Aliases (`*name`) in one file. */
  readonly maxAliases: number;
}

/** What applies unless a caller says otherwise. */
export const defaultDecodeLimits: DecodeLimits = {
  maxBytes: 16 * 1024 * 1024,
  maxDocuments: 10_000,
  maxNodes: 1_000_000,
  maxDepth: 100,
  maxAliases: 1_000,
};
