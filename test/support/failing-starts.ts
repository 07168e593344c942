/**
 * Starts a management server again and again in this process: `fail` lets each part of the start fail in turn, `hang` lets each part
 * take for ever, and asks all these servers to end. Prints one JSON line for each part. Run by `test/e2e/starts-and-ends.test.ts`, as a
 * process, which must end by itself.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunIo, ServeOptions } from '../../src/compose/options.ts';
import { runServe } from '../../src/compose/serve/serve.ts';

const [mode = '', folder = ''] = process.argv.slice(2);
const anyPort = { host: '127.0.0.1', port: 0 };

function optionsAt(name: string): ServeOptions {
  const watch = join(folder, 'watched');
  mkdirSync(watch, { recursive: true });
  const addresses = { listen: anyPort, http: anyPort, metrics: anyPort, xds: anyPort };
  const dataDir = join(folder, name);
  return { folder: watch, dataDir, ...addresses, tlsName: [], relaySecretFile: [], logLevel: 'error' };
}

function ioOf(opening: NonNullable<RunIo['opening']>): RunIo {
  const env = { ...process.env, XDG_STATE_HOME: join(folder, 'state') };
  return { out: () => undefined, err: () => undefined, colour: false, env, cwd: folder, version: 'test', opening };
}

/** The names of all parts, by a start that succeeds. */
async function namesOfParts(): Promise<readonly string[]> {
  const names: string[] = [];
  const stop = new AbortController();
  const last = 'the release of idle memory';
  const opening = (part: string): void => {
    names.push(part);
    if (part === last) setImmediate(() => stop.abort());
  };
  const code = await runServe(optionsAt('all'), stop.signal, ioOf(opening));
  if (code !== 0) throw new Error(`a server without a fault ended with ${code}`);
  return names;
}

/** What holds the event loop beside the pipes of this process. */
function holders(): readonly string[] {
  return process.getActiveResourcesInfo().filter((name) => name !== 'Timeout' && name !== 'PipeWrap');
}

/** Waits, at most a minute, until what a server has opened is closed; a timer of this loop is there meanwhile. */
async function heldAfterwards(): Promise<readonly string[]> {
  for (let looks = 0; looks < 600 && (holders().length > 0 || timers() > 1); looks += 1) await sleep(100);
  return [...holders(), ...(timers() > 1 ? ['Timeout'] : [])];
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}

async function failAt(part: string, index: number): Promise<void> {
  const fault = new Error(`a fault in ${part}`);
  const opening = (opened: string): void => {
    if (opened === part) throw fault;
  };
  const said = await runServe(optionsAt(`fail-${index}`), new AbortController().signal, ioOf(opening)).catch(
    (error: Error) => error.message,
  );
  console.log(JSON.stringify({ part, said, held: await heldAfterwards() }));
}

async function hangAt(part: string, index: number): Promise<void> {
  const stop = new AbortController();
  const opening = async (opened: string): Promise<void> => {
    if (opened !== part) return;
    stop.abort();
    await new Promise<never>(() => undefined);
  };
  const said = await runServe(optionsAt(`hang-${index}`), stop.signal, ioOf(opening)).catch(
    (error: Error) => error.message,
  );
  console.log(JSON.stringify({ part, said }));
}

const names = await namesOfParts();
if (mode === 'hang') await Promise.all(names.map(hangAt));
else for (const [index, part] of names.entries()) await failAt(part, index);
