import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createMemoryStore } from '../../adapters/stores/memory.ts';
import type { RedisAccess, RedisStoreOptions } from '../../adapters/stores/redis/options.ts';
import { createRedisStore } from '../../adapters/stores/redis/redis-store.ts';
import { sealAnew, sealStore } from '../../adapters/stores/sealed.ts';
import { createSqliteStore } from '../../adapters/stores/sqlite.ts';
import type { RedisStoreConfig, RelayConfig, UsernameReference } from '../../model/fleet/relay-config.ts';
import { errorText } from '../../model/text/messages.ts';
import { given } from '../../model/values/given.ts';
import { must, unreachable } from '../../model/values/result.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import { createHttpServer, type HttpServer } from '../../server/http-server.ts';
import { type ProcessDeps, readSecret } from './sources.ts';

/** What is called, what ends the wait, and how long it lasts, while the store cannot be reached yet. */
type StoreWait = Pick<RedisStoreOptions, 'signal' | 'waiting' | 'patienceMs'>;

/** Opens the configured store. Rejects with a text for people. */
async function openStore(
  { store, dataDirectory }: Pick<RelayConfig, 'store' | 'dataDirectory'>,
  deps: ProcessDeps,
  wait: StoreWait,
): Promise<SnapshotStore> {
  switch (store.type) {
    case 'memory':
      return createMemoryStore();
    case 'sqlite':
      return createSqliteStore(store.path ?? join(dataDirectory, 'store.db'), { log: deps.log });
    case 'redis':
      return createRedisStore(deps, {
        ...wait,
        nodes: store.nodes,
        ...(store.sentinel === undefined ? {} : { sentinel: { master: store.sentinel.master } }),
        access: () => readAccess(store, deps.env),
        database: store.database,
        prefix: store.prefix,
      });
    default:
      return unreachable(store);
  }
}

/** The store as those with the secrets see it. Without any it stays as it is. Rejects if the store cannot be asked. */
export async function withSeals(
  store: SnapshotStore,
  secrets: readonly Uint8Array[],
  deps: Pick<ProcessDeps, 'clock' | 'log'>,
): Promise<SnapshotStore> {
  if (secrets.length === 0) return store;
  if (secrets.length > 1) await sealAnew(store, secrets);
  return sealStore(store, secrets, deps);
}

async function readAccess(
  { username, password, sentinel, tls }: RedisStoreConfig,
  env: ProcessDeps['env'],
): Promise<RedisAccess> {
  const read = async (reference: UsernameReference | undefined): Promise<string | undefined> =>
    reference === undefined ? undefined : readReference(reference, env);
  const [user, secret, sentinelUser, sentinelSecret, material] = await Promise.all([
    read(username),
    read(password),
    read(sentinel?.username),
    read(sentinel?.password),
    tls === undefined ? undefined : readMaterial(tls),
  ]);
  return {
    username: user,
    password: secret,
    sentinelUsername: sentinelUser,
    sentinelPassword: sentinelSecret,
    tls: material,
  };
}

async function readMaterial({ caFile, certFile, keyFile, serverName }: NonNullable<RedisStoreConfig['tls']>) {
  const [ca, cert, key] = await Promise.all([
    readIfNamed('authority', caFile),
    readIfNamed('certificate', certFile),
    readIfNamed('key', keyFile),
  ]);
  return { ca, cert, key, serverName };
}

function readReference(reference: UsernameReference, env: ProcessDeps['env']): Promise<string> {
  return reference.type === 'text' ? Promise.resolve(reference.text) : readSecret(reference, env);
}

async function readIfNamed(what: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  return readFile(path, 'utf8').catch((cause: unknown) => {
    throw new Error(`the ${what} of the store cannot be read: ${errorText(cause)}`, { cause });
  });
}

/** Resolves with the store as soon as it answers. Nothing else is started before: the store knows what the fleet holds. */
export function awaitStore(
  config: RelayConfig,
  deps: ProcessDeps,
  { signal, failsAtOnce }: { readonly signal?: AbortSignal; readonly failsAtOnce?: boolean } = {},
): Promise<SnapshotStore> {
  const ending = given({ signal });
  if (failsAtOnce === true) {
    return openStore(config, deps, { ...ending, patienceMs: 0 }).catch((cause: unknown) => {
      const todo = 'start it, or name another one with --store (a server without a terminal waits for it)';
      throw new Error(`the store cannot be used: ${errorText(cause)}: ${todo}`, { cause });
    });
  }
  return whileWaiting(config, deps, 'the store cannot be reached yet, and is waited for', (waiting) =>
    openStore(config, deps, { ...ending, waiting }),
  );
}

/** While `work` waits, `/readyz` on the port for health and metrics gives the reason. The port is free when the work ends. */
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
