import packageJson from '../../package.json' with { type: 'json' };
import { EXIT } from './exit-codes.ts';
import { main } from './main.ts';
import { type TextOutput, terminalOf } from './output.ts';
import { compositionRoots } from './roots.ts';

/** Runs the command line of this process and sets its exit code. */
export async function runProcess(): Promise<void> {
  // A reader such as `head` that has seen enough is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok);
    throw error;
  });
  process.exitCode = await main(process.argv.slice(2), {
    stdout: textOutput(process.stdout),
    stderr: textOutput(process.stderr),
    env: process.env,
    cwd: process.cwd(),
    version: packageJson.version,
    readStdin,
    untilStopped,
    roots: compositionRoots,
  });
}

function textOutput(stream: NodeJS.WriteStream): TextOutput {
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
function untilStopped(): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    controller.abort();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  // The terminal was closed: what was started must not be left behind.
  process.on('SIGHUP', stop);
  return controller.signal;
}
