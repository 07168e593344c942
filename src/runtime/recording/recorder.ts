import type { Engine } from '../../engine/graph.ts';
import { type CapturedEntry, captureInputs, recordedEntry } from '../../engine/recording.ts';
import { inSlices } from '../../model/in-slices.ts';
import type { RevisionRef } from '../../model/output.ts';
import { END_LINE, inputLine, type RecordingHeader } from '../../model/recording.ts';
import { rfc3339 } from '../../model/time.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Loop } from '../loop.ts';
import { createMask, type KeyedHash } from './mask.ts';

interface RecorderDeps {
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

export type Recorder = ReturnType<typeof createRecorder>;

/** Lines are made in texts of about this length. */
const TEXT_LENGTH = 64 * 1024;

/** Records the inputs of a running engine without stopping it: they are listed between two commits, in slices. */
export function createRecorder({ engine, loop, clock, revisions, fleet, version }: RecorderDeps) {
  const waiting: PromiseWithResolvers<CapturedState>[] = [];
  loop.addSink(function* () {
    const taken = waiting.splice(0);
    if (taken.length === 0) return;
    try {
      const header: RecordingHeader = {
        ...{ recording: 'fleetrelay', form: 1, at: rfc3339(clock.now()), version, fleet },
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
    texts: (state: CapturedState): AsyncGenerator<string> => textsOf(clock, state, inputLine),
    /** The lines of a state with the values of Secrets masked, in texts. */
    maskedTexts: (state: CapturedState, hash: KeyedHash): AsyncGenerator<string> => {
      const mask = createMask(hash, engine, state.entries);
      return textsOf(clock, state, (entry) => inputLine(mask(entry)));
    },
  };
}

async function* textsOf(
  clock: Clock,
  { header, entries }: CapturedState,
  lineOf: (entry: ReturnType<typeof recordedEntry>) => string,
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
          made += `${lineOf(recordedEntry(next.value))}\n`;
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
