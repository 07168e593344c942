import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createGrpcClientTransport } from '../../../src/adapters/grpc/client.ts';
import type { OutputPosition } from '../../../src/model/fleet/output.ts';
import { mustEnrol } from '../../support/enrolled.ts';
import { type Fleet, type ServerProcess, startFleet, tokenFor, until } from '../../support/fleet-processes.ts';
import { isLong } from '../../support/long.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';
import { describeOnDirectories } from '../../support/on-clusters.ts';
import { noProgram } from '../../support/programs.ts';
import { type RedisProcess, startRedis } from '../../support/redis.ts';
import { connectStating, type Hostile } from '../../support/stating-agent.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'clusters/west/cluster.yaml': clusterYaml('west'),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
  'apps/a.yaml': configMapYaml('a', 'first'),
};
const claims: readonly [string, () => OutputPosition][] = [
  ['the last of all numbers', () => ({ epoch: 2 ** 53 - 1, sequence: 2 ** 53 - 1 })],
  ['the highest plausible numbers', () => ({ epoch: Date.now() + DAY_MS - 60_000, sequence: 2 ** 40 })],
];

describeOnDirectories('a cluster that forges its position and admission', (clusters) => {
  let fleet: Fleet;
  let pushes = 0;
  const hostile: Hostile[] = [];
  afterEach(() => {
    for (const { leave } of hostile.splice(0)) leave();
  });

  const forge = async (server: ServerProcess, claim: OutputPosition): Promise<void> => {
    const ca = (): Buffer => readFileSync(join(server.dataDir, 'trust', 'ca.crt'));
    const transport = createGrpcClientTransport({ server: server.relay(), security: { type: 'tls', ca } });
    const identity = await until('west is enrolled', () =>
      mustEnrol(transport, { cluster: 'west', token: tokenFor('west', fleet.dataDir) }),
    );
    hostile.push(await connectStating(transport, identity, claim, claim));
  };
  const eastGetsNextPush = async (): Promise<void> => {
    pushes += 1;
    fleet.push({ 'apps/a.yaml': configMapYaml('a', `push-${pushes}`) });
    const holds = async () => (await fleet.live('east', 'ConfigMap/web/a'))?.includes(`push-${pushes}`) === true;
    await until(`east holds push-${pushes}`, holds);
  };
  const startEast = async (): Promise<void> => {
    await fleet.agent('east').start();
    await until('east holds a', () => fleet.live('east', 'ConfigMap/web/a'));
  };

  describe('to the only server', () => {
    beforeAll(async () => {
      fleet = await startFleet(files, { clusters });
      await startEast();
    });
    afterAll(() => fleet.stop());

    it.each(claims)('(%s) stops no other cluster', async (_what, claim) => {
      await forge(fleet.server, claim());
      await eastGetsNextPush();
    });

    it.each(isLong ? claims : claims.slice(0, 1))(
      '(%s) stops no other cluster after a restart',
      async (_what, claim) => {
        await fleet.server.kill('SIGTERM');
        await fleet.server.start();
        await forge(fleet.server, claim());
        await eastGetsNextPush();
      },
    );

    it.each(isLong ? claims : claims.slice(1))(
      '(%s) stops no other cluster after the store was deleted',
      async (_what, claim) => {
        await fleet.server.kill('SIGKILL');
        for (const more of ['', '-wal', '-shm']) rmSync(join(fleet.dataDir, `store.db${more}`), { force: true });
        await fleet.server.start();
        await forge(fleet.server, claim());
        await eastGetsNextPush();
      },
    );
  });

  describe.skipIf(noProgram('redis-server'))('to one of three servers that share Redis', () => {
    let redis: RedisProcess;
    const servers: ServerProcess[] = [];
    beforeAll(async () => {
      redis = await startRedis();
      fleet = await startFleet(files, {
        clusters,
        serve: ['--store', `redis://127.0.0.1:${redis.port}`, '--replicas', 'several'],
      });
      servers.push(fleet.server, fleet.another('b'), fleet.another('c'));
      for (const server of servers.slice(1)) await server.start();
      await startEast();
    });
    afterAll(async () => {
      await fleet.stop();
      await redis.stop();
    });

    it.each(claims)('(%s) stops no other cluster, at whichever server', async (_what, claim) => {
      for (const server of servers) {
        await forge(server, claim());
        await eastGetsNextPush();
        for (const { leave } of hostile.splice(0)) leave();
      }
      expect(pushes).toBeGreaterThan(0);
    });
  });
});
