import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../../src/adapters/stores/memory.ts';
import { comparePositions, type OutputPosition } from '../../../src/model/fleet/output.ts';
import { createJournal } from '../../../src/runtime/stored/journal.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { configMapYaml, policyYaml } from '../../support/manifests.ts';
import { silentLog } from '../../support/silent-log.ts';
import { abc, base, names, restart, startedWorld } from '../../support/started-world.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

describe('staged and committed', () => {
  it('sends a delta again that was rejected at once', async () => {
    const world = await createFleetWorld();
    world.agent('east').rejectNext();
    world.source.push(base);
    await world.settle();
    world.agent('east').connect();
    await world.settle();
    await world.clock.advance(120_000);
    expect(names(world, 'east')).toEqual(abc);
  });

  it('marks entries as accepted that were accepted at once', async () => {
    const world = await startedWorld();
    const phases = [...world.server.engine.inputs.ledger.entries('east')].map(({ value }) => value.phase);
    expect(new Set(phases)).toEqual(new Set(['accepted']));
  });
});

describe('the store', () => {
  it('does not prevent the start of a server by one damaged record', async () => {
    const first = await startedWorld();
    await first.settle();
    await first.store.write([{ key: 'entries/east//ConfigMap/web/a', value: new TextEncoder().encode('{"dig') }]);
    const world = await restart(first);
    world.source.push(base);
    expect(world.agent('east').connect().type).toBe('admitted');
    await world.settle();
    expect(world.server.engine.inputs.ledger.size('east')).toBe(3);
  });

  it('receives every record, whenever it is queued', async () => {
    const store = createMemoryStore();
    const clock = createVirtualClock();
    for (let ticks = 0; ticks < 8; ticks++) {
      const journal = createJournal({
        store: {
          ...store,
          write: async (writes) => {
            const outcome = await store.write(writes);
            if (writes.some(({ key }) => key === `first/${ticks}`))
              void later(ticks).then(() => journal.put(`second/${ticks}`, 1));
            return outcome;
          },
        },
        clock,
        log: silentLog,
      });
      journal.put(`first/${ticks}`, 1);
      await clock.advance(5_000);
    }
    const keys: string[] = [];
    for await (const { key } of store.list('second/')) keys.push(key);
    expect(keys).toHaveLength(8);
  });

  it('keeps no ledger of a cluster that is deregistered and has an empty inventory', async () => {
    const world = await startedWorld();
    world.agent('east').disconnect();
    world.source.push({ 'apps/a.yaml': null, 'apps/b.yaml': null, 'apps/c.yaml': null });
    world.agent('east').restore([]);
    world.agent('east').connect();
    await world.settle();
    expect(world.server.engine.inputs.ledger.size('east')).toBe(0);
    expect(world.server.engine.inputs.results.size('east')).toBe(0);
  });
});

describe('positions', () => {
  it('are above the last position of an agent when an older copy of the store is restored', async () => {
    const first = await startedWorld();
    const copy = createMemoryStore();
    for await (const { key, value } of first.store.list('')) await copy.write([{ key, value }]);
    for (const value of ['2', '3', '4']) {
      first.source.push({ 'apps/a.yaml': configMapYaml('a', value) });
      await first.settle();
    }
    const seen = first.agent('east').holding().position;
    for (const agent of first.agents.known.values()) agent.abandon();
    const world = await createFleetWorld({
      store: copy,
      clock: createVirtualClock(first.clock.now()),
      agents: first.agents,
    });
    world.source.push({ ...base, 'apps/a.yaml': configMapYaml('a', '5') });
    world.agent('east').connect();
    await world.settle();
    const now = world.agent('east').holding().position;
    expect([now.epoch, now.sequence]).toEqual([seen.epoch, seen.sequence + 1]);
  });

  it('show that approvals may have been used since, when an older copy of the store takes over', async () => {
    const tight = { ...base, 'fleet/policy.yaml': policyYaml(1) };
    const without = { 'apps/a.yaml': null, 'apps/b.yaml': null };
    const first = await startedWorld(tight);
    first.agent('west').disconnect();
    first.agent('east').pause();
    first.source.push(without);
    await first.settle();
    await first.server.api.approve(first.server.api.removals()[0]?.digest ?? '', 'test');
    await first.settle();
    const copy = createMemoryStore();
    for await (const { key, value } of first.store.list('')) await copy.write([{ key, value }]);
    first.agent('east').release('accepted');
    await first.settle();
    first.source.push(base);
    await first.settle();
    expect(names(first, 'east')).toEqual(abc);
    for (const agent of first.agents.known.values()) agent.abandon();
    const clock = createVirtualClock(first.clock.now());
    const world = await createFleetWorld({ store: copy, clock, agents: first.agents });
    world.source.push(Object.fromEntries(Object.entries(tight).filter(([path]) => !(path in without))));
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    expect(world.server.api.removals()).toHaveLength(1);
  });

  it('of a cluster go over to the next epoch before a sequence that no agent may state', async () => {
    const world = await startedWorld();
    const { epoch } = world.agent('east').holding().position;
    world.agent('east').disconnect();
    world.agent('east').seen({ epoch, sequence: 2 ** 40 });
    world.agent('east').connect();
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    expect(world.agent('east').holding().position).toEqual({ epoch: epoch + 1, sequence: 1 });
    expect(world.agent('west').holding().position).toEqual({ epoch, sequence: 2 });
  });

  it('that this fleet has reached count as such, although the clock was set back since', async () => {
    const first = await startedWorld();
    const { epoch } = first.server.replica.admitted();
    for (const agent of first.agents.known.values()) agent.abandon();
    const clock = createVirtualClock(first.clock.now() - 30 * 24 * 60 * 60 * 1000);
    const world = await createFleetWorld({ store: first.store, clock, agents: first.agents });
    expect(world.agents.listener?.latestEpoch()).toBe(epoch);
    world.source.push(base);
    await world.settle();
    expect(world.server.replica.admitted().epoch).toBe(epoch + 1);
    expect(world.agents.listener?.latestEpoch()).toBe(epoch + 1);
  });

  it('of one cluster are not moved by the agent of another', async () => {
    const world = await startedWorld();
    const before = world.agent('west').holding().position.epoch;
    world.agent('east').disconnect();
    world.agent('east').seen({ epoch: Number.MAX_SAFE_INTEGER, sequence: 1 });
    world.agent('east').connect();
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    expect(world.agent('west').holding().position.epoch).toBe(before);
  });
});

