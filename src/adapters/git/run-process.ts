import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Clock } from '../../ports/clock.ts';

/** How a process ended. `output` and `errors` are bounded; errors keep their end. */
export interface ProcessOutcome {
  /** `overflow`: it wrote more than allowed and was killed. `missing`: the program could not be started. */
  readonly end: 'exited' | 'timedOut' | 'aborted' | 'overflow' | 'missing';
  /** Exit code; -1 unless `end` is `exited` and it was no signal. */
  readonly code: number;
  readonly output: Buffer;
  readonly errors: string;
}

export interface ProcessRequest {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly input?: readonly (string | Uint8Array)[];
  readonly deadlineMs: number;
  readonly maxOutputBytes: number;
  readonly signal?: AbortSignal | undefined;
}

const ERROR_TAIL_BYTES = 16 * 1024;

/**
 * Starts a program in a process group of its own, so that everything it starts can be ended with it (git runs helpers
 * that would otherwise outlive it, holding a connection).
 */
export function spawnGroup(
  request: Pick<ProcessRequest, 'program' | 'args' | 'environment' | 'directory'>,
): ChildProcessWithoutNullStreams {
  return spawn(request.program, request.args, {
    cwd: request.directory,
    env: request.environment,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    windowsHide: true,
  });
}

/** Kills a process that {@link spawnGroup} started, and everything that it started. */
export function killGroup(child: ChildProcessWithoutNullStreams): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
}

/** Runs a program to its end, its deadline or the caller's abort, whichever is first. Never rejects. */
export function runProcess(clock: Clock, request: ProcessRequest): Promise<ProcessOutcome> {
  if (request.signal?.aborted === true) return Promise.resolve(ended('aborted'));
  return new Promise((resolve) => {
    const child = spawnGroup(request);
    const output = collectHead(request.maxOutputBytes);
    const errors = collectTail(ERROR_TAIL_BYTES);
    let forced: 'timedOut' | 'aborted' | 'overflow' | undefined;
    const force = (why: 'timedOut' | 'aborted' | 'overflow'): void => {
      forced ??= why;
      killGroup(child);
    };
    const abort = (): void => force('aborted');
    const cancelDeadline = clock.schedule(request.deadlineMs, () => force('timedOut'));
    request.signal?.addEventListener('abort', abort, { once: true });
    const finish = (outcome: ProcessOutcome): void => {
      cancelDeadline();
      request.signal?.removeEventListener('abort', abort);
      resolve(outcome);
    };
    child.stdout.on('data', (chunk: Buffer) => {
      if (!output.add(chunk)) force('overflow');
    });
    child.stderr.on('data', (chunk: Buffer) => errors.add(chunk));
    // A program that ends early closes its input; how it ended says more than the broken pipe.
    child.stdin.on('error', () => undefined);
    child.once('error', (error) => finish({ ...ended('missing'), errors: error.message }));
    child.once('close', (code) => {
      const common = { output: output.bytes(), errors: errors.text() };
      finish({ ...common, end: forced ?? 'exited', code: forced === undefined ? (code ?? -1) : -1 });
    });
    for (const part of request.input ?? []) child.stdin.write(part);
    child.stdin.end();
  });
}

function ended(end: ProcessOutcome['end']): ProcessOutcome {
  return { end, code: -1, output: Buffer.alloc(0), errors: '' };
}

function collectHead(maxBytes: number): { add(chunk: Buffer): boolean; bytes(): Buffer } {
  const chunks: Buffer[] = [];
  let size = 0;
  return {
    add: (chunk) => {
      size += chunk.length;
      if (size > maxBytes) return false;
      chunks.push(chunk);
      return true;
    },
    bytes: () => Buffer.concat(chunks),
  };
}

/** Keeps the last bytes of a stream. */
export function collectTail(maxBytes: number): { add(chunk: Buffer): void; text(): string } {
  let tail = Buffer.alloc(0);
  return {
    add: (chunk) => {
      const joined = Buffer.concat([tail, chunk]);
      tail = joined.length > maxBytes ? joined.subarray(joined.length - maxBytes) : joined;
    },
    text: () => tail.toString('utf8'),
  };
}
