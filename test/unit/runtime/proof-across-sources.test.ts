import { describe, expect, it } from 'vitest';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { configMapYaml, placementYaml } from '../../support/manifests.ts';
import { abc, base, names, restart, startedWorld, typo } from '../../support/started-world.ts';

const { 'fleet/placement.yaml': placement, ...withoutPlacement } = base;

describe('two sources', () => {
  async function twoSources(): Promise<FleetWorld> {
    const world = await createFleetWorld({ sources: ['apps', 'platform'] });
    world.sourceNamed('apps').push(withoutPlacement);
    world.sourceNamed('platform').push({ 'fleet/placement.yaml': placement });
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    return world;
  }

  it('keeps what a broken Placement of another source placed', async () => {
    const world = await twoSources();
    world.sourceNamed('platform').push({ 'fleet/placement.yaml': typo });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
  });

  it('keeps what a Placement of another source placed, while that source cannot be reached after a restart', async () => {
    const world = await restart(await twoSources(), ['apps', 'platform']);
    world.sourceNamed('apps').push(withoutPlacement);
    world.sourceNamed('platform').condition({ state: 'failing', reason: 'Unreachable' });
    await world.settle();
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
  });

  it('keeps the identity of an object whose CustomResourceDefinition in another source cannot be read', async () => {
    const crd = `apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.example.com\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: Thing, plural: things}\n  versions: []\n`;
    const world = await createFleetWorld({ sources: ['apps', 'platform'] });
    world.agent('east').capabilities = ['kinds-as-written'];
    world
      .sourceNamed('apps')
      .push({ ...base, 'apps/t.yaml': 'apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: t\n' });
    world.sourceNamed('platform').push({ 'clusters/east/crd.yaml': crd });
    world.agent('east').connect();
    await world.settle();
    const before = names(world, 'east');
    expect(before.filter((key) => key.includes('Thing'))).toEqual(['example.com/Thing/default/t']);
    world.sourceNamed('platform').push({ 'clusters/east/crd.yaml': typo });
    await world.settle();
    expect(names(world, 'east')).toEqual(before);
  });

  it('keeps what both have declared while either cannot be read, also if the one that it came from drops it', async () => {
    const world = await createFleetWorld({ sources: ['main', 'extra'] });
    const twice = { 'clusters/east/x.yaml': configMapYaml('x', '1') };
    world.sourceNamed('main').push({ ...base, ...twice });
    world.sourceNamed('extra').push({ ...twice, 'clusters/east/y.yaml': configMapYaml('y', '1') });
    world.agent('east').connect();
    await world.settle();
    const all = names(world, 'east');
    expect(all).toHaveLength(5);
    world.sourceNamed('extra').push({ 'clusters/east/x.yaml': typo });
    await world.settle();
    world.sourceNamed('main').push({ 'clusters/east/x.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(all);
    world.sourceNamed('extra').push(twice);
    await world.settle();
    expect(names(world, 'east')).toEqual(all);
    world.sourceNamed('extra').push({ 'clusters/east/x.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toHaveLength(4);
  });

  it('removes what a source declared that is no longer configured, under the guards', async () => {
    const first = await createFleetWorld({ sources: ['main', 'extra'] });
    first.sourceNamed('main').push(base);
    first.sourceNamed('extra').push({ 'clusters/east/x.yaml': configMapYaml('x', '1') });
    first.agent('east').connect();
    await first.settle();
    expect(names(first, 'east')).toHaveLength(4);
    const world = await restart(first);
    world.source.condition({ state: 'failing' });
    expect(world.agent('east').connect().type).toBe('admitted');
    await world.settle();
    expect(names(world, 'east')).toHaveLength(4);
    world.source.push(base);
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
  });
});

describe('Placements of one name', () => {
  it('leaves the incumbent in force when another of its name appears before it', async () => {
    const world = await startedWorld();
    world.source.push({ 'fleet/a-placement.yaml': placementYaml('apps', 'other/**') });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
  });

  it('does not let another of its name take over while the incumbent cannot be read', async () => {
    const world = await startedWorld({
      ...base,
      'other/o.yaml': configMapYaml('o', '1'),
      'fleet/z.yaml': placementYaml('apps', 'other/**'),
    });
    expect(names(world, 'east')).toEqual(abc);
    world.source.push({ 'fleet/placement.yaml': typo });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
  });
});
