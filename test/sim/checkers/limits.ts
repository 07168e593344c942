import { limitsOf, type Vector } from '../oracle.ts';

/** How much may go within a window; percentages of what is owned, from 0 to 100. */
export interface Limits {
  readonly maxRemovalsPerCluster: number;
  readonly maxRemovalsPerFleet: number;
  readonly windowSeconds: number;
  readonly percentPerCluster: number;
  readonly percentPerFleet: number;
  /** Fewer owned objects are not judged by percentage. */
  readonly percentFromOwned: number;
}

/** No policy of the people has a longer window. */
export const LONGEST_WINDOW_SECONDS = 600;

const DEFAULTS: Limits = {
  maxRemovalsPerCluster: 10,
  maxRemovalsPerFleet: 50,
  windowSeconds: LONGEST_WINDOW_SECONDS,
  percentPerCluster: 50,
  percentPerFleet: 30,
  percentFromOwned: 10,
};

/** The loosest that any policy states, or that holds without one. */
const LOOSEST: Limits = {
  maxRemovalsPerCluster: 10,
  maxRemovalsPerFleet: 50,
  windowSeconds: 30,
  percentPerCluster: 100,
  percentPerFleet: 100,
  percentFromOwned: Number.POSITIVE_INFINITY,
};

export function isCertain(vector: Vector): boolean {
  return vector.every(({ tree, read }) => read && [...tree.values()].every(({ broken }) => broken === undefined));
}

/** The loosest limits that may hold at these revisions: an unreadable source holds as any server last read it. */
export function limitsAt(vector: Vector): Limits {
  if (!isCertain(vector)) return LOOSEST;
  const policy = limitsOf(vector);
  if (policy === undefined) return DEFAULTS;
  const { maxRemovalsPerCluster, maxRemovalsPerFleet, windowSeconds, percent } = policy;
  return {
    ...{ maxRemovalsPerCluster, maxRemovalsPerFleet, windowSeconds },
    percentPerCluster: percent?.perCluster ?? DEFAULTS.percentPerCluster,
    percentPerFleet: percent?.perFleet ?? DEFAULTS.percentPerFleet,
    percentFromOwned: percent?.fromOwned ?? DEFAULTS.percentFromOwned,
  };
}

/** What holds for a commit that brings one policy and finds another. */
export function tightest(a: Limits, b: Limits): Limits {
  return {
    maxRemovalsPerCluster: Math.min(a.maxRemovalsPerCluster, b.maxRemovalsPerCluster),
    maxRemovalsPerFleet: Math.min(a.maxRemovalsPerFleet, b.maxRemovalsPerFleet),
    windowSeconds: Math.max(a.windowSeconds, b.windowSeconds),
    percentPerCluster: Math.min(a.percentPerCluster, b.percentPerCluster),
    percentPerFleet: Math.min(a.percentPerFleet, b.percentPerFleet),
    percentFromOwned: Math.min(a.percentFromOwned, b.percentFromOwned),
  };
}

/** How many objects are owned, as far as the judging server may know. */
export interface Owned {
  readonly most: number;
  readonly least: number;
}

/** An amount that would go, or has gone, of what was owned before any of it went. */
export interface Amount {
  readonly removed: number;
  readonly owned: Owned;
}

/** Why this is too much; undefined if it may pass. */
export function excess({ removed, owned }: Amount, limits: Limits, whose: 'cluster' | 'fleet'): string | undefined {
  const isFleet = whose === 'fleet';
  const most = isFleet ? limits.maxRemovalsPerFleet : limits.maxRemovalsPerCluster;
  if (removed > most) return `more than ${most}`;
  const percent = isFleet ? limits.percentPerFleet : limits.percentPerCluster;
  const isJudged = owned.least > 0 && owned.least >= limits.percentFromOwned;
  const isTooMuch = isJudged && removed * 100 > percent * owned.most;
  return isTooMuch ? `of ${owned.most} owned: more than ${percent} percent` : undefined;
}
