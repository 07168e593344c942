import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuditFile } from '../../src/adapters/audit/audit-file.ts';
import { must } from '../../src/model/result.ts';
import type { AuditEntry, AuditLog } from '../../src/ports/audit-log.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Log, LogData } from '../../src/ports/log.ts';
import { createHttpServer, type HttpServerDeps, type HttpServerOptions } from '../../src/server/http-server.ts';
import { displayAddress } from '../../src/server/listen-address.ts';

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

/** Starts the HTTP server with what a test cares about; without routes otherwise. */
export async function runServer(
  deps: Partial<HttpServerDeps>,
  options: Partial<HttpServerOptions> = {},
): Promise<RunningServer> {
  const log = recordingLog();
  const folder = await mkdtemp(join(tmpdir(), 'audit-'));
  const audit: AuditLog = deps.audit ?? createAuditFile(join(folder, 'audit.log'));
  const server = must(
    createHttpServer(
      { clock: stoppedClock, log, audit, ...deps },
      { listen: { host: '127.0.0.1', port: 0 }, ...options },
    ),
  );
  const stop = async (): Promise<void> => {
    await server.stop();
    await audit.close();
    await rm(folder, { recursive: true, force: true });
  };
  const bound = await server.start().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const host = bound.host === '0.0.0.0' ? '127.0.0.1' : bound.host;
  const scheme = options.tls === undefined ? 'http' : 'https';
  return { url: `${scheme}://${displayAddress({ host, port: bound.port })}`, log, acts: () => audit.tail(1_000), stop };
}
