import { errorText } from '../../model/error-text.ts';
import type { RelayConfig } from '../../model/relay-config.ts';
import { must } from '../../model/result.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import { createHttpServer, type HttpServer } from '../../server/http-server.ts';
import { openStore } from './open-store.ts';
import type { ProcessDeps } from './sources.ts';

/**
 * The store, as soon as it answers: without it nobody knows what the fleet holds, so nothing else is started before. While
 * it is waited for, the port for health and metrics says so.
 */
export async function awaitStore(config: RelayConfig, deps: ProcessDeps, signal?: AbortSignal): Promise<SnapshotStore> {
  let reason = '';
  let health: Promise<HttpServer | undefined> | undefined;
  const reasons = (): readonly string[] => [`the store cannot be reached yet, and is waited for: ${reason}`];
  const waiting = (why: string): void => {
    reason = why;
    health ??= openHealth(config, reasons, deps);
  };
  try {
    return await openStore(config, deps, { waiting, ...(signal === undefined ? {} : { signal }) });
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
