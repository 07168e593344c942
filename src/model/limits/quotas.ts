/** What the server keeps of one cluster's input snapshot, or the most that it keeps. */
export interface ClusterSize {
  /** Live objects. */
  readonly objects: number;
  /** Bytes of the keys and contents of the objects, and of what the agent says of the kinds. */
  readonly bytes: number;
  readonly kinds: number;
}

/** The quotas of a cluster without configuration. */
export const DEFAULT_QUOTAS: ClusterSize = { objects: 100_000, bytes: 256 * 1024 * 1024, kinds: 1_000 };

/** What of a cluster is above its quota. */
export interface Excess {
  readonly what: keyof ClusterSize;
  /** A lower bound: the count stops when there are too many. */
  readonly number: number;
  readonly limit: number;
}

/** The first number that is above its quota; undefined: none is. */
export function excessOf(size: ClusterSize, quotas: ClusterSize): Excess | undefined {
  for (const what of ['objects', 'bytes', 'kinds'] as const) {
    if (size[what] > quotas[what]) return { what, number: size[what], limit: quotas[what] };
  }
  return undefined;
}

/** Says what is above which quota. */
export function excessText({ what, number, limit }: Excess): string {
  const nouns = { objects: 'live objects', bytes: 'bytes of live objects', kinds: 'kinds' };
  return `the cluster has ${number} ${nouns[what]}, and ${limit} are allowed`;
}
