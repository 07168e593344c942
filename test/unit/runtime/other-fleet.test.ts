import { expect, it } from 'vitest';
import { parseFleetName } from '../../../src/model/fleet/ids.ts';
import { must } from '../../../src/model/values/result.ts';
import { createFleetWorld, fleetName } from '../../support/fleet-world.ts';
import { clusterYaml, configMapYaml } from '../../support/manifests.ts';

it('refuses an agent whose cluster belongs to another fleet, and takes clusters of its own or of no fleet', async () => {
  const world = await createFleetWorld();
  world.source.push({
    'clusters/east/cluster.yaml': clusterYaml('east'),
    'clusters/east/a.yaml': configMapYaml('a', '1'),
  });
  await world.settle();
  const east = world.agent('east');
  const refused = east.connect({ fleet: must(parseFleetName('another')) });
  expect(refused).toMatchObject({ type: 'refused', reason: 'OtherFleet' });
  expect(refused).toHaveProperty('message', expect.stringMatching(/fleet another.*fleet test/));
  await world.settle();
  expect(east.deltas).toEqual([]);
  expect(east.connect({ fleet: fleetName })).toEqual({ type: 'admitted' });
  east.disconnect();
  expect(east.connect()).toEqual({ type: 'admitted' });
});
