/** Lets the event loop turn. */
export type Turn = () => Promise<void>;

/** Steps of work between two turns of the event loop: some milliseconds. */
export const STEPS_PER_TURN = 500_000;
/** What a path costs besides the steps of its matching. */
const STEPS_OF_PATH = 50;

export type Pace = ReturnType<typeof createPace>;

/** Counts steps of work, after which the event loop turns. Turns depend on counts alone. Without `turn` it never turns. */
export function createPace(turn?: Turn) {
  let since = 0;
  return {
    count: (steps: number): void => {
      since += steps;
    },
    /** One more path was looked at. */
    path: (): void => {
      since += STEPS_OF_PATH;
    },
    /** Counts paths that were looked at. The event loop turns if that is due. */
    paths: async (count: number): Promise<void> => {
      since += STEPS_OF_PATH * count;
      if (turn === undefined || since < STEPS_PER_TURN) return;
      since = 0;
      await turn();
    },
    /** The caller awaits `turn` now. */
    isDue: (): boolean => turn !== undefined && since >= STEPS_PER_TURN,
    turn: async (): Promise<void> => {
      since = 0;
      await turn?.();
    },
  };
}
