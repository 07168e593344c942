import { afterEach, describe, expect, test } from 'vitest';
import type { RedisStoreOptions } from '../../../src/adapters/stores/redis/options.ts';
import { OPEN, WRITE } from '../../../src/adapters/stores/redis/scripts.ts';
import type { SnapshotStore, StoreEvent } from '../../../src/ports/snapshot-store.ts';
import { until } from '../../support/fleet-processes.ts';
import { noProgram } from '../../support/programs.ts';
import { type RedisProcess, type RedisProcessOptions, startRedis } from '../../support/redis.ts';
import { startRedisTrio } from '../../support/redis-sentinel.ts';
import { openRedisStore } from '../../support/redis-store.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const BASE = '{fleetrelay}';
/** Long enough that a busy machine does not look like a store without an answer. */
const QUICK = { timeouts: { connect: 3_000, command: 3_000, beat: 100 } };

describe.skipIf(noProgram('redis-server'))('a store in Redis under faults of a real redis-server', () => {
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function redisOf(options?: RedisProcessOptions): Promise<RedisProcess> {
    const redis = await startRedis(options);
    closers.push(redis.stop);
    return redis;
  }

  async function proxyOf(redis: RedisProcess): Promise<TcpProxy> {
    const proxy = await startTcpProxy(redis.port);
    closers.push(proxy.stop);
    return proxy;
  }

  async function open(
    at: { readonly port: number },
    options: Partial<RedisStoreOptions> = {},
  ): Promise<{ readonly store: SnapshotStore; readonly events: StoreEvent[] }> {
    const store = await openRedisStore(at, { ...QUICK, ...options });
    closers.push(store.close);
    const events: StoreEvent[] = [];
    store.watch((event) => events.push(event));
    return { store, events };
  }

  const emitted = (events: readonly StoreEvent[], type: StoreEvent['type']): Promise<StoreEvent> =>
    until(`the event ${type}`, () => events.find((event) => event.type === type));
  const typesOf = (events: readonly StoreEvent[]): readonly string[] => events.map(({ type }) => type);
  const textAt = async (store: SnapshotStore, key: string): Promise<string | undefined> => {
    const record = await store.get(key);
    return record === undefined ? undefined : new TextDecoder().decode(record.value);
  };
  const keysOf = async (store: SnapshotStore): Promise<readonly string[]> => {
    const keys: string[] = [];
    for await (const { key } of store.list('')) keys.push(key);
    return keys;
  };

  test('killed and restarted empty: down, up, lost; records are gone and can be written again', async () => {
    const redis = await redisOf();
    const { store, events } = await open(redis);
    await store.write([{ key: 'k', value: bytes('1') }]);
    await redis.kill();
    await emitted(events, 'down');
    await expect(store.get('k')).rejects.toThrow('does not answer');
    await redis.restart();
    await emitted(events, 'lost');
    expect(typesOf(events)).toEqual(['down', 'up', 'lost']);
    expect(await keysOf(store)).toEqual([]);
    expect(await store.write([{ key: 'k', value: bytes('2'), ifVersion: null }])).toBe('written');
  });

  test('killed and restarted with all records: no event lost', async () => {
    const redis = await redisOf({ settings: { appendonly: 'yes', appendfsync: 'always' } });
    const { store, events } = await open(redis);
    for (const value of ['1', '2']) await store.write([{ key: 'k', value: bytes(value) }]);
    const version = (await store.get('k'))?.version;
    await redis.kill();
    await emitted(events, 'down');
    await redis.restart();
    await emitted(events, 'up');
    expect((await store.get('k'))?.version).toBe(version);
    expect(typesOf(events)).toEqual(['down', 'up']);
  });

  test('the index or the state evicted: lost is emitted, and no record is missing in a list afterwards', async () => {
    const redis = await redisOf();
    const { store, events } = await open(redis);
    const keys = Array.from({ length: 2_500 }, (_, index) => `k/${index}`).sort();
    await store.write(keys.map((key) => ({ key, value: bytes(key) })));
    for (const name of ['index', 'state']) {
      events.length = 0;
      expect(await redis.command('DEL', `${BASE}:${name}`)).toBe(1);
      await emitted(events, 'lost');
      expect(await keysOf(store)).toEqual(keys);
      expect(typesOf(events)).toEqual(['lost']);
    }
    expect(await store.write([{ key: 'k/0', value: null }])).toBe('written');
    expect(await keysOf(store)).toHaveLength(keys.length - 1);
  });

  test('a process is killed while it restores the index: the next one restores it, and no process lists a part', async () => {
    const redis = await redisOf();
    const first = await open(redis);
    const keys = Array.from({ length: 50 }, (_, index) => `k/${index}`).sort();
    await first.store.write(keys.map((key) => ({ key, value: bytes(key) })));
    await first.store.close();
    await redis.command('DEL', `${BASE}:index`);
    const names = ['state', 'index', 'writer:killed'].map((name) => `${BASE}:${name}`);
    await redis.command('EVAL', OPEN.source, '3', ...names, 'm'.repeat(24), 's'.repeat(24), '0');
    const second = await open(redis);
    expect(await keysOf(second.store)).toEqual(keys);
    const third = await open(redis);
    expect(await third.store.write([{ key: 'k/0', value: null }])).toBe('written');
    expect(await keysOf(second.store)).toHaveLength(keys.length - 1);
    expect(typesOf([...second.events, ...third.events].filter(({ type }) => type !== 'changed'))).toEqual([]);
  });

  test('a writer that Redis has forgotten opens its session again', async () => {
    const redis = await redisOf();
    const { store, events } = await open(redis, { timeouts: { ...QUICK.timeouts, beat: 60_000 } });
    for (const value of ['1', '2']) {
      const [writer] = (await redis.command('KEYS', `${BASE}:writer:*`)) as string[];
      await redis.command('DEL', writer!);
      expect(await store.write([{ key: 'k', value: bytes(value) }])).toBe('written');
    }
    expect(events).toEqual([]);
  });

  test('stopped: every command rejects within its timeout; a command under way is carried out once or never, and never late', async () => {
    const redis = await redisOf();
    const { store, events } = await open(redis);
    await store.write([{ key: 'k', value: bytes('0') }]);
    redis.signal('SIGSTOP');
    const under = [store.write([{ key: 'k', value: bytes('1') }]), store.get('k'), keysOf(store)];
    const ends = await Promise.allSettled(under);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    await emitted(events, 'down');
    await expect(store.write([{ key: 'k', value: bytes('x') }])).rejects.toThrow('does not answer');
    redis.signal('SIGCONT');
    await emitted(events, 'up');
    await store.write([{ key: 'k', value: bytes('2') }]);
    expect(await textAt(store, 'k')).toBe('2');
    expect(typesOf(events)).toEqual(['down', 'up']);
  });

  test('a write that arrives after its sender has timed out is not carried out', async () => {
    const redis = await redisOf();
    const proxy = await proxyOf(redis);
    const { store, events } = await open(proxy);
    const release = proxy.holdRequest(WRITE.sha);
    await expect(store.write([{ key: 'k', value: bytes('late') }])).rejects.toThrow('no answer');
    await emitted(events, 'up');
    await store.write([{ key: 'k', value: bytes('new') }]);
    await release();
    expect(await textAt(store, 'k')).toBe('new');
  });

  test('a write that never arrived is carried out when it is retried', async () => {
    const redis = await redisOf();
    const proxy = await proxyOf(redis);
    const { store, events } = await open(proxy);
    const batch = [{ key: 'k', value: bytes('1'), ifVersion: null }];
    proxy.dropRequest(WRITE.sha);
    await expect(store.write(batch)).rejects.toThrow();
    await emitted(events, 'up');
    expect(await store.get('k')).toBeUndefined();
    expect(await store.write(batch)).toBe('written');
    expect(await store.write(batch)).toBe('conflict');
  });

  test('a large batch that is interrupted half way leaves nothing, and succeeds when it is retried', async () => {
    const redis = await redisOf();
    const proxy = await proxyOf(redis);
    const { store, events } = await open(proxy);
    const batch = Array.from({ length: 60 }, (_, index) => ({
      key: `k/${index}`,
      value: new Uint8Array(200_000).fill(index),
      ifVersion: null,
    }));
    // Among the last records: Redis has received most of the values.
    proxy.dropRequest('kk/50\r\n');
    await expect(store.write(batch)).rejects.toThrow();
    await emitted(events, 'up');
    expect(await keysOf(store)).toEqual([]);
    expect(await store.write(batch)).toBe('written');
    expect(await keysOf(store)).toHaveLength(60);
    expect(await redis.command('KEYS', `${BASE}:record:*`)).toHaveLength(60);
  });

  test('only the connection for changes breaks: down and up, and then it receives changes again', async () => {
    const redis = await redisOf();
    const [a, b] = [await open(redis), await open(redis)];
    await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await Promise.all([emitted(a.events, 'up'), emitted(b.events, 'up')]);
    a.events.length = 0;
    await b.store.write([{ key: 'k', value: bytes('1') }]);
    await emitted(a.events, 'changed');
  });

  test('memory became full during an outage: reads work after it', async () => {
    const redis = await redisOf();
    const proxy = await proxyOf(redis);
    const { store, events } = await open(proxy);
    await store.write([{ key: 'k', value: bytes('1') }]);
    proxy.cut();
    await emitted(events, 'down');
    await redis.command('CONFIG', 'SET', 'maxmemory', '1');
    proxy.mend();
    await emitted(events, 'up');
    expect(await textAt(store, 'k')).toBe('1');
    await expect(store.write([{ key: 'k', value: bytes('2') }])).rejects.toThrow(/OOM.*maxmemory/s);
    await redis.command('CONFIG', 'SET', 'maxmemory', '0');
    expect(await store.write([{ key: 'k', value: bytes('2') }])).toBe('written');
    expect(typesOf(events)).toEqual(['down', 'up']);
  });

  test('a disk that Redis cannot save to, and too few replicas: refused with the reason', async () => {
    const redis = await redisOf();
    const { store } = await open(redis);
    await redis.command('CONFIG', 'SET', 'min-replicas-to-write', '2');
    await expect(store.write([{ key: 'k', value: bytes('1') }])).rejects.toThrow(/NOREPLICAS.*min-replicas-to-write/s);
    await redis.command('CONFIG', 'SET', 'min-replicas-to-write', '0');
    expect(await store.write([{ key: 'k', value: bytes('1') }])).toBe('written');
  });

  test('rights that are revoked later: each call names the missing right, and works again after the right is granted', async () => {
    const redis = await redisOf();
    await redis.command('ACL', 'SETUSER', 'store', 'on', '>secret', '~*', '&*', '+@all');
    const { store } = await open(redis, { access: () => ({ username: 'store', password: 'secret' }) });
    for (const right of ['get', 'zadd', 'publish', 'unlink']) {
      await redis.command('ACL', 'SETUSER', 'store', `-${right}`);
      if (right === 'get') await expect(store.get('k')).rejects.toThrow("the 'get' command");
      await expect(store.write([{ key: 'k', value: bytes('1') }])).rejects.toThrow(`+${right}`);
      await redis.command('ACL', 'SETUSER', 'store', '+@all');
      // Not even the half of it.
      expect(await redis.command('EXISTS', `${BASE}:record:k`)).toBe(0);
    }
    expect(await until('it writes', () => store.write([{ key: 'k', value: bytes('1') }]).catch(() => undefined))).toBe(
      'written',
    );
  });

  test('a rotated password is used at the next connection', async () => {
    const redis = await redisOf();
    await redis.command('ACL', 'SETUSER', 'store', 'on', '>old', '~*', '&*', '+@all');
    let password = 'old';
    const { store, events } = await open(redis, { access: () => ({ username: 'store', password }) });
    await redis.command('ACL', 'SETUSER', 'store', 'resetpass', '>new');
    await redis.command('CLIENT', 'KILL', 'USER', 'store');
    await emitted(events, 'down');
    await expect(store.get('k')).rejects.toThrow('does not answer');
    password = 'new';
    await emitted(events, 'up');
    expect(await store.get('k')).toBeUndefined();
  });

  test('closing during an outage ends at once, and emits no event', async () => {
    const redis = await redisOf();
    const { store, events } = await open(redis);
    await redis.kill();
    await emitted(events, 'down');
    await store.close();
    await redis.restart();
    await expect(store.get('k')).rejects.toThrow('closed');
    expect(typesOf(events)).toEqual(['down']);
    expect(await redis.command('CLIENT', 'LIST')).not.toContain('name=fleetrelay');
  });

  describe('behind a sentinel', () => {
    async function trio() {
      const started = await startRedisTrio(redisOf);
      return { ...started, ...(await open(started.sentinel, { sentinel: { master: 'ours' } })) };
    }

    test('a replica with all records takes over: down and up, no event lost', async () => {
      const { replica, sentinel, store, events } = await trio();
      for (const value of ['1', '2', '3']) await store.write([{ key: 'k', value: bytes(value) }]);
      await until('the replica has it', async () =>
        String(await replica.command('GET', `${BASE}:record:k`)).endsWith('3'),
      );
      await until('the failover begins', () => sentinel.command('SENTINEL', 'FAILOVER', 'ours').catch(() => false));
      await emitted(events, 'down');
      await emitted(events, 'up');
      expect(await textAt(store, 'k')).toBe('3');
      await until('the replica is the master', async () =>
        String(await replica.command('INFO', 'replication')).includes('role:master'),
      );
      expect(
        await until('it writes', () => store.write([{ key: 'k', value: bytes('4') }]).catch(() => undefined)),
      ).toBe('written');
      expect(events.filter(({ type }) => type === 'lost')).toEqual([]);
    });

    test('a replica that was behind takes over: every process receives lost', async () => {
      const { master, replica, sentinel, store, events, leaveBehind } = await trio();
      const other = await open(sentinel, { sentinel: { master: 'ours' } });
      await store.write([{ key: 'k', value: bytes('early') }]);
      await until('the replica has it', () =>
        replica.command('EXISTS', `${BASE}:record:k`).then((found) => found === 1),
      );
      await leaveBehind();
      for (const value of ['1', '2', '3']) await store.write([{ key: 'k', value: bytes(value) }]);
      await until('the other has heard of it', () => other.events.length === 4);
      await master.kill();
      await emitted(events, 'down');
      await Promise.all([emitted(events, 'lost'), emitted(other.events, 'lost')]);
      expect(await textAt(store, 'k')).toBe('early');
      expect(await store.write([{ key: 'k', value: bytes('again') }])).toBe('written');
      expect(await textAt(other.store, 'k')).toBe('again');
    });
  });
});
