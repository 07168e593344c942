import type { RedisStoreOptions } from '../../src/adapters/stores/redis/options.ts';
import { createRedisStore } from '../../src/adapters/stores/redis/redis-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import type { Log } from '../../src/ports/log.ts';
import type { SnapshotStore } from '../../src/ports/snapshot-store.ts';
import { silentLog } from './silent-log.ts';

/** A store in a redis-server of this machine, as a process would open it. */
export function openRedisStore(
  { port }: { readonly port: number },
  options: Partial<RedisStoreOptions> = {},
  log: Log = silentLog,
): Promise<SnapshotStore> {
  const deps = { clock: createSystemClock(), random: createSystemRandom(), log };
  return createRedisStore(deps, {
    nodes: [{ host: '127.0.0.1', port }],
    access: () => ({}),
    database: 0,
    prefix: 'fleetrelay',
    patienceMs: 60_000,
    ...options,
  });
}
