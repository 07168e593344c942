import { describe, expect, test } from 'vitest';
import { parseClusterName } from '../../../src/model/fleet/ids.ts';
import { must } from '../../../src/model/values/result.ts';
import type { RelayRefusal } from '../../../src/relay/session.ts';
import { nextRecord, type RefusalRecord } from '../../../src/runtime/refused-agents.ts';
import type { FleetWorld } from '../../support/fleet-world.ts';
import { restart, startedWorld } from '../../support/started-world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

function refuse(
  world: FleetWorld,
  given: Omit<Partial<RelayRefusal>, 'cluster'> & { readonly cluster?: string },
): void {
  const refusal = { reason: 'WrongToken', message: 'not its token', address: '10.0.0.7' };
  const cluster = must(parseClusterName(given.cluster ?? 'east'));
  const caller = { isProven: true, wasConnected: false };
  world.agents.listener?.refused({ ...refusal, ...caller, ...given, cluster });
}

function shown(world: FleetWorld, cluster = 'east'): string {
  const view = world.server.api.clusters().find(({ name }) => name === cluster);
  return view?.conditions.find(({ type }) => type === 'Connected')?.message ?? 'no such cluster';
}

function last(world: FleetWorld, cluster = 'east'): string | undefined {
  return world.server.api.clusters().find(({ name }) => name === cluster)?.refusal?.reason;
}

function undeclared(world: FleetWorld): readonly string[] {
  return Object.keys(world.server.api.status().undeclaredAgents ?? {});
}

describe('the refusal of an agent', () => {
  test('is in the status of its cluster with address and time, until the agent is connected', async () => {
    const world = await startedWorld();
    world.agent('east').disconnect();
    const at = new Date(Math.floor(world.clock.now() / 1000) * 1000).toISOString().replace('.000', '');
    refuse(world, {});
    await world.settle();
    expect(shown(world)).toMatch(
      new RegExp(`^since .*; refused at ${at} from 10\\.0\\.0\\.7: WrongToken: not its token$`),
    );
    expect(last(world)).toBe('WrongToken');
    expect(shown(world, 'west')).toBe('');
    world.agent('east').connect();
    await world.settle();
    expect([shown(world), last(world)]).toEqual(['', undefined]);
  });

  test('is known after a restart of the server', async () => {
    const first = await startedWorld();
    first.agent('east').disconnect();
    refuse(first, {});
    await first.settle();
    const world = await restart(first);
    await world.settle();
    expect(last(world)).toBe('WrongToken');
    expect(shown(world)).toContain('WrongToken');
  });

  test('that ended its stream stays while the agent comes and goes, and is over when it stays', async () => {
    const world = await startedWorld();
    const tooLarge = { reason: 'TransferTooLarge', message: 'more than 1 bytes', wasConnected: true };
    for (let time = 0; time < 3; time += 1) {
      refuse(world, tooLarge);
      world.agent('east').disconnect();
      await world.settle();
      expect(last(world)).toBe('TransferTooLarge');
      world.agent('east').connect();
      await world.settle();
      expect(shown(world)).toContain('TransferTooLarge');
    }
    await world.clock.advance(MINUTE);
    await world.settle();
    expect([shown(world), last(world)]).toEqual(['', undefined]);
  });

  test('of another caller is shown beside the connected agent, and is over a day after the last attempt', async () => {
    const world = await startedWorld();
    refuse(world, { reason: 'SecondAgent' });
    await world.settle();
    expect(shown(world)).toMatch(/^refused at .*SecondAgent/);
    await world.clock.advance(23 * HOUR);
    await world.settle();
    expect(last(world)).toBe('SecondAgent');
    await world.clock.advance(2 * HOUR);
    await world.settle();
    expect([shown(world), last(world)]).toEqual(['', undefined]);
  });

  test('of an undeclared name is listed by that name, and by the cluster once it is declared', async () => {
    const world = await startedWorld();
    refuse(world, { cluster: 'esat', reason: 'UnknownCluster' });
    await world.settle();
    expect(undeclared(world)).toEqual(['esat']);
    expect(world.server.figures().refusals.get('esat')).toEqual(new Map([['UnknownCluster', 1]]));
    await world.clock.advance(25 * HOUR);
    await world.settle();
    expect(undeclared(world)).toEqual([]);
  });

  test('callers who prove nothing displace no proven name, and fill neither memory nor the store', async () => {
    const world = await startedWorld();
    refuse(world, { cluster: 'esat', reason: 'UnknownCluster' });
    for (let number = 0; number < 300; number += 1) {
      refuse(world, { cluster: `invented-${number}`, isProven: false, address: `10.0.1.${number % 250}` });
      await world.clock.advance(SECOND);
    }
    await world.settle();
    expect(undeclared(world)).toHaveLength(100);
    expect(undeclared(world)).toContain('esat');
    expect(undeclared(world)).toContain('invented-299');
    const records: string[] = [];
    for await (const { key } of world.store.list('agent-refusals/')) records.push(key);
    expect(records).toHaveLength(100);
    expect(world.server.figures().refusals.size).toBe(100);
  });

  test('callers who prove nothing are noted once a second in all', async () => {
    const world = await startedWorld();
    for (let number = 0; number < 1_000; number += 1) {
      refuse(world, { isProven: false, address: `10.0.${number % 4}.${number % 250}` });
    }
    expect(world.server.figures().refusals.get('east')).toEqual(new Map([['WrongToken', 20]]));
  });

  test('callers of one address who prove nothing are noted ten times, then every ten seconds', async () => {
    const world = await startedWorld();
    for (let number = 0; number < 1_000; number += 1) refuse(world, { isProven: false });
    await world.clock.advance(20 * SECOND);
    for (let number = 0; number < 1_000; number += 1) refuse(world, { isProven: false });
    expect(world.server.figures().refusals.get('east')).toEqual(new Map([['WrongToken', 12]]));
  });
});

