import { expect, it } from 'vitest';
import { createTurnShare } from '../../../../src/adapters/system/turn-share.ts';

/** An event loop: its callbacks take the time that they say. */
function createLoop() {
  let now = 0;
  let queue: (() => void)[] = [];
  const done: string[] = [];
  const share = createTurnShare({ now: () => now, afterIo: (callback) => void queue.push(callback) });
  return {
    done,
    /** Makes a timer due. Its callback takes `milliseconds` and ends with `then`. */
    due: (name: string, milliseconds: number, then = (): void => undefined): void =>
      share(() => {
        done.push(name);
        now += milliseconds;
        then();
      }),
    /** The network had its turn. */
    turn: (): void => {
      done.push('turn');
      const last = queue;
      queue = [];
      for (const callback of last) callback();
    },
    isEmpty: () => queue.length === 0,
  };
}

it('runs the callbacks of one turn that begin within ten milliseconds, and the others in the next turns', () => {
  const { due, turn, done, isEmpty } = createLoop();
  for (const name of ['a', 'b', 'c', 'd', 'e']) due(name, 6);
  expect(done).toEqual(['a', 'b']);
  turn();
  expect(done).toEqual(['a', 'b', 'turn', 'c', 'd']);
  turn();
  expect(done).toEqual(['a', 'b', 'turn', 'c', 'd', 'turn', 'e']);
  turn();
  expect(isEmpty()).toBe(true);
});

it('runs a callback that schedules itself again after the callbacks that waited before it', () => {
  const { due, turn, done } = createLoop();
  const again = (): void => due('busy', 10, again);
  due('busy', 10, again);
  due('other', 10);
  for (let turns = 0; turns < 3; turns += 1) turn();
  expect(done.filter((name) => name !== 'turn')).toEqual(['busy', 'busy', 'other', 'busy']);
});

it('runs a callback after one that threw', () => {
  const { due, turn, done } = createLoop();
  const fail = (): void => {
    throw new Error('no');
  };
  expect(() => due('a', 20, fail)).toThrow('no');
  due('b', 1);
  turn();
  expect(done).toEqual(['a', 'turn', 'b']);
});
