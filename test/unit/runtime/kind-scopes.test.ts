import { describe, expect, it } from 'vitest';
import type { KindState } from '../../../src/model/agent/agent.ts';
import { createFleetWorld } from '../../support/fleet-world.ts';
import { policyYaml } from '../../support/manifests.ts';
import { base, names, restart, typo } from '../../support/started-world.ts';

const thing = 'apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: t\n';
const listed: readonly KindState[] = [
  { kind: 'example.com/Thing', state: 'offered', message: '', scope: 'Namespaced' },
];

async function worldWithThing() {
  const world = await createFleetWorld();
  world.source.push({ ...base, 'clusters/east/t.yaml': thing });
  world.agent('east').connect();
  world.agent('east').lists(listed);
  await world.settle();
  return world;
}

describe('an object without a namespace of a kind that only the cluster knows', () => {
  it('waits until the cluster says whether the kind is namespaced', async () => {
    const world = await createFleetWorld();
    world.source.push({ ...base, 'clusters/east/t.yaml': thing });
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east').filter((key) => key.includes('Thing'))).toEqual([]);
    world.agent('east').lists(listed);
    await world.settle();
    expect(names(world, 'east')).toContain('example.com/Thing/default/t');
  });

  it('keeps its key while a server without a memory starts and the list has not arrived', async () => {
    const first = await worldWithThing();
    const before = names(first, 'east');
    const world = await restart(first);
    world.source.push({ ...base, 'clusters/east/t.yaml': thing });
    const deltas = world.agent('east').deltas.length;
    world.agent('east').connect();
    await world.settle();
    world.agent('east').lists([]);
    await world.settle();
    world.agent('east').lists(listed);
    await world.settle();
    expect(names(world, 'east')).toEqual(before);
    expect(world.agent('east').deltas.length).toBe(deltas);
    expect(world.server.api.removals()).toEqual([]);
  });

  it('keeps its key when a source cannot be read and when the kind is unknown', async () => {
    const world = await worldWithThing();
    const before = names(world, 'east');
    world.agent('east').lists([{ kind: 'example.com/Thing', state: 'unknown', message: 'its definition is gone' }]);
    world.source.push({ 'apps/a.yaml': typo });
    await world.settle();
    expect(names(world, 'east')).toEqual(before);
  });

  it('says nothing of problem for kinds that are only offered', async () => {
    const world = await worldWithThing();
    world.agent('east').lists([{ kind: '/Service', state: 'complete', message: '' }, ...listed]);
    await world.settle();
    const status = world.server.api.clusters().find(({ name }) => name === 'east');
    expect(status?.conditions.filter(({ type }) => type === 'Discovered')).toEqual([]);
    expect(status?.inSync).toBe(true);
  });

  it('keeps both keys that its cluster holds it under while the scope of the kind is unknown', async () => {
    const written = thing.replace('name: t', 'name: t\n  namespace: web');
    const first = await createFleetWorld();
    first.source.push({ ...base, 'clusters/east/t.yaml': written, 'fleet/policy.yaml': policyYaml(0) });
    first.agent('east').connect();
    await first.settle();
    expect(names(first, 'east')).toContain('example.com/Thing/web/t');
    // It turns out to lie in no namespace; the removal of what was never there is held.
    first.agent('east').lists([{ kind: 'example.com/Thing', state: 'offered', message: '', scope: 'Cluster' }]);
    await first.settle();
    const before = names(first, 'east');
    expect(before).toEqual(expect.arrayContaining(['example.com/Thing/web/t', 'example.com/Thing//t']));
    first.agent('east').abandon();
    // Server and store are lost together.
    const world = await createFleetWorld({ agents: first.agents });
    world.source.push({ ...base, 'clusters/east/t.yaml': written });
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(before);
  });
});
