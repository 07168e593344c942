import type { Answer } from '../../api/answer.ts';
import type { Engine } from '../../engine/graph.ts';
import { type CapturedEntry, captureInputs, recordedEntry } from '../../engine/recording.ts';
import type { RevisionRef } from '../../model/fleet/output.ts';
import { END_LINE, inputLine, type RecordingHeader } from '../../model/fleet/recording.ts';
import { rfc3339 } from '../../model/text/time.ts';
import { inSlices } from '../../model/values/in-slices.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Loop } from '../loop.ts';
import { createMask, type KeyedHash } from './mask.ts';

interface CaptureDeps {
  readonly engine: Engine;
  readonly loop: Pick<Loop, 'addSink' | 'transact'>;
  readonly clock: Clock;
  /** The admitted revisions that the published outputs were computed from. */
  readonly revisions: () => readonly RevisionRef[];
  readonly fleet: string;
  readonly version: string;
}

/** The inputs of the engine at one barrier. */
export interface CapturedState {
  readonly header: RecordingHeader;
  readonly entries: readonly CapturedEntry[];
}

export type Capture = ReturnType<typeof createCapture>;

/** Most recordings that are read at once: each holds a state of the engine. */
const MOST_OPEN = 4;
/** A reader gets all of a recording within this time. */
const DEADLINE_MS = 300_000;
/** Lines are made in texts of about this length. */
const TEXT_LENGTH = 64 * 1024;

/** Records the inputs of a running engine without stopping it: they are listed between two commits, in slices. */
export function createCapture({ engine, loop, clock, revisions, fleet, version }: CaptureDeps) {
  const waiting: PromiseWithResolvers<CapturedState>[] = [];
  let open = 0;
  loop.addSink('readers', function* () {
    const taken = waiting.splice(0);
    if (taken.length === 0) return;
    try {
      const header: RecordingHeader = {
        recording: 'fleetrelay',
        form: 1,
        at: rfc3339(clock.now()),
        version,
        fleet,
        revisions: revisions().map(({ source, revision }) => ({ source, revision })),
      };
      const entries = yield* captureInputs(engine);
      for (const { resolve } of taken) resolve({ header, entries });
    } catch (error) {
      for (const { reject } of taken) reject(error);
      throw error;
    }
  });
  const capture = (): Promise<CapturedState> => {
    const taken = Promise.withResolvers<CapturedState>();
    waiting.push(taken);
    // A commit of nothing runs the sinks.
    loop.transact(() => undefined);
    return taken.promise;
  };
  return {
    capture,
    /** The lines of a state as they are, in texts: for a process of this server only. */
    texts: (state: CapturedState): AsyncGenerator<string> =>
      textsOf(clock, state, (captured) => inputLine(recordedEntry(captured))),
    /**
     * The state as lines with the values of Secrets masked, in texts. A reader that takes too long gets an error instead of the rest.
     */
    recording: async (hash: KeyedHash): Promise<Answer<AsyncIterable<string>>> => {
      if (open >= MOST_OPEN) {
        return { ok: false, kind: 'unavailable', message: 'other recordings are being read; ask again later' };
      }
      open += 1;
      try {
        const mask = createMask(hash);
        const texts = textsOf(clock, await capture(), (captured) => inputLine(mask(captured, recordedEntry(captured))));
        return { ok: true, value: withDeadline(clock, texts, () => (open -= 1)) };
      } catch (error) {
        open -= 1;
        throw error;
      }
    },
  };
}

/** Ends the texts of a reader that has not read them in time, or has gone away, and so releases the state. */
function withDeadline(clock: Clock, texts: AsyncGenerator<string>, ended: () => void): AsyncIterable<string> {
  let isOver = false;
  const end = (): void => {
    if (!isOver) ended();
    isOver = true;
    cancel();
    void texts.return(undefined);
  };
  const cancel = clock.schedule(DEADLINE_MS, end);
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        if (isOver) throw new Error('the recording was not read in time');
        const text = await texts.next();
        if (text.done === true) end();
        return text;
      },
      return: async () => {
        end();
        return { done: true, value: undefined };
      },
    }),
  };
}

async function* textsOf(
  clock: Clock,
  { header, entries }: CapturedState,
  lineOf: (captured: CapturedEntry) => string,
): AsyncGenerator<string> {
  yield `${JSON.stringify(header)}\n`;
  const all = entries[Symbol.iterator]();
  for (let hasMore = true; hasMore; ) {
    const text = await inSlices(
      clock,
      (function* () {
        let made = '';
        while (made.length < TEXT_LENGTH) {
          const next = all.next();
          if (next.done === true) {
            hasMore = false;
            return made;
          }
          made += `${lineOf(next.value)}\n`;
          yield;
        }
        return made;
      })(),
    );
    if (text !== '') yield text;
    await clock.sleep(0);
  }
  yield `${END_LINE}\n`;
}
