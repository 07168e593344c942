import { SLICE_MS } from '../../model/values/in-slices.ts';

/** The part of the platform that the share needs. */
interface Platform {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Calls it after the next callbacks of the network. */
  readonly afterIo: (callback: () => void) => void;
}

const platform: Platform = { now: () => performance.now(), afterIo: (callback) => void setImmediate(callback) };

/**
 * Shares the turns of the event loop among the callbacks of timers. Each of several pieces of work ends its slice after ten
 * milliseconds, but all timers that are due run in the same turn: the network would wait for the sum of all slices. So callbacks
 * begin within ten milliseconds of a turn, in the order in which they came; the others run in the next turns.
 */
export function createTurnShare({ now, afterIo }: Platform = platform): (callback: () => void) => void {
  const waiting: (() => void)[] = [];
  let began: number | undefined;
  const isUp = (): boolean => {
    if (began === undefined) {
      began = now();
      afterIo(() => {
        began = undefined;
      });
    }
    return now() - began >= SLICE_MS;
  };
  /** Each callback that waits has one call of this to come. A call runs one callback, so that its promises go on before the next. */
  const runNext = (): void => {
    if (isUp()) afterIo(runNext);
    else waiting.shift()?.();
  };
  return (callback) => {
    waiting.push(callback);
    runNext();
  };
}
