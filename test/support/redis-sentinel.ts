import { until } from './fleet-processes.ts';
import { type RedisProcess, type RedisProcessOptions, startRedis } from './redis.ts';

/** A master, its replica, and a sentinel that knows them as `ours` and fails over after three seconds. */
export interface RedisTrio {
  readonly master: RedisProcess;
  readonly replica: RedisProcess;
  readonly sentinel: RedisProcess;
  /** From now on the replica receives no write of the master. */
  leaveBehind(): Promise<void>;
}

/** `start`: where the test keeps what it must stop, also if this rejects. */
export async function startRedisTrio(
  start: (options?: RedisProcessOptions) => Promise<RedisProcess> = startRedis,
): Promise<RedisTrio> {
  const master = await start();
  // The replica gets in as a user of its own, so that a test can shut it out.
  await master.command('ACL', 'SETUSER', 'replica', 'on', '>replica', '~*', '&*', '+@all');
  const settings = { replicaof: `127.0.0.1 ${master.port}`, masteruser: 'replica', masterauth: 'replica' };
  const replica = await start({ settings });
  await until('the replica follows', async () =>
    String(await replica.command('INFO', 'replication')).includes('master_link_status:up'),
  );
  const sentinel = await start({
    sentinel: (port) => [
      `port ${port}`,
      'bind 127.0.0.1',
      `sentinel monitor ours 127.0.0.1 ${master.port} 1`,
      'sentinel down-after-milliseconds ours 3000',
      'sentinel failover-timeout ours 20000',
    ],
  });
  await until('the sentinel knows the replica', async () =>
    String(await sentinel.command('SENTINEL', 'REPLICAS', 'ours')).includes(String(replica.port)),
  );
  return {
    ...{ master, replica, sentinel },
    leaveBehind: async () => {
      await master.command('ACL', 'SETUSER', 'replica', 'off');
      await master.command('CLIENT', 'KILL', 'TYPE', 'replica');
    },
  };
}
