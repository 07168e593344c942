import { describe, expect, it } from 'vitest';
import { TAKES_ATTEMPTS } from '../../../src/model/agent/agent.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { startedReplicas } from '../../support/replica-world.ts';
import { abc, base, restart, typo } from '../../support/started-world.ts';

const [a, b, c] = abc as unknown as readonly ObjectKey[];
const failing = ['ConfigMap/web/a', 'ConfigMap/web/b'];

/** A fleet whose cluster east could not apply two objects. */
async function failedWorld(capabilities: readonly string[] = [TAKES_ATTEMPTS]): Promise<FleetWorld> {
  const world = await createFleetWorld();
  world.source.push(base);
  const east = world.agent('east');
  east.capabilities = capabilities;
  for (const object of failing) east.failing.add(object);
  for (const name of ['east', 'west']) world.agent(name).connect();
  await world.settle();
  await world.clock.advance(60_000);
  return world;
}

const noRemovals = `apiVersion: fleetrelay.dev/v1alpha1
kind: FleetPolicy
metadata: {name: fleet}
spec: {guards: {maxRemovalsPerCluster: 0}}
`;

const touched = (world: FleetWorld, cluster = 'east') =>
  world.agent(cluster).deltas.flatMap(({ touches }) => touches.map(({ key, attempt }) => ({ key, attempt })));

