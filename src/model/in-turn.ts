/**
 * Runs this after all that was given before has ended, well or badly, and gives what becomes of it. So work that does
 * nothing waits for all before it.
 */
export type InTurn = <Value>(work: () => Promise<Value>) => Promise<Value>;

/** One after the other, in the order in which they are given. */
export function createTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}
