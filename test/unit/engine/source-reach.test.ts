import { describe, expect, it } from 'vitest';
import { engineDiagnostics } from '../../../src/engine/status/diagnostics.ts';
import type { SourceAllow } from '../../../src/model/fleet/source-rights.ts';
import { careWorld, SHOOT, shootYaml } from '../../support/care-world.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml } from '../../support/manifests.ts';
import { discoverOne, kindsOf, mirrorYaml } from '../../support/mirrors.ts';
import { names, restart } from '../../support/started-world.ts';

const SOURCES = ['platform', 'team'];
const platform = { 'e.yaml': clusterYaml('east'), 'w.yaml': clusterYaml('west') };
const team = { 'm.yaml': mirrorYaml('m', 'names: [east]', 'names: [west]') };

async function mirrored(allow: SourceAllow, before?: FleetWorld): Promise<FleetWorld> {
  const rights = { team: { kinds: ['ServiceMirror'], ...allow } };
  const world = before
    ? await restart(before, SOURCES, rights)
    : await createFleetWorld({ sources: SOURCES, allow: rights });
  world.sourceNamed('platform').push(platform);
  world.sourceNamed('team').push(team);
  for (const cluster of ['east', 'west']) world.agent(cluster).connect();
  await world.settle();
  discoverOne(world, 'east');
  world.agent('west').discovers({ kinds: kindsOf() });
  await world.settle();
  return world;
}

describe('a ServiceMirror', () => {
  it.each([
    ['from', ['west']],
    ['to', ['east']],
  ])('mirrors nothing %s a cluster that its source may not reach', async (side, targets) => {
    const world = await mirrored({ targets });
    expect(names(world, 'west')).toEqual([]);
    await world.clock.advance(200);
    const out = side === 'from' ? 'east' : 'west';
    expect(world.server.api.diagnostics().map(({ reason, message }) => `${reason} ${message}`)).toEqual([
      `NotAllowed ServiceMirror m names cluster ${out}: source team may not reach cluster ${out} (allow.targets of the source in the RelayConfig)`,
    ]);
  });

  it.each<[string, SourceAllow]>([
    ['out of reach', { targets: [] }],
    ['of a kind that is refused', { kinds: [] }],
  ])('keeps what it has made when it is %s, until it is deleted', async (_, allow) => {
    const wide = await mirrored({});
    const made = names(wide, 'west');
    expect(made).toHaveLength(2);
    const world = await mirrored(allow, wide);
    expect(names(world, 'west')).toEqual(made);
    world.sourceNamed('team').push({ 'm.yaml': null });
    await world.settle();
    expect(names(world, 'west')).toEqual([]);
  });
});

it('a Shoot that is bound to a cluster out of reach is not cared for, and is reported at its line', () => {
  const world = careWorld('{seedName: seed}');
  const { engine } = world;
  const needs = () =>
    ['blue', 'seed'].filter((name) => engine.domains.some(({ parts }) => parts.agents?.needs?.get('', name)));
  expect(needs()).toEqual(['blue', 'seed']);
  engine.inputs.sources.set('', 'main', {
    ...{ order: 0, read: true },
    rights: { kinds: 'all', files: [], targets: ['blue'] },
  });
  engine.commit();
  expect(needs()).toEqual([]);
  expect(engineDiagnostics(engine).filter(({ reason }) => reason === 'NotAllowed')).toMatchObject([
    {
      message: `Shoot ${SHOOT} names cluster seed: source main may not reach cluster seed (allow.targets of the source in the RelayConfig)`,
      at: [{ path: 'shoot.yaml', field: ['spec', 'seedName'] }],
    },
  ]);
  world.file('shoot.yaml', shootYaml('{}'));
  engine.commit();
  expect(needs()).toEqual(['blue']);
});