describe('another attempt', () => {
  it('is sent for all that failed, and for nothing else', async () => {
    const world = await failedWorld();
    const sent = world.agent('east').deltas.length;
    const done = await world.server.api.retryCluster('east', undefined, 'ann');
    expect(done).toMatchObject({ ok: true, value: { cluster: 'east', objects: failing } });
    expect(done).not.toHaveProperty('value.waits');
    await world.settle();
    const now = world.clock.now();
    expect(touched(world)).toEqual([
      { key: a, attempt: expect.any(Number) },
      { key: b, attempt: expect.any(Number) },
    ]);
    expect(touched(world).every(({ attempt = 0 }) => attempt <= now)).toBe(true);
    expect(world.agent('east').deltas).toHaveLength(sent + 1);
    expect(world.agent('east').deltas.at(-1)).toMatchObject({ upserts: [], removals: [] });
    expect(touched(world, 'west')).toEqual([]);
  });

  it('is sent for the object that a person names, and again when it is asked for again', async () => {
    const world = await failedWorld();
    for (let round = 1; round <= 2; round += 1) {
      const done = await world.server.api.retryCluster('east', 'cm/web/b', 'ann');
      expect(done).toMatchObject({ ok: true, value: { objects: ['ConfigMap/web/b'] } });
      await world.settle();
      expect(touched(world).map(({ key }) => key)).toEqual(Array(round).fill(b));
    }
    const [first, second] = touched(world).map(({ attempt }) => attempt ?? 0);
    expect(second).toBeGreaterThan(first ?? 0);
  });

  it('of an object that stays as it is waits, says why, and is sent when the reason ends', async () => {
    const world = await failedWorld();
    world.source.push({ 'apps/a.yaml': typo });
    await world.settle();
    const done = await world.server.api.retryCluster('east', undefined, 'ann');
    const [waiting] = (done.ok && done.value.waiting) || [];
    expect(done).toMatchObject({ ok: true, value: { objects: ['ConfigMap/web/b'] } });
    expect(waiting).toEqual({
      object: 'ConfigMap/web/a',
      why: 'it stays as it is (SourcePartial: source main has files that cannot be read, so it removes nothing (declared in apps/a.yaml))',
    });
    await world.settle();
    expect(touched(world).map(({ key }) => key)).toEqual([b]);
    world.source.push({ 'apps/a.yaml': base['apps/a.yaml'] });
    await world.settle();
    expect(touched(world).map(({ key }) => key)).toEqual([b, a]);
  });

  it('of an object whose removal or other content waits for the guards or for its agent says so', async () => {
    const world = await failedWorld();
    world.source.push({ 'fleet/policy.yaml': noRemovals });
    await world.settle();
    world.agent('east').disconnect();
    world.source.push({ 'apps/a.yaml': null, 'apps/b.yaml': configMapYaml('b', '2') });
    await world.settle();
    const done = await world.server.api.retryCluster('east', undefined, 'ann');
    expect(done).toMatchObject({
      ok: true,
      value: {
        objects: [],
        waiting: [
          { object: 'ConfigMap/web/a', why: expect.stringMatching(/^it stays as it is \(TooManyRemovals: 1 removal/) },
          { object: 'ConfigMap/web/b', why: expect.stringMatching(/^its content has changed since it failed/) },
        ],
      },
    });
    expect(done).not.toHaveProperty('value.waits');
  });

  it('of an object that fails in the millisecond of the request is sent', async () => {
    const world = await failedWorld();
    const digest =
      world
        .agent('east')
        .holding()
        .entries.find(({ key }) => key === c)?.digest ?? expect.fail();
    const result = { key: c as ObjectKey, digest, state: 'conflict', reason: 'Conflict', message: 'taken' } as const;
    world
      .agent('east')
      .at()
      ?.results('east' as never, [result]);
    const done = await world.server.api.retryCluster('east', 'cm/web/c', 'ann');
    expect(done).toMatchObject({ ok: true, value: { objects: ['ConfigMap/web/c'] } });
    await world.settle();
    expect(touched(world).map(({ key }) => key)).toEqual([c]);
  });

  it('is over when the object is applied: nothing more is sent', async () => {
    const world = await failedWorld();
    await world.server.api.retryCluster('east', undefined, 'ann');
    await world.settle();
    const east = world.agent('east');
    const sent = east.deltas.length;
    east.failing.clear();
    for (const object of failing) east.finds(object, { state: 'current', message: '' });
    await world.settle();
    expect(east.deltas).toHaveLength(sent);
    expect(await world.server.api.retryCluster('east', undefined, 'ann')).toMatchObject({
      ok: false,
      kind: 'conflict',
    });
  });

  it('that was sent is not sent again after a restart of the server', async () => {
    const world = await failedWorld();
    await world.server.api.retryCluster('east', undefined, 'ann');
    await world.settle();
    const sent = world.agent('east').deltas.length;
    const next = await restart(world);
    next.source.push(base);
    for (const name of ['east', 'west']) next.agent(name).connect();
    await next.settle();
    expect(next.agent('east').deltas).toHaveLength(sent);
  });

  it('waits for a cluster that is away, and survives a restart of the server', async () => {
    const world = await failedWorld();
    world.agent('east').disconnect();
    const done = await world.server.api.retryCluster('east', undefined, 'ann');
    expect(done).toMatchObject({ ok: true, value: { waits: expect.stringContaining('not connected') } });
    await world.settle();
    const next = await restart(world);
    next.source.push(base);
    for (const name of ['east', 'west']) next.agent(name).connect();
    await next.settle();
    expect(touched(next).map(({ key }) => key)).toEqual([a, b]);
  });

  it('is not sent to an agent that does not know it', async () => {
    const world = await failedWorld([]);
    const done = await world.server.api.retryCluster('east', undefined, 'ann');
    expect(done).toMatchObject({ ok: true, value: { waits: expect.stringContaining('older') } });
    await world.settle();
    expect(touched(world)).toEqual([]);
  });

  it('of a removal that has not ended is sent, and counts no removal', async () => {
    const world = await failedWorld();
    const east = world.agent('east');
    const entries = east.holding().entries;
    east.disconnect();
    east.restore(entries.map((entry) => (entry.key === b ? { ...entry, phase: 'removing' } : entry)));
    world.source.push({ 'apps/b.yaml': null });
    east.connect();
    const digest = entries.find(({ key }) => key === b)?.digest ?? expect.fail();
    const result = { key: b as ObjectKey, digest, state: 'removing', reason: 'Forbidden', message: 'no' } as const;
    east.at()?.results('east' as never, [result]);
    await world.settle();
    await world.clock.advance(1_000);
    const removals = east.deltas.flatMap((delta) => delta.removals);
    expect(await world.server.api.retryCluster('east', 'configmap/web/b', 'ann')).toMatchObject({ ok: true });
    await world.settle();
    expect(touched(world).map(({ key }) => key)).toEqual([b]);
    expect(east.deltas.flatMap((delta) => delta.removals)).toEqual(removals);
  });

  it('of other content is not sent: it was tried when it was sent', async () => {
    const world = await failedWorld();
    await world.server.api.retryCluster('east', undefined, 'ann');
    await world.settle();
    await world.clock.advance(1_000);
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    expect(world.agent('east').deltas.at(-1)).toMatchObject({ upserts: [{ key: a }], touches: [] });
    expect(world.agent('east').deltas.at(-1)?.upserts[0]).not.toHaveProperty('attempt');
  });

  it.each([
    ['a cluster that is not declared', 'north', undefined, 'notFound'],
    ['an object that is not there', 'east', 'cm/web/none', 'notFound'],
    ['what is no name of an object', 'east', 'b', 'invalid'],
    ['an object that is applied', 'east', 'cm/web/c', 'conflict'],
    ['a cluster in which nothing failed', 'west', undefined, 'conflict'],
  ])('of %s is refused', async (_, cluster, object, kind) => {
    const world = await failedWorld();
    expect(await world.server.api.retryCluster(cluster, object, 'ann')).toMatchObject({ ok: false, kind });
  });

  it('is sent by the replica that serves the agent', async () => {
    const world = await startedReplicas();
    const [follower] = world.followers();
    if (follower === undefined) expect.fail('there is no follower');
    const east = follower.agent('east');
    east.capabilities = [TAKES_ATTEMPTS];
    east.failing.add('ConfigMap/web/a');
    east.disconnect();
    await world.pass();
    east.connect();
    await world.pass(60_000);
    const done = await world.leader().world.server.api.retryCluster('east', undefined, 'ann');
    expect(done).toMatchObject({ ok: true, value: { objects: ['ConfigMap/web/a'] } });
    await world.pass(60_000);
    expect(east.deltas.flatMap(({ touches }) => touches.map(({ key }) => key))).toEqual([a]);
  });
});
