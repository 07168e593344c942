import { describe, expect, it } from 'vitest';
import { createAdmissionCounter } from '../../../src/runtime/replica/admission.ts';
import { createFleetWorld } from '../../support/fleet-world.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { abc, base, names, restart, startedWorld } from '../../support/started-world.ts';

describe('what is admitted', () => {
  it('is numbered: the next revision of any source comes after it, and agents receive the number', async () => {
    const world = await createFleetWorld({ sources: ['main', 'other'] });
    world.sourceNamed('main').push(base);
    world.sourceNamed('other').push({});
    world.agent('east').connect();
    await world.settle();
    const first = world.agent('east').admitted;
    expect(first?.sequence).toBe(2);
    world.sourceNamed('other').push({ 'x/a.yaml': configMapYaml('x', '1') });
    world.sourceNamed('main').push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    expect(world.agent('east').admitted).toEqual({ epoch: first?.epoch, sequence: 4 });
  });

  it('continues in a new epoch after a restart', async () => {
    const first = await startedWorld();
    const world = await restart(first);
    world.source.push({ ...base, 'apps/a.yaml': configMapYaml('a', '2') });
    world.agent('east').connect();
    await world.settle();
    expect(world.agent('east').admitted).toEqual({ epoch: first.clock.now(), sequence: 1 });
  });
});

describe('a server that has lost its store and finds itself behind an agent', () => {
  // The clock of the server before was ahead.
  const ahead = { epoch: Date.UTC(2026, 0, 1, 12), sequence: 7 };

  it('admits above it if it has read every source anew', async () => {
    const world = await createFleetWorld();
    world.source.push(base);
    world.agent('east').wasSent(ahead);
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    expect(world.agent('east').admitted).toEqual({ ...ahead, sequence: 8 });
    world.agent('west').connect();
    await world.settle();
    expect(world.agent('west').admitted).toEqual({ ...ahead, sequence: 8 });
  });

  it('sends it nothing before, reports that, and continues once the last source was read', async () => {
    const world = await createFleetWorld({ sources: ['main', 'other'] });
    world.sourceNamed('main').push(base);
    world.sourceNamed('other').condition({ state: 'failing', reason: 'Test', message: 'not to be reached' });
    world.agent('east').wasSent(ahead);
    world.agent('east').connect();
    world.agent('west').connect();
    await world.settle();
    expect(world.agent('east').deltas).toEqual([]);
    const problem = (): string | undefined => world.server.api.clusters().find(({ name }) => name === 'east')?.problem;
    expect(problem()).toMatch(/^ServerBehind: .*\(1767268800000, 7\)/);
    // A cluster that has seen no later position is served meanwhile.
    expect(names(world, 'west')).toEqual(abc);
    world.sourceNamed('other').condition({ state: 'refused', reason: 'Test', message: 'a rewritten history' });
    await world.settle();
    expect(world.agent('east').deltas).toEqual([]);
    world.sourceNamed('other').push({});
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    expect(problem()).toBe('');
  });

  it('stays behind while one source is unread', async () => {
    const world = await createFleetWorld({ sources: ['main', 'other'] });
    world.sourceNamed('main').push(base);
    world.sourceNamed('other').condition({ state: 'failing', reason: 'Test', message: 'not to be reached' });
    world.agent('east').wasSent(ahead);
    world.agent('east').connect();
    await world.settle();
    world.sourceNamed('main').push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    expect(world.agent('east').deltas).toEqual([]);
  });

  it('counts what a tag proves, at any time and over restarts, and nothing else', async () => {
    const first = await createFleetWorld();
    first.source.push(base);
    await first.settle();
    const world = await restart(first);
    world.source.push(base);
    await world.settle();
    world.agent('east').wasSent(ahead);
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    const raised = world.server.replica.admitted();
    expect(raised).toEqual({ ...ahead, sequence: 8 });
    await world.clock.advance(25 * 60 * 60 * 1000);
    world.agent('west').admitted = { ...ahead, sequence: 100 };
    world.agent('west').connect();
    await world.settle();
    expect(world.server.replica.admitted()).toEqual(raised);
    expect(world.agent('west').deltas).toEqual([]);
    world.agent('west').disconnect();
    world.agent('west').wasSent({ ...ahead, sequence: 100 });
    world.agent('west').connect();
    await world.settle();
    expect(world.server.replica.admitted()).toEqual({ ...ahead, sequence: 101 });
    expect(names(world, 'west')).toEqual(abc);
  });

  it('serves an agent that states no admission', async () => {
    const world = await startedWorld();
    world.agent('east').disconnect();
    world.agent('east').admitted = undefined;
    world.agent('east').connect();
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    expect(world.agent('east').deltas).toHaveLength(2);
  });
});

describe('the counter of admissions', () => {
  it('never decreases', () => {
    const counter = createAdmissionCounter(5, { epoch: 5, sequence: 3 });
    counter.set({ epoch: 4, sequence: 9 });
    expect(counter.current()).toEqual({ epoch: 5, sequence: 3 });
    counter.seen({ epoch: 6, sequence: 1 });
    expect([counter.isBehind(), counter.next()]).toEqual([true, { epoch: 6, sequence: 2 }]);
    counter.set(counter.next());
    expect([counter.isBehind(), counter.current()]).toEqual([false, { epoch: 6, sequence: 2 }]);
    expect(createAdmissionCounter(9, { epoch: 5, sequence: 3 }).current()).toEqual({ epoch: 9, sequence: 0 });
    expect(createAdmissionCounter(9, { epoch: 10, sequence: 3 }).current()).toEqual({ epoch: 10, sequence: 3 });
  });

  it('reaches what is stated, and the epoch that is planned, when every source was read anew and not before', () => {
    const counter = createAdmissionCounter(5, { epoch: 5, sequence: 3 });
    counter.planEpoch(8);
    counter.stated({ epoch: 7, sequence: 9 });
    counter.set(counter.next());
    expect([counter.isBehind(), counter.current()]).toEqual([true, { epoch: 5, sequence: 4 }]);
    counter.catchUp();
    counter.set(counter.next());
    expect([counter.isBehind(), counter.current()]).toEqual([false, { epoch: 8, sequence: 1 }]);
    counter.stated({ epoch: 8, sequence: 9 });
    counter.catchUp();
    expect(counter.next()).toEqual({ epoch: 8, sequence: 10 });
  });

  it('begins a new epoch also if the clock was set back', () => {
    const counter = createAdmissionCounter(5, { epoch: 5, sequence: 3 });
    counter.planEpoch(2);
    counter.catchUp();
    expect(counter.next()).toEqual({ epoch: 6, sequence: 1 });
  });

  it('advances to the next epoch before a sequence that no agent may report', () => {
    const counter = createAdmissionCounter(5, { epoch: 5, sequence: 2 ** 40 - 1 });
    counter.set(counter.next());
    expect(counter.current()).toEqual({ epoch: 5, sequence: 2 ** 40 });
    expect(counter.next()).toEqual({ epoch: 6, sequence: 1 });
  });
});
