import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Fleet, startFleet, until } from '../support/fleet-processes.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';
import { type RedisProcess, startRedis } from '../support/redis.ts';

const FILES = {
  'clusters/east.yaml': clusterYaml('east'),
  'placements/apps.yaml': placementYaml('apps', 'apps/**'),
  'apps/a.yaml': configMapYaml('a', 'one'),
};

describe.skipIf(noProgram('redis-server'))('metrics of a server on Redis', () => {
  let redis: RedisProcess;
  let fleet: Fleet;

  beforeAll(async () => {
    redis = await startRedis();
    fleet = await startFleet(FILES, { serve: ['--store', `redis://127.0.0.1:${redis.port}`] });
    await fleet.agent('east').start();
    await until('the object is there', () => fleet.live('east', 'ConfigMap/web/a'));
  });

  afterAll(async () => {
    await fleet?.stop();
    await redis?.stop();
  });

  const value = async (name: string): Promise<number> => {
    const text = await (await fetch(`${fleet.server.metrics()}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  };
  const becomes = (name: string, is: (value: number) => boolean): Promise<boolean> =>
    until(`${name} is what it should be`, async () => is(await value(name)));

  test('say that it leads, that the store is away and back, and what was written to it again', async () => {
    await becomes('fleetrelay_leader', (leader) => leader === 1);
    await becomes('fleetrelay_store_up', (up) => up === 1);
    expect(await value('fleetrelay_replicas_alive')).toBe(1);
    expect(await value('fleetrelay_store_records_refilled_total')).toBe(0);
    await redis.kill();
    await becomes('fleetrelay_store_up', (up) => up === 0);
    await becomes('fleetrelay_admission_paused', (paused) => paused === 1);
    await redis.restart();
    await becomes('fleetrelay_store_up', (up) => up === 1);
    await becomes('fleetrelay_store_records_refilled_total', (records) => records > 5);
    await becomes('fleetrelay_leader', (leader) => leader === 1);
    await becomes('fleetrelay_admission_paused', (paused) => paused === 0);
  });
});
