import type { SnapshotStore, StoreEvent } from '../../../ports/snapshot-store.ts';
import { createLink } from './link.ts';
import type { RedisStoreDeps, RedisStoreOptions } from './options.ts';
import { getRecord, listRecords } from './read-records.ts';
import { createBatchWriter } from './write-batch.ts';

/**
 * A store that several processes share in one Redis (7.0 or newer; standalone, or a master that sentinels name; never in
 * cluster mode). Durable as far as Redis is: what Redis forgets is told as `lost`.
 *
 * Resolves when Redis has answered and everything was found in order, however long that takes. Rejects, with what to do, if
 * the configuration is refused, or if patience or signal end the wait. Later it never gives up: while Redis does not answer,
 * everything rejects at once or within the time of a command, and nothing is queued.
 */
export async function createRedisStore(deps: RedisStoreDeps, options: RedisStoreOptions): Promise<SnapshotStore> {
  const [node, ...others] = options.nodes;
  if (node === undefined) throw new Error('the store has no address: name the host and port of Redis');
  if (options.sentinel === undefined && others.length > 0) {
    throw new Error('the store has several addresses; that needs `sentinel` with the name of the master');
  }
  const listeners = new Set<(event: StoreEvent) => void>();
  const link = await createLink(deps, options, (event) => {
    for (const listener of listeners) listener(event);
  });
  const write = createBatchWriter(link);
  return {
    shared: true,
    get: (key) => getRecord(link, key),
    list: (prefix) => listRecords(link, prefix),
    write,
    watch: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: async () => {
      listeners.clear();
      await link.close();
    },
  };
}
