import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../src/adapters/stores/memory.ts';
import type { OutputPosition } from '../../src/model/fleet/output.ts';
import { createFleetWorld, type FleetWorld } from '../support/fleet-world.ts';
import { configMapYaml } from '../support/manifests.ts';
import { base, startedWorld } from '../support/started-world.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

/** Claims that the relay lets pass without a valid tag: it refuses higher ones. */
const claims: readonly [string, (now: number) => OutputPosition][] = [
  [
    'the highest epoch and sequence that are plausible',
    (now) => ({ epoch: now + 24 * 60 * 60 * 1000, sequence: 2 ** 40 }),
  ],
  ['the highest plausible sequence of this epoch', (now) => ({ epoch: now, sequence: 2 ** 40 })],
  ['the next epoch', (now) => ({ epoch: now + 1, sequence: 1 })],
];

/** West claims to hold an output at this position and of this admission. */
function claim(world: FleetWorld, position: OutputPosition): void {
  const west = world.agent('west');
  west.disconnect();
  west.seen(position);
  west.admitted = position;
  west.connect();
}

async function eastGets(world: FleetWorld, value: string): Promise<void> {
  world.source.push({ ...base, 'apps/a.yaml': configMapYaml('a', value) });
  await world.settle();
  expect(world.agent('east').deltas.at(-1)?.upserts[0]?.value.data).toEqual({ value });
}

/** Another server, after the one of this world was killed; with an empty store unless one is given. */
function anotherServer(world: FleetWorld, store = createMemoryStore()): Promise<FleetWorld> {
  for (const agent of world.agents.known.values()) agent.abandon();
  return createFleetWorld({ store, clock: createVirtualClock(world.clock.now()), agents: world.agents });
}

describe.each(claims)('a cluster without a valid tag that claims %s', (_what, at) => {
  it('moves no number of the fleet while the server runs', async () => {
    const world = await startedWorld();
    const { epoch, sequence } = world.server.replica.admitted();
    claim(world, at(world.clock.now()));
    await eastGets(world, '2');
    expect(world.server.replica.admitted()).toEqual({ epoch, sequence: sequence + 1 });
    expect(world.agent('east').holding().position.epoch).toBe(epoch);
  });

  it.each([
    ['a restart', (world: FleetWorld) => anotherServer(world, world.store as ReturnType<typeof createMemoryStore>)],
    ['the loss of the store', (world: FleetWorld) => anotherServer(world)],
  ])('moves no number of the fleet after %s, before any other cluster has connected', async (_how, again) => {
    const first = await startedWorld();
    const claimed = at(first.clock.now());
    const world = await again(first);
    world.source.push(base);
    await world.settle();
    const { epoch, sequence } = world.server.replica.admitted();
    claim(world, claimed);
    await world.settle();
    expect(world.server.replica.admitted()).toEqual({ epoch, sequence });
    world.agent('east').connect();
    await eastGets(world, '2');
    expect(world.server.replica.admitted()).toEqual({ epoch, sequence: sequence + 1 });
    expect(world.agent('east').holding().position.epoch).toBeLessThanOrEqual(epoch);
    await eastGets(world, '3');
  });
});

describe('a cluster that claims a later admission without a valid tag', () => {
  it('is sent nothing, with the command that repairs its inventory', async () => {
    const world = await startedWorld();
    claim(world, { epoch: world.clock.now() + 60_000, sequence: 1 });
    await world.settle();
    const problems = world.server.api.clusters().map(({ problem }) => problem);
    expect(problems[0]).toBe('');
    expect(problems[1]).toMatch(/^ServerBehind: .*fleetrelay cluster reset-position west --context CONTEXT$/);
  });
});

describe('a cluster that claims a later position without a valid tag', () => {
  it('is sent outputs above it, and no other cluster is', async () => {
    const world = await startedWorld();
    const { epoch } = world.agent('east').holding().position;
    world.agent('west').disconnect();
    world.agent('west').seen({ epoch: epoch + 5, sequence: 9 });
    world.agent('west').connect();
    await eastGets(world, '2');
    expect(world.agent('west').holding().position).toEqual({ epoch: epoch + 5, sequence: 10 });
    expect(world.agent('east').holding().position.epoch).toBe(epoch);
  });
});

describe('a cluster with a valid tag', () => {
  it('is believed after the loss of the store: the fleet admits above what it holds', async () => {
    const first = await startedWorld();
    const before = first.agent('west').holding();
    for (const agent of first.agents.known.values()) agent.abandon();
    // The clock of the next server is behind, so its epoch is too.
    const clock = createVirtualClock(first.clock.now() - 60 * 60 * 1000);
    const world = await createFleetWorld({ store: createMemoryStore(), clock, agents: first.agents });
    world.source.push({ ...base, 'apps/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    world.agent('west').connect();
    await world.settle();
    expect(world.server.replica.admitted().epoch).toBe(before.admitted?.epoch);
    expect(world.agent('west').deltas.at(-1)?.upserts[0]?.value.data).toEqual({ value: '2' });
  });
});
