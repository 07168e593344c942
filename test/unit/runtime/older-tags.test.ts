import { expect, it } from 'vitest';
import { createStepTags } from '../../../src/relay/trust/step-tags.ts';
import { createFleetWorld } from '../../support/fleet-world.ts';
import { base, startedWorld } from '../../support/started-world.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

it('a cluster whose tag is of the older secret is named until its agent has connected, which renews the tag', async () => {
  const first = await startedWorld();
  for (const agent of first.agents.known.values()) agent.abandon();
  first.agents.tags = createStepTags([8, 7].map((byte) => new Uint8Array(32).fill(byte)));
  const clock = createVirtualClock(first.clock.now());
  const world = await createFleetWorld({ store: first.store, clock, agents: first.agents });
  world.source.push(base);
  await world.settle();
  const older = (): readonly (true | undefined)[] => world.server.api.clusters().map(({ olderTag }) => olderTag);
  expect(older()).toEqual([true, true]);
  world.agent('east').connect();
  await world.settle();
  expect(older()).toEqual([undefined, true]);
  const { from, to, upserts, removals, touches } = world.agent('east').deltas.at(-1) ?? {};
  expect([from === to, upserts, removals, touches]).toEqual([true, [], [], []]);
  expect(world.agent('east').deltas).toHaveLength(2);
});
