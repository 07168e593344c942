import type { SimProcess } from '../core/process.ts';
import type { SimTime } from '../core/time.ts';

/** Messages under way or not read yet, in one direction, before a writer has to wait. */
const CAPACITY = 4;

/** One direction of a stream: in order, each message complete, with the delay that the weather sets. */
export interface Pipe<End> {
  write(message: Uint8Array): Promise<boolean>;
  read(): Promise<Uint8Array | undefined>;
  /** No more is written; what was is read first, then the end arrives. */
  finish(end: End): void;
  /** Everything is gone, for both ends at once. */
  cut(): void;
  /** While frozen nothing arrives and neither end is notified. */
  freeze(frozen: boolean): void;
}

interface PipeParts<End> {
  readonly time: SimTime;
  readonly from: SimProcess;
  readonly to: SimProcess;
  /** Milliseconds that a message takes now. */
  readonly latency: () => number;
  /** The writer's end has arrived. */
  readonly ended: (end: End) => void;
}

export function createPipe<End>({ time, from, to, latency, ended }: PipeParts<End>): Pipe<End> {
  const underWay: { readonly message: Uint8Array | undefined; readonly at: number; readonly end?: End }[] = [];
  const arrived: Uint8Array[] = [];
  let writers: ((open: boolean) => void)[] = [];
  let reader: ((message: Uint8Array | undefined) => void) | undefined;
  let frozen = false;
  let finished = false;
  let over = false;
  let broken = false;
  let lastAt = 0;

  const send = (message: Uint8Array | undefined, end?: End): void => {
    lastAt = Math.max(lastAt, time.elapsed() + latency());
    underWay.push({ message, at: lastAt, ...(end === undefined ? {} : { end }) });
    time.in(lastAt - time.elapsed(), arrive);
  };
  const arrive = (): void => {
    while (!frozen && !broken && underWay[0] !== undefined && underWay[0].at <= time.elapsed()) {
      const next = underWay.shift();
      if (next?.message !== undefined) arrived.push(next.message);
      else {
        over = true;
        const { end } = next ?? {};
        if (end !== undefined) to.enter(() => ended(end));
      }
    }
    give();
  };
  const give = (): void => {
    if (reader !== undefined && (arrived.length > 0 || over || broken)) {
      const answer = reader;
      reader = undefined;
      const message = arrived.shift();
      to.enter(() => answer(message));
    }
    while (writers.length > 0 && (broken || underWay.length + arrived.length < CAPACITY)) {
      const answer = writers.shift();
      const open = !broken;
      from.enter(() => answer?.(open));
    }
  };

  return {
    write: (message) => {
      if (from.state() === 'dead') return new Promise(() => undefined);
      if (finished || broken) return Promise.resolve(false);
      send(message.slice());
      const { promise, resolve } = Promise.withResolvers<boolean>();
      writers.push(resolve);
      give();
      return promise;
    },
    read: () => {
      const { promise, resolve } = Promise.withResolvers<Uint8Array | undefined>();
      reader = resolve;
      give();
      return promise;
    },
    finish: (end) => {
      if (finished || broken || from.state() === 'dead') return;
      finished = true;
      send(undefined, end);
    },
    cut: () => {
      broken = true;
      underWay.length = 0;
      arrived.length = 0;
      give();
      writers = [];
    },
    freeze: (to) => {
      frozen = to;
      if (!to) arrive();
    },
  };
}