describe('the record of a refusal', () => {
  const refusal = (reason: string, at: number, address = 'a') => ({ reason, message: `m${at}`, address, at });
  const of = (last: RefusalRecord['last'], isProven = true) => ({ last, isProven, wasConnected: false });
  const first = nextRecord(undefined, of(refusal('UnknownCluster', 0)));

  test.each<
    [string, RefusalRecord['last'], boolean, RefusalRecord['last'] | undefined, RefusalRecord['last'] | undefined]
  >([
    ['a repetition within a minute', refusal('UnknownCluster', MINUTE - 1), true, undefined, undefined],
    [
      'a repetition after a minute',
      refusal('UnknownCluster', MINUTE),
      true,
      refusal('UnknownCluster', MINUTE),
      first?.shown,
    ],
    [
      'a repetition after an hour',
      refusal('UnknownCluster', HOUR),
      true,
      refusal('UnknownCluster', HOUR),
      refusal('UnknownCluster', HOUR),
    ],
    ['another reason', refusal('ClusterIdBound', SECOND), true, refusal('ClusterIdBound', SECOND), first?.shown],
    [
      'another reason after ten minutes',
      refusal('ClusterIdBound', 10 * MINUTE),
      true,
      refusal('ClusterIdBound', 10 * MINUTE),
      refusal('ClusterIdBound', 10 * MINUTE),
    ],
    [
      'another address',
      refusal('UnknownCluster', SECOND, 'b'),
      true,
      refusal('UnknownCluster', SECOND, 'b'),
      first?.shown,
    ],
    ['what follows from the first', refusal('RateLimited', SECOND), true, undefined, undefined],
    ['a stranger', refusal('WrongToken', 59 * MINUTE), false, undefined, undefined],
    [
      'a stranger after an hour',
      refusal('WrongToken', HOUR),
      false,
      refusal('WrongToken', HOUR),
      refusal('WrongToken', HOUR),
    ],
  ])('%s', (_what, last, isProven, recorded, status) => {
    const next = nextRecord(first, of(last, isProven));
    expect([next?.last, next?.shown]).toEqual([recorded, status]);
  });

  test('a proven one takes the place of a stranger at once', () => {
    const stranger = nextRecord(undefined, of(refusal('WrongToken', 0), false));
    expect(nextRecord(stranger, of(refusal('ClusterIdBound', 1)))?.shown).toEqual(refusal('ClusterIdBound', 1));
  });
});
