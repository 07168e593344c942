import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Clock } from '../../ports/clock.ts';
import { gitCopyError } from '../../ports/git-repo.ts';
import { killGroup } from './run-process.ts';

/** One object; `bytes` undefined if it is larger than asked for, or only its header was. */
export type BatchObject =
  | { readonly found: true; readonly type: string; readonly size: number; readonly bytes: Buffer | undefined }
  | { readonly found: false };

/** A long-lived `git cat-file`, fed with many requests at once. */
export interface ObjectBatch {
  /** Rejects with a `GitCopyError` if the process fails or is silent for too long. */
  read(object: string, maxBytes: number): Promise<BatchObject>;
  stop(): void;
}

interface Request {
  readonly maxBytes: number;
  readonly resolve: (object: BatchObject) => void;
  readonly reject: (error: Error) => void;
}

const SILENCE_MS = 60_000;
const OBJECT_ID = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

/** Is this a full object id? Nothing else may reach a command line or a batch. */
export function isObjectId(text: string): boolean {
  return OBJECT_ID.test(text);
}

/** `withContent` false: only types and sizes are asked for. The process starts at the first request. */
export function createObjectBatch(deps: {
  readonly clock: Clock;
  readonly start: () => ChildProcessWithoutNullStreams;
  readonly withContent: boolean;
}): ObjectBatch {
  let running: ReturnType<typeof runBatch> | undefined;
  return {
    read: (object, maxBytes) => {
      if (!isObjectId(object)) return Promise.resolve({ found: false });
      if (running === undefined || running.ended()) running = runBatch(deps);
      return running.read(object, maxBytes);
    },
    stop: () => {
      running?.fail('the reading was stopped');
      running = undefined;
    },
  };
}

function runBatch(deps: {
  readonly clock: Clock;
  readonly start: () => ChildProcessWithoutNullStreams;
  readonly withContent: boolean;
}) {
  const child = deps.start();
  const waiting: Request[] = [];
  let ended = false;
  let cancelSilence = (): void => undefined;
  const fail = (why: string): void => {
    if (ended) return;
    ended = true;
    cancelSilence();
    killGroup(child);
    for (const request of waiting.splice(0)) request.reject(gitCopyError(`reading the local copy failed: ${why}`));
  };
  const watchSilence = (): void => {
    cancelSilence();
    if (waiting.length > 0) cancelSilence = deps.clock.schedule(SILENCE_MS, () => fail('git gave no answer'));
  };
  const parser = createBatchParser(deps.withContent, {
    maxBytes: () => waiting[0]?.maxBytes ?? 0,
    object: (object) => waiting.shift()?.resolve(object),
    broken: fail,
  });
  child.stdout.on('data', (chunk: Buffer) => {
    parser.add(chunk);
    if (!ended) watchSilence();
  });
  child.stderr.on('data', () => undefined);
  child.stdin.on('error', () => undefined);
  child.once('error', (error) => fail(error.message));
  child.once('close', () => fail('git ended'));
  return {
    ended: () => ended,
    fail,
    read: (object: string, maxBytes: number): Promise<BatchObject> =>
      new Promise((resolve, reject) => {
        waiting.push({ maxBytes, resolve, reject });
        child.stdin.write(`${object}\n`);
        if (waiting.length === 1) watchSilence();
      }),
  };
}

/** Splits the answers: a header line `id type size`, then (with content) that many bytes and a line end. */
export function createBatchParser(
  withContent: boolean,
  sink: {
    readonly maxBytes: () => number;
    readonly object: (object: BatchObject) => void;
    readonly broken: (why: string) => void;
  },
): { add(chunk: Buffer): void } {
  let pending: Buffer = Buffer.alloc(0);
  let current: { type: string; size: number; left: number; parts: Buffer[] | undefined } | undefined;
  const header = (line: string): boolean => {
    if (line.endsWith(' missing')) {
      sink.object({ found: false });
      return true;
    }
    const [, type, sizeText] = line.split(' ');
    const size = Number(sizeText);
    if (type === undefined || !Number.isSafeInteger(size)) {
      sink.broken('git gave an answer that cannot be understood');
      return false;
    }
    if (!withContent) sink.object({ found: true, type, size, bytes: undefined });
    // One more for the line end after the content.
    else current = { type, size, left: size + 1, parts: size <= sink.maxBytes() ? [] : undefined };
    return true;
  };
  const content = (): void => {
    if (current === undefined) return;
    const part = pending.subarray(0, current.left);
    pending = pending.subarray(part.length);
    current.left -= part.length;
    current.parts?.push(part);
    if (current.left > 0) return;
    const { type, size, parts } = current;
    current = undefined;
    sink.object({ found: true, type, size, bytes: parts && Buffer.concat(parts).subarray(0, size) });
  };
  return {
    add: (chunk) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      while (pending.length > 0) {
        if (current !== undefined) content();
        else {
          const lineEnd = pending.indexOf(10);
          if (lineEnd < 0) return;
          const line = pending.toString('latin1', 0, lineEnd);
          pending = pending.subarray(lineEnd + 1);
          if (!header(line)) return;
        }
      }
    },
  };
}
