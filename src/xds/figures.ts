/** What became of responses and streams since the start of the process. */
export type XdsCounts = ReturnType<typeof createXdsCounts>;

/** A number by constant name. */
export type Tally = ReadonlyMap<string, number>;

export function createXdsCounts() {
  const pushes = new Map<string, Map<string, number>>();
  const refusals = new Map<string, number>();
  return {
    /** A response with resources of a type was sent, or answered. */
    push: (type: string, result: 'sent' | 'accepted' | 'rejected'): void => {
      const ofType = pushes.get(type) ?? new Map<string, number>();
      pushes.set(type, ofType);
      addTo(ofType, result);
    },
    /** A stream was refused, for a constant reason. */
    refused: (reason: string): void => addTo(refusals, reason),
    /** Responses to resources of a type, by result. */
    pushes: (type: string): Tally => pushes.get(type) ?? new Map(),
    refusals: (): Tally => refusals,
  };
}

/** Counts one more of a name. */
export function addTo(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
