import { expect, test } from 'vitest';
import { HealthStatus } from '../../../../../generated/envoy/config/core/v3/core_pb.ts';
import { clusterHealth, createFakeEnvoys } from '../../../../support/fake-envoys.ts';
import { createFleetWorld } from '../../../../support/fleet-world.ts';
import { dbYaml } from './support.ts';

test('a report of an Envoy moves its data plane and service in the figures of the server', async () => {
  const envoys = createFakeEnvoys();
  const world = await createFleetWorld({ xds: envoys.setup });
  const figures = () =>
    ['dataplanes', 'services'].map((what) => {
      const reading = world.server.samples().get(`fleetrelay_${what}`);
      return typeof reading === 'object' ? [...reading].filter(([, , count]) => count !== 0) : reading;
    });
  expect(figures()).toEqual([[], []]);

  world.source.push({ 'db.yaml': dbYaml() });
  await world.clock.advance(1_000);
  expect(figures()).toEqual([OFFLINE, OFFLINE]);

  envoys.hds('default.db').report(clusterHealth('localhost:80', HealthStatus.HEALTHY, '127.0.0.1'));
  await world.clock.advance(200);
  expect(figures()).toEqual([ONLINE, ONLINE]);
});

const OFFLINE = [['default', 'offline', 1]];
const ONLINE = [['default', 'online', 1]];
