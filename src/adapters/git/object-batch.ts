import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Clock } from '../../ports/clock.ts';
import { gitCopyError } from '../../ports/git-repo.ts';
import { killGroup } from './git-command.ts';
import { type GitObject, isObjectId } from './git-objects.ts';
import { FETCHED_COMMIT } from './local-copy.ts';

const SILENCE_MS = 60_000;
const STOPPED = 'the reading was stopped';

interface Request {
  readonly maxBytes: number;
  readonly wantsStart: boolean;
  readonly resolve: (object: GitObject | undefined) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A long-lived `git cat-file --batch` or, without contents, `--batch-check`, which answers many requests in order. The process
 * starts at the first request, and again after it has ended, until `stop`.
 */
export function createObjectBatch(clock: Clock, start: () => ChildProcessWithoutNullStreams, withContent: boolean) {
  let running: ReturnType<typeof runBatch> | undefined;
  let isStopped = false;
  const end = (): void => {
    running?.fail(STOPPED);
    running = undefined;
  };
  return {
    /**
     * Undefined: the object does not exist. Rejects with a `GitCopyError` if the process fails or gives no answer, and after
     * `stop`.
     */
    read: (object: string, maxBytes: number, wantsStart = false): Promise<GitObject | undefined> => {
      if (isStopped) return Promise.reject(readingFailed(STOPPED));
      if (!isObjectId(object) && object !== FETCHED_COMMIT) return Promise.resolve(undefined);
      if (running === undefined || running.hasEnded()) running = runBatch(clock, start(), withContent);
      return running.read(object, maxBytes, wantsStart);
    },
    /** Ends the process; the next request starts another one. */
    restart: end,
    /** Ends the process for good. */
    stop: (): void => {
      isStopped = true;
      end();
    },
  };
}

function readingFailed(why: string): Error {
  return gitCopyError(`reading the local copy failed: ${why}`);
}

function runBatch(clock: Clock, child: ChildProcessWithoutNullStreams, withContent: boolean) {
  const waiting: Request[] = [];
  let hasEnded = false;
  let cancelSilence = (): void => undefined;
  const fail = (why: string): void => {
    if (hasEnded) return;
    hasEnded = true;
    cancelSilence();
    killGroup(child);
    for (const request of waiting.splice(0)) request.reject(readingFailed(why));
  };
  const watchSilence = (): void => {
    cancelSilence();
    if (waiting.length > 0) cancelSilence = clock.schedule(SILENCE_MS, () => fail('git gave no answer'));
  };
  const parse = createBatchParser({
    withContent,
    request: () => waiting[0],
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
    read: (object: string, maxBytes: number, wantsStart: boolean): Promise<GitObject | undefined> =>
      new Promise((resolve, reject) => {
        waiting.push({ maxBytes, wantsStart, resolve, reject });
        child.stdin.write(`${object}\n`);
        if (waiting.length === 1) watchSilence();
      }),
  };
}

/** Splits the answers: a header line `id type size` or `id missing`; after a header with a size, the bytes of the object and a line end. */
function createBatchParser(sink: {
  readonly withContent: boolean;
  readonly request: () => Pick<Request, 'maxBytes' | 'wantsStart'> | undefined;
  readonly object: (object: GitObject | undefined) => void;
  readonly broken: (why: string) => void;
}): (chunk: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0);
  /** `room`: bytes that are still kept of the object. */
  let current:
    | { id: string; type: string; size: number; left: number; room: number; parts: Buffer[] | undefined }
    | undefined;
  const takeHeader = (): boolean => {
    const lineEnd = pending.indexOf(10);
    if (lineEnd < 0) return false;
    const [id = '', type, sizeText] = pending.toString('latin1', 0, lineEnd).split(' ');
    pending = pending.subarray(lineEnd + 1);
    const size = Number(sizeText);
    if (type === 'missing') sink.object(undefined);
    else if (type === undefined || !Number.isSafeInteger(size)) {
      sink.broken('git gave an answer that cannot be understood');
      return false;
    } else if (!sink.withContent) sink.object({ id, type, size, bytes: undefined });
    else {
      const { maxBytes = 0, wantsStart = false } = sink.request() ?? {};
      const parts = size <= maxBytes || wantsStart ? [] : undefined;
      // One more for the line end after the content.
      current = { id, type, size, left: size + 1, room: Math.min(size, maxBytes), parts };
    }
    return true;
  };
  const takeContent = (content: NonNullable<typeof current>): void => {
    const part = pending.subarray(0, content.left);
    pending = pending.subarray(part.length);
    content.left -= part.length;
    if (content.room > 0) content.parts?.push(part.subarray(0, content.room));
    content.room -= Math.min(content.room, part.length);
    if (content.left > 0) return;
    const { id, type, size, parts } = content;
    current = undefined;
    sink.object({ id, type, size, bytes: parts && Buffer.concat(parts) });
  };
  return (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    while (pending.length > 0) {
      if (current !== undefined) takeContent(current);
      else if (!takeHeader()) return;
    }
  };
}