describe('an agent that states an admission that no server has made', () => {
  const HOUR = 60 * 60 * 1000;
  const claims: readonly [string, (epoch: number) => OutputPosition][] = [
    ['the last of all numbers', () => ({ epoch: 2 ** 53 - 1, sequence: 2 ** 53 - 1 })],
    ['the last number but one', () => ({ epoch: 2 ** 53 - 1, sequence: 2 ** 53 - 2 })],
    ['a sequence that is plausible', (epoch) => ({ epoch, sequence: 2 ** 39 })],
    ['an epoch that is plausible', (epoch) => ({ epoch: epoch + HOUR, sequence: 7 })],
  ];
  const states = async (world: FleetWorld, admitted: OutputPosition): Promise<void> => {
    world.agent('east').disconnect();
    world.agent('east').admitted = admitted;
    world.agent('east').connect();
    await world.settle();
  };
  const push = async (world: FleetWorld, value: string): Promise<void> => {
    world.source.push({ 'apps/a.yaml': configMapYaml('a', value) });
    await world.settle();
  };
  const lastAt = (world: FleetWorld, cluster: string) => world.agent(cluster).deltas.at(-1)?.upserts[0]?.value.data;
  const problemOf = (world: FleetWorld, cluster: string): string | undefined =>
    world.server.api.clusters().find(({ name }) => name === cluster)?.problem;

  it.each(claims)('(%s) is sent nothing, and every other cluster is served', async (_what, claim) => {
    const world = await startedWorld();
    const { epoch, sequence } = world.server.replica.admitted();
    await states(world, claim(epoch));
    expect(world.server.replica.admitted()).toEqual({ epoch, sequence });
    await push(world, '2');
    expect(lastAt(world, 'west')).toEqual({ value: '2' });
    expect(world.server.replica.admitted()).toEqual({ epoch, sequence: sequence + 1 });
    expect(lastAt(world, 'east')).toEqual({ value: '1' });
    expect(problemOf(world, 'east')).toMatch(/^ServerBehind: /);
    expect(problemOf(world, 'west')).toBe('');
  });

  it.each(claims)('(%s) moves nothing after a restart either', async (_what, claim) => {
    const first = await startedWorld();
    const before = first.server.replica.admitted();
    const world = await restart(first);
    world.source.push(base);
    await world.settle();
    const { epoch, sequence } = world.server.replica.admitted();
    expect(comparePositions({ epoch, sequence }, before)).toBeGreaterThan(0);
    world.agent('west').connect();
    await states(world, claim(epoch));
    await push(world, '2');
    expect(lastAt(world, 'west')).toEqual({ value: '2' });
    expect(world.server.replica.admitted()).toEqual({ epoch, sequence: sequence + 1 });
    expect(lastAt(world, 'east')).toEqual({ value: '1' });
  });

  it('after it has rejected a delta moves nothing', async () => {
    const world = await startedWorld();
    const { epoch, sequence } = world.server.replica.admitted();
    world.agent('east').rejectNext();
    world.agent('east').admitted = { epoch, sequence: 2 ** 39 };
    await push(world, '2');
    await world.clock.advance(120_000);
    expect(lastAt(world, 'west')).toEqual({ value: '2' });
    expect(world.server.replica.admitted()).toEqual({ epoch, sequence: sequence + 1 });
    expect(problemOf(world, 'east')).toMatch(/^ServerBehind: /);
  });

  it('is served again when a server has started after the epoch that it states', async () => {
    const first = await startedWorld();
    await states(first, { epoch: first.server.replica.admitted().epoch + HOUR, sequence: 7 });
    await first.clock.advance(2 * HOUR);
    const world = await restart(first);
    world.source.push({ ...base, 'apps/a.yaml': configMapYaml('a', '2') });
    world.agent('east').connect();
    await world.settle();
    expect(lastAt(world, 'east')).toEqual({ value: '2' });
    expect(problemOf(world, 'east')).toBe('');
  });
});

async function later(ticks: number): Promise<void> {
  for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
}
