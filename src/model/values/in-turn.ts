/**
 * Runs work after all earlier work has settled, and returns its result. Empty work therefore waits for all earlier work.
 */
export type InTurn = <Value>(work: () => Promise<Value>) => Promise<Value>;

/** Creates a queue that runs work one at a time, in order. */
export function createTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}
