/** By the kind of a derived object, the live kinds (`group/Kind`) that it is computed from. */
export type LiveKinds = Readonly<Record<string, readonly string[]>>;

/** What is computed from live state, over all domains. */
export interface LiveReads {
  /** Every live kind that something is computed from. */
  readonly kinds: readonly string[];
  /** The live kinds that objects of a kind can have been computed from; all of them if no domain wants that kind now. */
  neededFor(kind: string): readonly string[];
}

/** Joins what the domains read. */
export function joinLiveReads(tables: readonly LiveKinds[]): LiveReads {
  const kinds = [...new Set(tables.flatMap((table) => Object.values(table).flat()))];
  const needed = new Map<string, readonly string[]>();
  for (const table of tables) {
    for (const [kind, from] of Object.entries(table)) needed.set(kind, [...(needed.get(kind) ?? []), ...from]);
  }
  return { kinds, neededFor: (kind) => needed.get(kind) ?? kinds };
}
