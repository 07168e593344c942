import type { Hold } from './decision.ts';

/** What people read where two wants of one domain have one key in a cluster. */
export interface Collisions {
  /** One document wants several things under the key, and which one the cluster holds cannot be told. */
  readonly contested: Hold;
  /** The object that a want requires may stand for another live object. */
  readonly requirementUnclear: Hold;
  /** What a person can do: "so rename the other". */
  readonly advice: string;
}

/** By the name of the domain. */
export type CollisionsByDomain = ReadonlyMap<string, Collisions>;
