import { setImmediate as nextTurn } from 'node:timers/promises';
import { decoders } from '../../domains/decoders.ts';
import { createLocator, type LocateAll } from '../../manifest/locate.ts';
import { errorText } from '../../model/text/messages.ts';
import { createTurns } from '../../model/values/in-turn.ts';
import type { Clock } from '../../ports/clock.ts';
import { type DecodeFile, DecodingEnded } from '../../sources/tree/tree-file.ts';
import { type Running, startWorker } from '../start-worker.ts';
import type { DecodeAnswer, DecodeTask } from './decode-thread.ts';
import { openDecoder } from './decode-with-warnings.ts';
import { shareTexts } from './shared-texts.ts';

/** Decodes the files of all sources of a server, and finds places in them. */
export interface SourceDecoder {
  /** Rejects with a {@link DecodingEnded} if the thread ended or took too long, which says nothing about the file. */
  readonly decode: DecodeFile;
  /** Rejects as `decode` does, or if finding threw. */
  readonly locate: LocateAll;
  /** Ends the thread, if one runs. */
  close(): Promise<void>;
}

/** Larger files are parsed in a thread. Smaller ones take a few milliseconds, and other work gets its turn between them. */
const LARGE_BYTES = 16 * 1024;
/** Parsers need at most half of that for a file within the limits. */
const HEAP_MIB = 512;
/** A larger young generation takes up to 100 MiB more, above all on a busy machine, and saves little time. */
const YOUNG_MIB = 16;
const DEADLINE_MS = 60_000;
/** A thread without work ends after this time. */
const IDLE_MS = 10_000;
/** After a larger file the thread ends at once: its heap would be kept beside the objects that were made of the file. */
const KEPT_BYTES = 512 * 1024;

/** A file whose documents are longer as JSON by this factor repeats values by aliases. */
const EXPANDED = 2;

/**
 * Whether a file may have an anchor and an alias. Aliases of aliases multiply, so a file of any size can be as long to read as a
 * large one. A file that has both characters for another reason takes a turn in the thread.
 */
function mayHaveAliases(bytes: Uint8Array): boolean {
  return bytes.includes(0x26) && bytes.includes(0x2a);
}

/** Beside this module in the sources; at the root of the bundle, which has its chunks in a folder. */
const MODULE = import.meta.url.endsWith('.ts') ? './decode-thread.ts' : '../decode-thread.js';

/** What the tests of the decoder change. */
export interface SourceDecoderOptions {
  readonly heapMiB?: number;
  readonly deadlineMs?: number;
}

/** Opens a decoder that keeps the event loop free: large files are parsed one after the other in one thread. */
export async function openSourceDecoder(
  { clock }: { readonly clock: Clock },
  { heapMiB = HEAP_MIB, deadlineMs = DEADLINE_MS }: SourceDecoderOptions = {},
): Promise<SourceDecoder> {
  const here = await openDecoder();
  const inTurn = createTurns();
  let running: Running | undefined;
  let cancelIdle = (): void => undefined;
  let isClosed = false;
  let decodedHere = 0;

  async function end(): Promise<void> {
    cancelIdle();
    const { worker } = running ?? {};
    running = undefined;
    await worker?.terminate();
  }

  async function inThread(task: DecodeTask): Promise<Exclude<DecodeAnswer, { readonly defect: string }>> {
    cancelIdle();
    if (isClosed) throw new DecodingEnded('the server stops');
    running ??= startWorker(new URL(MODULE, import.meta.url), {
      maxOldGenerationSizeMb: heapMiB,
      maxYoungGenerationSizeMb: YOUNG_MIB,
    });
    try {
      const answer = await answerTo(running, task, clock, deadlineMs);
      if (task.bytes.length > KEPT_BYTES) await end();
      if ('defect' in answer) throw new Error(answer.defect);
      return answer;
    } catch (error) {
      if (error instanceof DecodingEnded) await end();
      throw error;
    } finally {
      if (running !== undefined) cancelIdle = clock.schedule(IDLE_MS, () => void end());
    }
  }
  return {
    decode: async (path, bytes, blob) => {
      if (bytes.length > LARGE_BYTES || mayHaveAliases(bytes)) {
        const answer = await inTurn(() => inThread({ path, bytes, blob }));
        if (!('file' in answer)) throw new Error('the thread has answered something else');
        if (answer.file.size.expandedBytes > EXPANDED * bytes.length) shareTexts(answer.file);
        return answer.file;
      }
      decodedHere += bytes.length;
      if (decodedHere > LARGE_BYTES) {
        decodedHere = 0;
        await nextTurn();
      }
      return here(path, bytes, blob);
    },
    locate: async (path, bytes, places) => {
      if (bytes.length <= LARGE_BYTES) return places.map(createLocator(decoders, path, bytes));
      const answer = await inTurn(() => inThread({ path, bytes, places }));
      if ('found' in answer) return answer.found;
      throw new Error('the thread has answered something else');
    },
    close: async () => {
      isClosed = true;
      await end();
    },
  };
}

/** Rejects with a {@link DecodingEnded} if the thread ends before it answers, or the deadline passes. */
async function answerTo(
  { worker, ended }: Running,
  task: DecodeTask,
  clock: Clock,
  deadlineMs: number,
): Promise<DecodeAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<DecodeAnswer>();
  const passed = (): void => reject(new DecodingEnded(`parsing ${task.path} took longer than its deadline`));
  const cancel = clock.schedule(deadlineMs, passed);
  worker.once('message', resolve).postMessage(task);
  try {
    return await Promise.race([promise, ended.catch(refuseEnd(task))]);
  } finally {
    cancel();
    worker.off('message', resolve);
  }
}

function refuseEnd({ path }: DecodeTask) {
  return (error: unknown): never => {
    throw new DecodingEnded(`the thread that parses ${path} has ended: ${errorText(error)}`);
  };
}
