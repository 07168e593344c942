import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { RedisAccess, RedisStoreOptions } from '../../../src/adapters/stores/redis/options.ts';
import type { Log } from '../../../src/ports/log.ts';
import type { SnapshotStore } from '../../../src/ports/snapshot-store.ts';
import { freePort } from '../../support/free-port.ts';
import { noProgram } from '../../support/programs.ts';
import { type RedisProcess, type RedisProcessOptions, startRedis } from '../../support/redis.ts';
import { openRedisStore } from '../../support/redis-store.ts';
import { createRedisTls, type RedisTls } from '../../support/redis-tls.ts';
import { silentLog } from '../../support/silent-log.ts';

const value = new TextEncoder().encode('1');
/** A refusal must not wait for it: a test takes less. */
const PATIENT = { patienceMs: 600_000 };
const TEST_MS = 120_000;
const IMPATIENT = { patienceMs: 0, timeouts: { connect: 3_000, command: 3_000 } };

describe.skipIf(noProgram('redis-server'))('getting into a real redis-server', { timeout: TEST_MS }, () => {
  const closers: (() => Promise<unknown>)[] = [];
  let redis: RedisProcess;

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });
  afterAll(() => redis?.stop());

  async function own(options: RedisProcessOptions): Promise<RedisProcess> {
    const started = await startRedis(options);
    closers.push(started.stop);
    return started;
  }

  async function open(at: { readonly port: number }, options: Partial<RedisStoreOptions> = {}): Promise<SnapshotStore> {
    const store = await openRedisStore(at, options);
    closers.push(store.close);
    return store;
  }

  const refusal = (at: { readonly port: number }, options: Partial<RedisStoreOptions> = {}): Promise<string> =>
    open(at, { ...PATIENT, ...options }).then(
      () => 'it was not refused',
      (error: Error) => error.message,
    );

  async function userOf(...rights: readonly string[]): Promise<RedisAccess> {
    await redis.command('ACL', 'SETUSER', 'store', 'reset', 'on', '>secret', ...rights);
    return { username: 'store', password: 'secret' };
  }

  test('a password: the right one is accepted; a wrong one and none are refused with advice', async () => {
    const guarded = await own({ settings: { requirepass: 'secret' }, client: { password: 'secret' } });
    const store = await open(guarded, { access: () => ({ password: 'secret' }) });
    expect(await store.write([{ key: 'k', value }])).toBe('written');
    const wrong = await refusal(guarded, { access: () => ({ password: 'hidden-wrong' }) });
    expect(wrong).toMatch(/127\.0\.0\.1:\d+: WRONGPASS.*password of the store is wrong/s);
    expect(wrong).not.toContain('hidden-wrong');
    expect(await refusal(guarded)).toMatch(/NOAUTH.*configure one/s);
    expect(await refusal(guarded, { access: () => ({ username: 'unknown', password: 'secret' }) })).toMatch(
      /WRONGPASS/,
    );
  });

  test('an ACL user with exactly the documented rights is sufficient', async () => {
    const access = await userOf(
      '~{fleetrelay}:*',
      '&{fleetrelay}:*',
      '+@read',
      '+@write',
      '+@connection',
      '+@scripting',
      '+publish',
      '+subscribe',
    );
    const store = await open(redis, { access: () => access });
    await store.write([
      { key: 'a/1', value },
      { key: 'a/2', value: new Uint8Array(2_000_000) },
    ]);
    const keys: string[] = [];
    for await (const { key } of store.list('a/')) keys.push(key);
    expect(keys).toEqual(['a/1', 'a/2']);
  });

  test('a user with too few rights is refused at the start, and the error lists all missing rights', async () => {
    const everything = ['~*', '&*', '+@all'];
    const without = async (...less: readonly string[]): Promise<string> => {
      const access = await userOf(...everything, ...less);
      return refusal(redis, { access: () => access });
    };
    expect(await without('-publish', '-zadd', '-mget')).toMatch(/\+zadd \+mget \+publish/);
    expect(await without('-eval', '-evalsha')).toMatch(/'evalsha'.*\+evalsha/s);
    expect(await without('resetchannels')).toMatch(/publish \{fleetrelay\}:changes:0.*&\{fleetrelay\}:\*/s);
    expect(await without('resetkeys', '~other:*')).toMatch(/rights? on keys|keys and channels/);
    expect(await without('-subscribe')).toMatch(/\+subscribe/);
    expect(await without('-scan')).toMatch(/\+scan/);
  });

  test('a server in cluster mode, a sentinel, a replica: refused by name', async () => {
    const cluster = await own({ settings: { 'cluster-enabled': 'yes' } });
    expect(await refusal(cluster)).toMatch(/cluster mode.*standalone server, or sentinels/);
    const sentinel = await own({
      sentinel: (port) => [`port ${port}`, `sentinel monitor ours 127.0.0.1 ${redis.port} 1`],
    });
    expect(await refusal(sentinel)).toMatch(/is a sentinel.*`sentinel`/);
    const replica = await own({ settings: { replicaof: `127.0.0.1 ${redis.port}` } });
    expect(await refusal(replica)).toMatch(/is a replica: name its primary/);
    const unknown = { sentinel: { master: 'theirs' }, ...IMPATIENT };
    expect(await refusal(sentinel, unknown)).toMatch(/master theirs .*knows no master of this name/s);
    const store = await open(sentinel, { sentinel: { master: 'ours' } });
    expect(await store.write([{ key: 'sentinel', value }])).toBe('written');
  });

  test('no address, and several addresses without a sentinel, are refused', async () => {
    expect(await refusal(redis, { nodes: [] })).toMatch(/no address/);
    const two = [1, 2].map((port) => ({ host: '127.0.0.1', port }));
    expect(await refusal(redis, { nodes: two })).toMatch(/several addresses.*`sentinel`/);
  });

  describe('another program listens at the address', () => {
    async function speaking(answer: (heard: string) => string | undefined): Promise<{ readonly port: number }> {
      const server: Server = createServer((socket) => {
        socket.on('error', () => undefined);
        socket.on('data', (data) => {
          const said = answer(String(data));
          if (said === undefined) socket.destroy();
          else socket.write(said);
        });
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      closers.push(async () => server.close());
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('no port');
      return address;
    }

    /** Answers each command of a chunk in turn. */
    const redisSaying =
      (hello: string) =>
      (heard: string): string =>
        [...heard.matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)]
          .map(([, word]) => (word === 'HELLO' ? hello : '+OK\r\n'))
          .join('');

    test('a web server, a server that closes the connection, a server that never answers', async () => {
      const web = await speaking(() => 'HTTP/1.1 400 Bad Request\r\n\r\n');
      expect(await refusal(web)).toMatch(/is not Redis: check the port/);
      const curt = await speaking(() => undefined);
      expect(await refusal(curt, IMPATIENT)).toMatch(/both sides use TLS or neither does/);
      const mute = await speaking(() => '');
      expect(await refusal(mute, IMPATIENT)).toMatch(/no answer within/);
    });

    test('a Redis that is too old', async () => {
      expect(await refusal(await speaking(redisSaying("-ERR unknown command 'HELLO'\r\n")))).toMatch(
        /too old \(below 6\)/,
      );
      const six =
        '*6\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n6.2.14\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n';
      expect(await refusal(await speaking(redisSaying(six)))).toMatch(/too old \(6\.2\.14\): the store needs 7\.0/);
    });
  });

  test('no server: attempts continue until the limit, and succeed when the server starts', async () => {
    const port = await freePort();
    expect(await refusal({ port }, IMPATIENT)).toMatch(/127\.0\.0\.1:\d+: .*ECONNREFUSED/);
    const opening = open({ port });
    const late = await own({ settings: { port: String(port) }, client: { port } });
    expect(await (await opening).write([{ key: 'k', value }])).toBe('written');
    expect(await late.command('EXISTS', '{fleetrelay}:record:k')).toBe(1);
  });

  test('databases and prefixes keep stores apart; a database number that does not exist is refused', async () => {
    const [zero, three, other] = [
      await open(redis, { prefix: 'apart' }),
      await open(redis, { prefix: 'apart', database: 3 }),
      await open(redis, { prefix: 'apart-too' }),
    ];
    const heard: unknown[] = [];
    for (const store of [zero, three]) store.watch((event) => heard.push(event));
    await other.write([{ key: 'k', value }]);
    expect(await zero.get('k')).toBeUndefined();
    await zero.write([{ key: 'zero', value }]);
    expect(await three.get('zero')).toBeUndefined();
    await three.write([{ key: 'three', value }]);
    expect(await zero.get('three')).toBeUndefined();
    expect(heard).toEqual([]);
    expect(await refusal(redis, { database: 99 })).toMatch(/DB index is out of range.*`databases`/s);
  });

  test('prefixes with characters that are special in patterns of Redis', async () => {
    const store = await open(redis, { prefix: 'a*[b]?{tag}' });
    await store.write([
      { key: 'k*', value },
      { key: 'k?', value },
    ]);
    await redis.command('DEL', 'a*[b]?{tag}:index');
    await store.close();
    const again = await open(redis, { prefix: 'a*[b]?{tag}' });
    const keys: string[] = [];
    for await (const { key } of again.list('k')) keys.push(key);
    expect(keys).toEqual(['k*', 'k?']);
  });

  test('a server that evicts keys without expiry causes a warning', async () => {
    const warned: unknown[] = [];
    const log: Log = { ...silentLog, warn: (message, data) => warned.push([message, data]) };
    const evicting = await own({ settings: { 'maxmemory-policy': 'allkeys-lru' } });
    closers.push((await openRedisStore(evicting, {}, log)).close);
    expect(warned).toEqual([[expect.stringContaining('maxmemory-policy'), { policy: 'allkeys-lru' }]]);
  });

  describe('with TLS', () => {
    let tls: RedisTls;
    let secure: RedisProcess;

    beforeAll(async () => {
      tls = await createRedisTls('store.example');
      const tlsPort = String(await freePort());
      secure = await startRedis({
        settings: { ...tls.settings, 'tls-port': tlsPort },
        tlsPort: Number(tlsPort),
      });
    });
    afterAll(async () => {
      await secure?.stop();
      tls?.remove();
    });
    const at = (): { readonly port: number } => ({ port: secure.tlsPort ?? 0 });

    test('authority, client certificate and server name', async () => {
      const store = await open(at(), { access: () => ({ tls: tls.client }) });
      expect(await store.write([{ key: 'k', value: new Uint8Array(3_000_000) }])).toBe('written');
      expect((await store.get('k'))?.value.byteLength).toBe(3_000_000);
    });

    test('certificates that do not match are refused with a reason', async () => {
      const { ca, cert, key, serverName } = tls.client;
      const less = (access: RedisAccess['tls'], options: Partial<RedisStoreOptions> = {}): Promise<string> =>
        refusal(at(), { access: () => (access === undefined ? {} : { tls: access }), ...options });
      expect(await less({ cert, key, serverName })).toMatch(/certificate.*name the CA that signed/s);
      expect(await less({ ca, cert, key })).toMatch(/altnames.*server name in the certificate/s);
      expect(await less({ ca, serverName }, IMPATIENT)).toMatch(/certificate|closed|reset/i);
      expect(await less({ ca, cert, key: 'no key', serverName })).toMatch(/no start line|PEM|unsupported/i);
      expect(await less(undefined, IMPATIENT)).toMatch(/both sides use TLS or neither does/);
      expect(await refusal(secure, { access: () => ({ tls: tls.client }), patienceMs: 0 })).toMatch(/TLS/);
    });
  });
});
