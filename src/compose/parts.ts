import { errorText } from '../model/text/messages.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { aborted } from './aborted.ts';
import type { RunIo } from './options.ts';

/** Opens the parts of a process one after the other. */
export interface Parts {
  /**
   * Opens a part and resolves with it. `name` says what it is, for people: `the store`. `close` is called when the process ends,
   * before the parts that were opened earlier are closed. Rejects if `open` fails, or if the process is to end.
   */
  open<Part>(name: string, open: () => Part | Promise<Part>, close?: (part: Part) => unknown): Promise<Part>;
}

/** What a started process says of itself. */
export interface Started {
  /** Resolves, with a text for people, when the process cannot continue. Absent: it can until it is stopped. */
  readonly over?: Promise<string>;
}

interface Process {
  readonly clock: Clock;
  readonly log: Log;
  /** Aborted when the process is asked to end. */
  readonly signal: AbortSignal;
  /** For the log: `server`, `agent`. */
  readonly what: string;
  /** Time for all parts together to close. */
  readonly closeMs: number;
  readonly opening?: RunIo['opening'] | undefined;
}

/** Time for which the end waits for a part that is being opened. */
const OPENING_MS = 3_000;
/** Time that each of the other parts still has when the time of all has passed. */
const LAST_MS = 500;

interface Open {
  readonly name: string;
  isOpening: boolean;
  readonly close: () => Promise<unknown>;
}

/**
 * Runs a process that `start` starts from its parts, until the signal. Closes the parts in reverse order then, and also if the
 * start fails or the signal comes before its end: what is opened after that is closed at once. Resolves with exit code 0. Rejects with
 * the error of the start, with the reason why the process cannot continue, or with the names of the parts that did not close.
 */
export async function runParts(process: Process, start: (parts: Parts) => Promise<Started>): Promise<number> {
  const { log, signal, what } = process;
  const parts = createParts(process);
  const starting = start(parts);
  // The error after the signal says only that the start was cut short.
  starting.catch(() => undefined);
  let left: readonly string[] = [];
  try {
    const started = await Promise.race([starting, aborted(signal)]);
    const reason = started && (await Promise.race([aborted(signal), started.over ?? never]));
    if (reason === undefined) log.info(`the ${what} is stopping`);
    else {
      log.error(`the ${what} cannot continue, and ends`, { reason });
      throw new Error(reason);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    left = await parts.close();
  }
  if (left.length > 0) throw new Error(`not everything could be closed in time: ${left.join(', ')}`);
  return 0;
}

const never = new Promise<never>(() => undefined);

function createParts({ clock, log, closeMs, opening = () => undefined }: Process) {
  const opened: Open[] = [];
  let isEnding = false;

  async function open<Part>(
    name: string,
    make: () => Part | Promise<Part>,
    close: (part: Part) => unknown = () => undefined,
  ): Promise<Part> {
    if (isEnding) throw new Error('the process is to end');
    log.debug('opening a part', { part: name });
    const making = (async () => {
      await opening(name);
      return make();
    })();
    const entry: Open = {
      name,
      isOpening: true,
      close: async () => {
        const made = await making.then(
          (part) => ({ part }),
          // What could not be opened needs no closing. The caller of `open` gets the error.
          () => undefined,
        );
        if (made !== undefined) await close(made.part);
      },
    };
    opened.push(entry);
    try {
      const part = await making;
      entry.isOpening = false;
      return part;
    } catch (error) {
      const at = opened.indexOf(entry);
      if (at >= 0) opened.splice(at, 1);
      throw error;
    }
  }

  /** Closes a part. Returns whether it has closed in this time. */
  async function closed({ name, close }: Open, milliseconds: number): Promise<boolean> {
    const timeUp = new AbortController();
    const closing = close().then(
      () => true,
      (error: unknown) => {
        log.error('a part could not be closed', { part: name, error: errorText(error) });
        return true;
      },
    );
    const isClosed = await Promise.race([closing, clock.sleep(milliseconds, timeUp.signal).then(() => false)]);
    timeUp.abort();
    return isClosed;
  }

  return {
    open,
    /** Closes what was opened, the last part first. Resolves with the names of the parts that did not close in time. */
    close: async (): Promise<readonly string[]> => {
      isEnding = true;
      const end = clock.monotonic() + closeMs;
      const left: string[] = [];
      for (const part of opened.splice(0).reverse()) {
        const time = Math.max(LAST_MS, end - clock.monotonic());
        if (!(await closed(part, part.isOpening ? Math.min(OPENING_MS, time) : time))) left.push(part.name);
      }
      if (left.length > 0) log.error('parts did not close in time', { parts: left });
      return left;
    },
  };
}
