import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Clock } from '../../ports/clock.ts';
import { gitCopyError } from '../../ports/git-repo.ts';
import { killGroup } from './git-command.ts';

/** One object; `bytes` is undefined if the object is larger than requested. */
export interface BatchObject {
  readonly type: string;
  readonly size: number;
  readonly bytes: Buffer | undefined;
}

export type ObjectBatch = ReturnType<typeof createObjectBatch>;

interface Request {
  readonly maxBytes: number;
  readonly resolve: (object: BatchObject | undefined) => void;
  readonly reject: (error: Error) => void;
}

const SILENCE_MS = 60_000;
const OBJECT_ID = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

/** True for a full object id. Nothing else is passed to a command line or a batch. */
export function isObjectId(text: string): boolean {
  return OBJECT_ID.test(text);
}

/**
 * A long-lived `git cat-file --batch`, which answers many requests in order. The process starts at the first request, and again
 * after it has ended.
 */
export function createObjectBatch(clock: Clock, start: () => ChildProcessWithoutNullStreams) {
  let running: ReturnType<typeof runBatch> | undefined;
  return {
    /** Undefined: the object does not exist. Rejects with a `GitCopyError` if the process fails or gives no answer. */
    read: (object: string, maxBytes: number): Promise<BatchObject | undefined> => {
      if (!isObjectId(object)) return Promise.resolve(undefined);
      if (running === undefined || running.hasEnded()) running = runBatch(clock, start());
      return running.read(object, maxBytes);
    },
    stop: (): void => {
      running?.fail('the reading was stopped');
      running = undefined;
    },
  };
}

function runBatch(clock: Clock, child: ChildProcessWithoutNullStreams) {
  const waiting: Request[] = [];
  let hasEnded = false;
  let cancelSilence = (): void => undefined;
  const fail = (why: string): void => {
    if (hasEnded) return;
    hasEnded = true;
    cancelSilence();
    killGroup(child);
    for (const request of waiting.splice(0)) request.reject(gitCopyError(`reading the local copy failed: ${why}`));
  };
  const watchSilence = (): void => {
    cancelSilence();
    if (waiting.length > 0) cancelSilence = clock.schedule(SILENCE_MS, () => fail('git gave no answer'));
  };
  const parse = createBatchParser({
    maxBytes: () => waiting[0]?.maxBytes ?? 0,
    object: (object) => waiting.shift()?.resolve(object),
    broken: fail,
  });
  child.stdout.on('data', (chunk: Buffer) => {
    parse(chunk);
    if (!hasEnded) watchSilence();
  });
  child.stderr.resume();
  child.stdin.on('error', () => undefined);
  child.once('error', (error) => fail(error.message));
  child.once('close', () => fail('git ended'));
  return {
    hasEnded: () => hasEnded,
    fail,
    read: (object: string, maxBytes: number): Promise<BatchObject | undefined> =>
      new Promise((resolve, reject) => {
        waiting.push({ maxBytes, resolve, reject });
        child.stdin.write(`${object}\n`);
        if (waiting.length === 1) watchSilence();
      }),
  };
}

/** Splits the answers: a header line `id type size` or `id missing`; after a size that many bytes and a line end. */
function createBatchParser(sink: {
  readonly maxBytes: () => number;
  readonly object: (object: BatchObject | undefined) => void;
  readonly broken: (why: string) => void;
}): (chunk: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0);
  let current: { type: string; size: number; left: number; parts: Buffer[] | undefined } | undefined;
  const takeHeader = (): boolean => {
    const lineEnd = pending.indexOf(10);
    if (lineEnd < 0) return false;
    const [, type, sizeText] = pending.toString('latin1', 0, lineEnd).split(' ');
    pending = pending.subarray(lineEnd + 1);
    const size = Number(sizeText);
    if (type === 'missing') sink.object(undefined);
    else if (type === undefined || !Number.isSafeInteger(size)) {
      sink.broken('git gave an answer that cannot be understood');
      return false;
    }
    // One more for the line end after the content.
    else current = { type, size, left: size + 1, parts: size <= sink.maxBytes() ? [] : undefined };
    return true;
  };
  const takeContent = (content: NonNullable<typeof current>): void => {
    const part = pending.subarray(0, content.left);
    pending = pending.subarray(part.length);
    content.left -= part.length;
    content.parts?.push(part);
    if (content.left > 0) return;
    const { type, size, parts } = content;
    current = undefined;
    sink.object({ type, size, bytes: parts && Buffer.concat(parts).subarray(0, size) });
  };
  return (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    while (pending.length > 0) {
      if (current !== undefined) takeContent(current);
      else if (!takeHeader()) return;
    }
  };
}
