import type { Candidacy } from './candidacy.ts';

export type OwnTurn = ReturnType<typeof createOwnTurn>;

/** How far this replica has come in its turn as leader. The candidacy says by the clock which turn it has. */
export function createOwnTurn({ turn }: Pick<Candidacy, 'turn'>) {
  let begun: number | undefined;
  let state: 'follows' | 'judges' | 'ends' = 'follows';
  return {
    /** The turn that this replica has begun; undefined: none. */
    begun: (): number | undefined => begun,
    begin: (number: number | undefined): void => {
      begun = number;
    },
    /** It judges removals: it knows what was held and approved. */
    judges: (): boolean => state === 'judges',
    /** `ends`: this replica no longer judges removals, and its last judgements are still staged. */
    set: (next: typeof state): void => {
      state = next;
    },
    /** This replica leads, and knows what was held and approved. */
    leads: (): boolean => state === 'judges' && turn() === begun,
    /** The turn is over by the clock, and what was judged in it is still staged. */
    isOver: (): boolean => state === 'ends' || (begun !== undefined && turn() !== begun),
  };
}
