import type { Dice } from './core/dice.ts';

/** How the servers of a world share their work and what they keep. */
export interface Setting {
  readonly servers: number;
  /** The store is open to several processes; one that is not is lost or brought back only while no server runs. */
  readonly shared: boolean;
  /** Where several servers elect their leader. */
  readonly lease: 'store' | 'cluster';
}

/** Draws one. */
export function settingOf(shape: Dice): Setting {
  const servers = shape.pick([1, 1, 1, 2, 2, 3]);
  return { servers, shared: servers > 1 || shape.chance(0.3), lease: shape.pick(['store', 'store', 'cluster']) };
}
