import { expect, it } from 'vitest';
import { TAKES_STATUSES } from '../../../src/model/agent/agent.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml } from '../../support/manifests.ts';
import { names } from '../../support/started-world.ts';
import { flowerYaml, statusDomain, statusOf } from '../../support/status-domain.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const ROSE = statusOf('rose');
const FILES = { 'east.yaml': clusterYaml('east'), 'rose.yaml': flowerYaml('rose', 'east') };
const domains = [{ engine: statusDomain() }];

async function world(capabilities = [TAKES_STATUSES]): Promise<FleetWorld> {
  const made = await createFleetWorld({ domains });
  made.agent('east').capabilities = capabilities;
  made.source.push(FILES);
  made.agent('east').connect();
  await made.settle();
  return made;
}

const eastOf = ({ server }: FleetWorld) => server.api.clusters().find(({ name }) => name === 'east');

it('is sent, counted apart, and ended under guards that let nothing be removed', async () => {
  const made = await world();
  expect(names(made, 'east')).toEqual([ROSE]);
  expect(eastOf(made)).toMatchObject({ counts: { targeted: 0 }, statuses: { total: 1, applied: 1, failed: 0 } });
  made.source.push({
    'policy.yaml':
      'apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: fleet}\nspec: {guards: {maxRemovalsPerCluster: 0, maxRemovalsPerFleet: 0}}\n',
  });
  await made.settle();
  made.source.push({ 'rose.yaml': null });
  await made.settle();
  expect(made.agent('east').deltas.at(-1)?.removals).toEqual([ROSE]);
  expect([names(made, 'east'), eastOf(made)?.statuses]).toEqual([[], undefined]);
  await made.server.stop();
});

it('a server that starts again remembers that the agent takes statuses, before it is connected', async () => {
  const made = await world();
  for (const agent of made.agents.known.values()) agent.abandon();
  const { store, agents, clock } = made;
  const next = await createFleetWorld({ domains, store, agents, clock: createVirtualClock(clock.now()) });
  next.source.push(FILES);
  await next.settle();
  expect(eastOf(next)).toMatchObject({ connected: false, statuses: { total: 1, applied: 1, failed: 0 } });
  await next.server.stop();
});

it('an agent without the capability is sent nothing, and gets it once it has the capability', async () => {
  const made = await world([]);
  expect([made.agent('east').deltas, eastOf(made)?.statuses]).toEqual([[], { total: 1, applied: 0, failed: 0 }]);
  made.agent('east').disconnect();
  made.agent('east').capabilities = [TAKES_STATUSES];
  made.agent('east').connect();
  await made.settle();
  expect(names(made, 'east')).toEqual([ROSE]);
  await made.server.stop();
});
