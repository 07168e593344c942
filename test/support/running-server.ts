import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createAuditFile } from '../../src/adapters/audit/audit-file.ts';
import { createLocalToken } from '../../src/compose/serve/local-token.ts';
import { must } from '../../src/model/values/result.ts';
import type { AuditEntry, AuditLog } from '../../src/ports/audit-log.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Log, LogData } from '../../src/ports/log.ts';
import { createHttpServer, type HttpServerDeps, type HttpServerOptions } from '../../src/server/http-server.ts';
import { displayAddress, type HttpAddress } from '../../src/server/listen-address.ts';

/** A log that keeps its lines as text. */
export function recordingLog(): Log & { readonly lines: string[] } {
  const lines: string[] = [];
  const at = (level: string) => (message: string, data?: LogData) => {
    lines.push(`${level} ${message} ${JSON.stringify(data ?? {})}`);
  };
  const log: Log & { readonly lines: string[] } = {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => log,
  };
  return log;
}

/** A clock that stands still and whose timers never fire. */
export const stoppedClock: Clock = {
  now: () => 0,
  monotonic: () => 0,
  sleep: () => new Promise(() => {}),
  schedule: () => () => {},
};

/** A real HTTP server on a port of the system's choice. */
export interface RunningServer {
  readonly url: string;
  readonly log: { readonly lines: string[] };
  /** What is in its audit log. */
  acts(): Promise<readonly AuditEntry[]>;
  stop(): Promise<void>;
}

/**
 * Starts the HTTP server with what a test cares about; without routes otherwise. On loopback without people, it leaves a
 * token where `runCli` and `apiFetch` find it.
 */
export async function runServer(
  deps: Partial<HttpServerDeps>,
  options: Partial<HttpServerOptions> = {},
): Promise<RunningServer> {
  const log = recordingLog();
  const folder = await mkdtemp(join(tmpdir(), 'audit-'));
  const audit: AuditLog =
    deps.audit ?? createAuditFile({ file: join(folder, 'audit.log'), fileBytes: 1 << 24, files: 8 });
  const { people = [], listen = { host: '127.0.0.1', port: 0 }, tls } = options;
  const local =
    people.length > 0 || tls?.clientCa !== undefined || 'socket' in listen
      ? undefined
      : createLocalToken({ people: [], listen: { address: listen.host, port: listen.port } }, folder, {
          log,
          env: process.env,
        });
  const server = must(
    createHttpServer(
      { clock: stoppedClock, log, audit, ...deps },
      { listen, ...(local && { localToken: local.token }), ...options },
    ),
  );
  const stop = async (): Promise<void> => {
    await local?.withdraw();
    await server.stop();
    await audit.close();
    await rm(folder, { recursive: true, force: true });
  };
  const bound = await server.start().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  await local?.publish(bound);
  return { url: urlOf(bound, tls === undefined ? 'http' : 'https'), log, acts: () => audit.tail(1_000), stop };
}

function urlOf(bound: HttpAddress, scheme: string): string {
  if ('socket' in bound) return displayAddress(bound);
  const host = bound.host === '0.0.0.0' ? '127.0.0.1' : bound.host;
  return `${scheme}://${displayAddress({ host, port: bound.port })}`;
}
