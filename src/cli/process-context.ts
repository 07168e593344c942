import packageJson from '../../package.json' with { type: 'json' };
import type { StopSignals } from '../compose/options.ts';
import type { ProcessContext } from './command.ts';
import { EXIT } from './exit-codes.ts';
import { endHeld, exitNow } from './last-exit.ts';
import { type TextOutput, terminalOf } from './output.ts';

/** The context of this process, without what sets its exit code. */
export function processContext(): Omit<ProcessContext, 'exit'> {
  // A reader such as `head` that has seen enough is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok);
    throw error;
  });
  const [stdout, stderr] = [textOutput(process.stdout), textOutput(process.stderr)];
  return {
    stdout,
    stderr,
    withoutColours: () => {
      stdout.colour = false;
      stderr.colour = false;
    },
    env: process.env,
    cwd: process.cwd(),
    version: packageJson.version,
    readStdin,
    untilStopped,
    stopSignals,
  };
}

function textOutput(stream: NodeJS.WriteStream): TextOutput & { colour: boolean } {
  return {
    write: (text) => void stream.write(text),
    ...terminalOf(stream.isTTY === true, process.env),
    columns: stream.columns || 80,
  };
}

async function readStdin(maxBytes: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new Error(`standard input is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The first signal asks for an orderly end, the second one insists. */
function untilStopped(endMs: number): AbortSignal {
  const first = new AbortController();
  abortInTurn([first], endMs);
  return first.signal;
}

function stopSignals(endMs: number): StopSignals {
  const [first, second] = [new AbortController(), new AbortController()];
  abortInTurn([first, second], endMs);
  return { first: first.signal, second: second.signal };
}

/** Longest delay that a timer of the platform can hold. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Aborts one controller at each signal; one signal more ends the process, and so does the end of the time after the first. */
function abortInTurn(controllers: readonly AbortController[], endMs: number): void {
  const stop = (): void => {
    const next = controllers.find(({ signal }) => !signal.aborted);
    if (next === undefined) exitNow(EXIT.interrupted);
    if (next === controllers[0]) {
      const late = `did not end within ${endMs / 1_000} s of the signal, held`;
      setTimeout(() => endHeld(late, EXIT.internal), Math.min(endMs, LONGEST_TIMER_MS)).unref();
    }
    next.abort();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  // The terminal was closed: what was started must not be left behind.
  process.on('SIGHUP', stop);
}
