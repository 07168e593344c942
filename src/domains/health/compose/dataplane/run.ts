import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { createSystemClock } from '../../../../adapters/system/clock.ts';
import { createLineLog } from '../../../../adapters/system/line-log.ts';
import { aborted } from '../../../../compose/aborted.ts';
import type { LogLevel, RunIo, StopSignals } from '../../../../compose/options.ts';
import { backOffMs } from '../../../../model/limits/back-off.ts';
import { errorText } from '../../../../model/text/messages.ts';
import type { Log } from '../../../../ports/log.ts';
import { failHealthCheck } from '../../adapters/envoy/admin.ts';
import { type EnvoyEnd, type EnvoyProcess, startEnvoy } from '../../adapters/envoy/process.ts';
import type { DeclaredDataplaneView } from '../../api/dataplane-view.ts';
import type { Bootstrap } from '../../xds/bootstrap/bootstrap.ts';
import { dataplaneBootstrap, type EnvoyRequest } from './bootstrap.ts';

/** How the Envoy of a data plane is run. */
export interface DataplaneRunOptions extends Pick<EnvoyRequest, 'api' | 'tokenFile' | 'caFile'> {
  /** Asks the server for the declared data plane. Rejects if asking again would be in vain. */
  readonly read: () => Promise<DeclaredDataplaneView | { readonly unreachable: string }>;
  /** Milliseconds from the first signal to the end of Envoy. */
  readonly drainMs: number;
  /** Further arguments of Envoy. */
  readonly envoyArgs: readonly string[];
  readonly logLevel: LogLevel;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
const DRAIN_RETRY_MS = 500;
/** After this time Envoy is killed. */
const END_MS = 10_000;

const clock = createSystemClock();

/**
 * Runs the Envoy of a declared data plane. At the first signal it reports itself as unhealthy, so that its inbounds leave the
 * load-balancing sets; after the drain time, or at the second signal, it ends. Waits for the server meanwhile. Resolves with the
 * exit code of Envoy; rejects with a text for a person.
 */
export async function runDataplane(
  options: DataplaneRunOptions,
  signals: StopSignals,
  { cwd, env }: Pick<RunIo, 'cwd' | 'env'>,
): Promise<number> {
  const log = createLineLog(options.logLevel);
  const declared = await declaredOf(options, signals.first, log);
  if (declared === undefined) return 0;
  const made = await dataplaneBootstrap({ ...options, declared, cwd, env });
  if (declared.xds?.tls === true) await checkToken(resolve(cwd, options.tokenFile ?? ''));
  for (const warning of made.warnings) log.warn(warning);
  using folder = privateFolder();
  const file = join(folder.path, 'envoy.json');
  writeFileSync(file, JSON.stringify(made.bootstrap), { mode: 0o600 });
  if (signals.first.aborted) return 0;
  // For a hot restart, Envoys of one machine would need a number each.
  const args = ['-c', file, '--disable-hot-restart', ...options.envoyArgs];
  const envoy = await startEnvoy(env.ENVOY || 'envoy', args);
  log.info('Envoy is started', { dataplane: `${declared.mesh}/${declared.name}`, pid: envoy.pid, ...adminOf(made) });
  const end = await untilEnded(envoy, made, options, signals, log);
  return end.code;
}

/** Undefined: the first signal came before the server answered. */
async function declaredOf(
  { read }: DataplaneRunOptions,
  first: AbortSignal,
  log: Log,
): Promise<DeclaredDataplaneView | undefined> {
  const stopped = aborted(first);
  for (let failures = 0; ; failures += 1) {
    const answer = await Promise.race([read(), stopped]);
    if (answer === undefined || first.aborted) return undefined;
    if (!('unreachable' in answer)) return answer;
    const waitMs = backOffMs(failures, FIRST_RETRY_MS, LONGEST_RETRY_MS);
    log.warn('waiting for the server', { problem: answer.unreachable, retryInSeconds: waitMs / 1_000 });
    await clock.sleep(waitMs, first);
  }
}

async function untilEnded(
  envoy: EnvoyProcess,
  { adminPort }: Bootstrap,
  { drainMs }: DataplaneRunOptions,
  { first, second }: StopSignals,
  log: Log,
): Promise<EnvoyEnd> {
  const early = await Promise.race([envoy.ended, aborted(first)]);
  if (early !== undefined) return endedByItself(early, log);
  log.info('Envoy drains', { seconds: drainMs / 1_000 });
  const over = new AbortController();
  const wait = Promise.race([envoy.ended, clock.sleep(drainMs, second)]).finally(() => over.abort());
  await drain(adminPort, over.signal, log);
  const drained = await wait;
  if (drained !== undefined) return endedByItself(drained, log);
  envoy.signal('SIGTERM');
  const gone = new AbortController();
  const ended = envoy.ended.finally(() => gone.abort());
  await clock.sleep(END_MS, gone.signal);
  if (!gone.signal.aborted) envoy.signal('SIGKILL');
  const end = await ended;
  log.info('Envoy has ended', { how: end.how });
  return end;
}

/** Has Envoy report itself as unhealthy. Tries again until it does, because it may not listen yet, or until `over`. */
async function drain(adminPort: number, over: AbortSignal, log: Log): Promise<void> {
  for (let failures = 0; !over.aborted; failures += 1) {
    try {
      await failHealthCheck(adminPort, over);
      return;
    } catch (error) {
      if (failures === 0) log.warn('Envoy could not be told to drain', { problem: errorText(error) });
      await clock.sleep(DRAIN_RETRY_MS, over);
    }
  }
}

function endedByItself(end: EnvoyEnd, log: Log): EnvoyEnd {
  log.error('Envoy has ended by itself', { how: end.how });
  return end;
}

function adminOf({ adminPort }: Bootstrap) {
  return { admin: `127.0.0.1:${adminPort}` };
}

/** Envoy would start without a token, and be refused. */
async function checkToken(file: string): Promise<void> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new Error(`cannot read the token: ${errorText(error)}`);
  }
  if (text.trim() === '') throw new Error(`${file} holds no token`);
}

/** A folder that only this user can read, and that is removed also if this process exits at once. */
function privateFolder(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'fleetrelay-envoy-'));
  const remove = (): void => rmSync(path, { recursive: true, force: true });
  process.once('exit', remove);
  return {
    path,
    [Symbol.dispose]: () => {
      process.off('exit', remove);
      remove();
    },
  };
}
