import type { Clock } from '../../../src/ports/clock.ts';
import type { SimTime } from './time.ts';

/**
 * A process of the world. All that reaches it, timers and the answers of its ports, comes through here: a stopped one
 * gets it when it continues, a dead one never.
 */
export interface SimProcess {
  readonly name: string;
  readonly clock: Clock;
  state(): 'running' | 'stopped' | 'dead';
  /** Runs this in the process: now, when it continues, or never. */
  enter(callback: () => void): void;
  /**
   * A call of a port: `work` is done in the world after the delay, also if the process is stopped or dead by then. Its
   * result reaches the process at once.
   */
  call<Value>(delayMs: number, work: () => Value | Promise<Value>): Promise<Value>;
  /** As {@link call}, for work that changes something: here the process may end, before or after it is done. */
  write<Value>(delayMs: number, work: () => Value | Promise<Value>): Promise<Value>;
  /** It is to end at a write, after `writes` others. */
  doom(at: 'before' | 'after', writes: number): void;
  stop(): void;
  goOn(): void;
  kill(): void;
  /** Timers that wait in it. */
  timers(): number;
  /** Called once when it ends. */
  atDeath(callback: () => void): void;
}

/** Wall-clock time at the beginning of the world. */
export const BEGINNING = Date.UTC(2026, 0, 1);

export function createProcess(time: SimTime, name: string): SimProcess {
  let state: 'running' | 'stopped' | 'dead' = 'running';
  let missed: (() => void)[] = [];
  let fate: { readonly at: 'before' | 'after'; left: number } | undefined;
  const deaths: (() => void)[] = [];
  /** What calls the waiting timers off. */
  const timers = new Set<() => void>();
  const process: SimProcess = {
    name,
    clock: createClock(time, enter, timers),
    timers: () => timers.size,
    state: () => state,
    enter,
    call: (delayMs, work) =>
      new Promise((resolve, reject) => {
        if (state === 'dead') return;
        const answer = (): void => settle(work, resolve, reject, enter);
        if (delayMs > 0) time.in(delayMs, answer);
        else answer();
      }),
    write: (delayMs, work) => {
      const ends = fate !== undefined && state !== 'dead' && fate.left-- <= 0 ? fate.at : undefined;
      if (ends === 'before') kill();
      const done = process.call(delayMs, work);
      if (ends === 'after') kill();
      return done;
    },
    doom: (at, left) => {
      fate = { at, left };
    },
    stop: () => {
      if (state === 'running') state = 'stopped';
    },
    goOn: () => {
      if (state !== 'stopped') return;
      state = 'running';
      // One by one, as an event loop would find them.
      for (const callback of missed.splice(0)) time.in(0, () => enter(callback));
    },
    kill,
    atDeath: (callback) => deaths.push(callback),
  };
  return process;

  function enter(callback: () => void): void {
    if (state === 'running') callback();
    else if (state === 'stopped') missed.push(callback);
  }

  function kill(): void {
    if (state === 'dead') return;
    state = 'dead';
    missed = [];
    for (const cancel of timers) cancel();
    timers.clear();
    for (const callback of deaths.splice(0)) callback();
  }
}

function settle<Value>(
  work: () => Value | Promise<Value>,
  resolve: (value: Value) => void,
  reject: (error: unknown) => void,
  enter: (callback: () => void) => void,
): void {
  try {
    const value = work();
    if (value instanceof Promise) {
      value.then(
        (result) => enter(() => resolve(result)),
        (error: unknown) => enter(() => reject(error)),
      );
    } else enter(() => resolve(value));
  } catch (error) {
    enter(() => reject(error));
  }
}

function createClock(time: SimTime, enter: (callback: () => void) => void, timers: Set<() => void>): Clock {
  const schedule = (milliseconds: number, callback: () => void): (() => void) => {
    let isOver = false;
    const cancel = time.in(milliseconds, () => {
      timers.delete(cancel);
      enter(() => isOver || callback());
    });
    timers.add(cancel);
    return () => {
      isOver = true;
      timers.delete(cancel);
      cancel();
    };
  };
  return {
    now: () => BEGINNING + Math.floor(time.elapsed()),
    monotonic: () => time.elapsed(),
    schedule,
    sleep: (milliseconds, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve();
        const done = (): void => {
          cancel();
          signal?.removeEventListener('abort', done);
          resolve();
        };
        const cancel = schedule(milliseconds, done);
        signal?.addEventListener('abort', done);
      }),
  };
}
