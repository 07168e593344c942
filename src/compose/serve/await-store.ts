import { errorText } from '../../model/messages.ts';
import type { RelayConfig } from '../../model/relay-config.ts';
import { must } from '../../model/result.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import { createHttpServer, type HttpServer } from '../../server/http-server.ts';
import { openStore } from './open-store.ts';
import type { ProcessDeps } from './sources.ts';

/**
 * The store, as soon as it answers: without it nobody knows what the fleet holds, so nothing else is started before.
 */
export function awaitStore(config: RelayConfig, deps: ProcessDeps, signal?: AbortSignal): Promise<SnapshotStore> {
  return whileWaiting(config, deps, 'the store cannot be reached yet, and is waited for', (waiting) =>
    openStore(config, deps, { waiting, ...(signal === undefined ? {} : { signal }) }),
  );
}

/** While `work` waits, the port for health and metrics says for what. It is free again when the work is done. */
export async function whileWaiting<Result>(
  config: RelayConfig,
  deps: ProcessDeps,
  what: string,
  work: (waiting: (why: string) => void) => Promise<Result>,
): Promise<Result> {
  let reason = '';
  let health: Promise<HttpServer | undefined> | undefined;
  const reasons = (): readonly string[] => [`${what}: ${reason}`];
  const waiting = (why: string): void => {
    reason = why;
    health ??= openHealth(config, reasons, deps);
  };
  try {
    return await work(waiting);
  } finally {
    await (await health)?.stop();
  }
}

async function openHealth(
  { metrics: { listen } }: RelayConfig,
  reasons: () => readonly string[],
  deps: ProcessDeps,
): Promise<HttpServer | undefined> {
  const health = { ready: () => ({ ok: false, reasons: reasons() }) };
  const server = must(createHttpServer({ ...deps, health }, { listen: { host: listen.address, port: listen.port } }));
  try {
    await server.start();
    return server;
  } catch (error) {
    deps.log.warn('health cannot be asked while the store is waited for', { error: errorText(error) });
    return undefined;
  }
}
