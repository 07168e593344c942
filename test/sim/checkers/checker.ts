import type { SimCluster } from '../ports/cluster.ts';
import type { World } from '../world.ts';

/**
 * The times at which a world comes to rest, in their order: after its faults, after its servers were started again with
 * nothing to do, after servers and store were lost, and after people took everything away.
 */
export type Rest = 'quiet' | 'restarted' | 'lost' | 'cleared';

/** Observes the world and reports violations. */
export interface Checker {
  readonly name: string;
  /** After every event of the world. */
  stepped?(): void;
  /** When everything has come to rest. */
  atRest?(rest: Rest): void;
}

/** Whether the agent of this cluster is hostile: what the fleet promises does not hold where its word decides. */
export function isHostile({ hostile }: World, cluster: SimCluster): boolean {
  return hostile?.cluster === cluster;
}

/** Makes a checker that listens to the world from then on. `fail` notes what it has found. */
export type MakeChecker = (world: World, fail: (message: string) => void) => Checker;
