import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { WRITE } from '../../../src/adapters/stores/redis/scripts.ts';
import { createStoreLease } from '../../../src/adapters/stores/store-lease.ts';
import type { SnapshotStore } from '../../../src/ports/snapshot-store.ts';
import { noProgram } from '../../support/programs.ts';
import { type RedisProcess, startRedis } from '../../support/redis.ts';
import { openRedisStore } from '../../support/redis-store.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { leaseContract } from '../lease/suite.ts';
import { sharedStoreContract } from './shared-suite.ts';
import { storeContract } from './suite.ts';

describe.skipIf(noProgram('redis-server'))('on a real redis-server', () => {
  let redis: RedisProcess;
  let homes = 0;
  const proxies: TcpProxy[] = [];
  const leaseStores: SnapshotStore[] = [];

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterEach(async () => {
    await Promise.all(leaseStores.splice(0).map((store) => store.close()));
    await Promise.all(proxies.splice(0).map((proxy) => proxy.stop()));
  });

  afterAll(() => redis?.stop());

  storeContract('redis', () => openRedisStore(redis, { prefix: `home-${++homes}` }));

  sharedStoreContract('redis', async () => {
    await redis.command('FLUSHALL');
    return {
      process: async () => {
        const proxy = await startTcpProxy(redis.port);
        proxies.push(proxy);
        const store = await openRedisStore(proxy, { timeouts: { command: 5_000, beat: 100 } });
        return { store, swallowReply: () => proxy.swallowReplyTo(WRITE.sha), cut: proxy.cut, mend: proxy.mend };
      },
      lose: async () => void (await redis.command('FLUSHDB')),
      evict: async (key) => {
        expect(await redis.command('DEL', `{fleetrelay}:record:${key}`)).toBe(1);
      },
      full: async (isFull) => void (await redis.command('CONFIG', 'SET', 'maxmemory', isFull ? '1' : '0')),
    };
  });

  leaseContract(
    'redis',
    async () => {
      const prefix = `home-${++homes}`;
      const stores = await Promise.all(Array.from({ length: 8 }, () => openRedisStore(redis, { prefix })));
      leaseStores.push(...stores);
      return (identity, clock) => createStoreLease({ store: stores.pop()!, clock }, { key: 'leader', identity });
    },
    { ownClocks: true },
  );
});
