import { expect, test } from 'vitest';
import { parseClusterName } from '../../src/model/fleet/ids.ts';
import { must } from '../../src/model/values/result.ts';
import type { RelayRefusal } from '../../src/relay/session.ts';
import type { FleetWorld } from '../support/fleet-world.ts';
import { createRelayHarness } from '../support/relay-harness.ts';
import { startedReplicas } from '../support/replica-world.ts';
import { startedWorld } from '../support/started-world.ts';

function refuse(
  world: FleetWorld,
  { cluster = 'east', ...given }: Omit<Partial<RelayRefusal>, 'cluster'> & { readonly cluster?: string },
): void {
  const refusal = { reason: 'WrongToken', message: 'not its token', address: '10.0.0.7' };
  const caller = { isProven: true, wasConnected: false };
  world.agents.listener?.refused({ ...refusal, ...caller, ...given, cluster: must(parseClusterName(cluster)) });
}

function reasonsOf(world: FleetWorld, cluster: string): Readonly<Record<string, number>> {
  return Object.fromEntries(world.server.figures().refusals.get(cluster) ?? []);
}

test('an agent that says goodbye with other words each time is counted under one reason', async () => {
  const world = await createRelayHarness();
  for (let number = 0; number < 50; number += 1) {
    const stranger = world.stranger('Pull');
    await stranger.hello();
    await stranger.say({ case: 'goodbye', value: { reason: `A${number}`, message: 'I leave' } });
    await stranger.ended;
  }
  expect(new Set(world.owner.refusals.map(({ reason }) => reason))).toEqual(new Set(['EndedByAgent']));
  expect(world.owner.refusals.at(-1)?.message).toBe('A49: I leave');
});

test('a cluster has a bounded number of reasons, and its record is not written for each of them', async () => {
  const world = await startedWorld();
  const { write } = world.store;
  let writes = 0;
  world.store.write = async (batch) => {
    if (batch.some(({ key }) => key === 'agent-refusals/east')) writes += 1;
    return write(batch);
  };
  for (let number = 0; number < 500; number += 1) {
    refuse(world, { reason: `Reason${number}`, address: `10.0.0.${number % 250}` });
    await world.clock.advance(500);
    await world.settle();
  }
  expect(Object.keys(reasonsOf(world, 'east'))).toHaveLength(100);
  expect(writes).toBeLessThan(30);
});

test('a caller without a proof hides no caller of another address, and displaces no name that another gave', async () => {
  const world = await startedWorld();
  refuse(world, { cluster: 'esat', isProven: false, address: '10.0.0.1' });
  for (let number = 0; number < 2_000; number += 1) {
    refuse(world, { cluster: `invented-${number}`, isProven: false, address: '10.0.0.66' });
    await world.clock.advance(500);
  }
  refuse(world, { cluster: 'west', isProven: false, address: '10.0.0.2' });
  await world.settle();
  expect(reasonsOf(world, 'west')).toEqual({ WrongToken: 1 });
  expect(Object.keys(world.server.api.status().undeclaredAgents ?? {})).toContain('esat');
});

test('a caller with a network of IPv6 counts as one caller', async () => {
  const world = await startedWorld();
  for (let number = 0; number < 200; number += 1) {
    refuse(world, { isProven: false, address: `2001:db8:1:2::${number.toString(16)}` });
    await world.clock.advance(300);
  }
  refuse(world, { cluster: 'west', isProven: false, address: '2001:db8:1:3::1' });
  expect(reasonsOf(world, 'west')).toEqual({ WrongToken: 1 });
});

test('several replicas together keep no more invented names than one replica', async () => {
  const world = await startedReplicas();
  for (const [at, replica] of world.replicas.entries()) {
    for (let number = 0; number < 90; number += 1) {
      refuse(replica.world, { cluster: `invented-${at}-${number}`, address: `10.0.${at}.${number}` });
    }
  }
  await world.pass(11 * 60_000);
  const names = world.replicas.map((replica) => Object.keys(replica.world.server.api.status().undeclaredAgents ?? {}));
  expect(names.map(({ length }) => length)).toEqual([100, 100]);
  expect(world.memory.keys().filter((key) => key.startsWith('agent-refusals/'))).toHaveLength(100);
});
