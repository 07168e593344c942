import { describe, expect, it } from 'vitest';
import { type EngineKind, engineKindIds, engineKindRow } from '../../src/model/fleet/engine-kinds.ts';
import { allowsKind, rightsOfSources, type SourceAllow, sameRightsAs } from '../../src/model/fleet/source-rights.ts';
import { type JsonObject, objectOf, objectsOf, textsOf } from '../../src/model/text/json.ts';
import { createFleetWorld, type FleetWorld } from '../support/fleet-world.ts';
import { clusterYaml } from '../support/manifests.ts';
import { kindsOf, mirrorYaml } from '../support/mirrors.ts';
import { restart } from '../support/started-world.ts';

/** Two teams with data planes and Shoots: what one declares neither joins nor ends what another one has. */

const dataplane = (name: string, service: string, address: string, mesh = 'default'): string =>
  `type: Dataplane\nmesh: ${mesh}\nname: ${name}\nnetworking:\n  address: ${address}\n  inbound:\n  - {port: 5432, tags: {kuma.io/service: ${service}}}\n`;

const platform = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'clusters/west/cluster.yaml': clusterYaml('west'),
  'mirror.yaml': mirrorYaml('meshes', '{meshes: [default, team], namespace: machines}', '{names: [east]}').replaceAll(
    '\n    {',
    ' {',
  ),
  'postgres.yaml': dataplane('postgres-1', 'postgres', '10.0.0.1'),
};

type Files = Readonly<Record<string, string>>;

async function twoTeams(team: Files, allow: SourceAllow = {}, first: Files = platform): Promise<FleetWorld> {
  const world = await createFleetWorld({ sources: ['platform', 'team'], allow: { team: allow } });
  return filled(world, team, first);
}

async function filled(world: FleetWorld, team: Files, first: Files = platform): Promise<FleetWorld> {
  world.sourceNamed('platform').push(first);
  world.sourceNamed('team').push(team);
  for (const cluster of ['east', 'west']) world.agent(cluster).connect();
  for (const cluster of ['east', 'west']) discover(world, cluster, []);
  await world.settle();
  return world;
}

function discover(world: FleetWorld, cluster: string, objects: readonly JsonObject[]): void {
  const kinds = [...kindsOf(), ...['kuma.io/Dataplane', '/Node', '/Pod'].map(complete)];
  world.agent(cluster).discovers({ upserts: objects, kinds });
}

const complete = (kind: string) => ({ kind, state: 'complete' as const, message: '' });

/** The load-balancing sets, as `SERVICE ADDRESS`. */
function endpoints(world: FleetWorld): readonly string[] {
  const answer = world.server.api.view('endpoints', {});
  if (!answer.ok) throw new Error(JSON.stringify(answer));
  return answer.value.map(({ service, address }) => `${service} ${address}`).sort();
}

/** The addresses that are mirrored to east. */
function mirrored(world: FleetWorld): readonly string[] {
  return (world.server.api.desired('east') ?? [])
    .flatMap(({ value }) => objectsOf(objectOf(value ?? {}).endpoints))
    .flatMap(({ addresses }) => textsOf(addresses))
    .sort();
}

async function refusals(world: FleetWorld): Promise<readonly string[]> {
  await world.clock.advance(200);
  return world.server.api
    .diagnostics()
    .filter(({ reason }) => reason === 'NotAllowed')
    .map(({ at, message, hint }) => `${at?.path}:${at?.line}: ${message}${hint === undefined ? '' : ` (${hint})`}`);
}

const IN_DEFAULT = { kinds: ['Dataplane'], meshes: ['default'] };

describe('a Dataplane of a second source', () => {
  it('joins no service of the first one: it may have none by default', async () => {
    const world = await twoTeams({ 'x.yaml': dataplane('evil', 'postgres', '10.66.6.6') });
    expect([endpoints(world), mirrored(world)]).toEqual([['postgres 10.0.0.1'], ['10.0.0.1']]);
    expect(await refusals(world)).toEqual([
      'x.yaml:1: source team may not have documents of the kind Dataplane (allow.kinds of the source in the RelayConfig)',
    ]);
  });

  it('is of no mesh unless the configuration names some', async () => {
    const world = await twoTeams({ 'x.yaml': dataplane('evil', 'postgres', '10.66.6.6') }, { kinds: ['Dataplane'] });
    expect([endpoints(world), mirrored(world)]).toEqual([['postgres 10.0.0.1'], ['10.0.0.1']]);
    expect(await refusals(world)).toEqual([
      'x.yaml:2: source team may not declare data planes of mesh default (allow.meshes of the source in the RelayConfig) (write meshes: [default] under allow of source team)',
    ]);
  });

  it('has all services of its meshes, but those that another source has', async () => {
    const team = {
      'a.yaml': dataplane('a', 'orders', '10.1.0.1', 'team'),
      'b.yaml': dataplane('b', 'carts', '10.1.0.2'),
      'x.yaml': dataplane('evil', 'postgres', '10.66.6.6'),
    };
    const world = await twoTeams(team, { kinds: ['Dataplane'], meshes: ['team', 'def*'] });
    expect(endpoints(world)).toEqual(['carts 10.1.0.2', 'orders 10.1.0.1', 'postgres 10.0.0.1']);
    expect(mirrored(world)).toEqual(['10.0.0.1', '10.1.0.1', '10.1.0.2']);
    expect(await refusals(world)).toEqual([
      'x.yaml:7: source team may not join service postgres of mesh default, which source platform has (allow.services of the source in the RelayConfig) (write postgres itself, without *, in allow.services of source team to let it join)',
    ]);
  });

  it('has only the services that the configuration names', async () => {
    const team = { 'a.yaml': dataplane('a', 'orders', '10.1.0.1'), 'b.yaml': dataplane('b', 'carts', '10.1.0.2') };
    const world = await twoTeams(team, { ...IN_DEFAULT, services: ['ord*'] });
    expect(endpoints(world)).toEqual(['orders 10.1.0.1', 'postgres 10.0.0.1']);
    expect(await refusals(world)).toEqual([
      'b.yaml:7: source team may not declare endpoints of service carts (allow.services of the source in the RelayConfig) (add carts to allow.services of source team)',
    ]);
  });

  it.each<[string, SourceAllow, readonly string[]]>([
    ['joins a service that is named', { ...IN_DEFAULT, services: ['postgres'] }, ['10.0.0.1', '10.66.6.6']],
    ['joins none that a pattern names', { ...IN_DEFAULT, services: ['post*'] }, ['10.0.0.1']],
    [
      'joins services of a source whose files it selects',
      { ...IN_DEFAULT, files: ['platform'] },
      ['10.0.0.1', '10.66.6.6'],
    ],
  ])('%s', async (_, allow, expected) => {
    const world = await twoTeams({ 'x.yaml': dataplane('more', 'postgres', '10.66.6.6') }, allow);
    expect(endpoints(world)).toEqual(expected.map((address) => `postgres ${address}`));
    expect(mirrored(world)).toEqual(expected);
  });

  it('that was there first makes room when the first source declares the service', async () => {
    const { 'postgres.yaml': postgres, ...rest } = platform;
    const world = await twoTeams({ 'x.yaml': dataplane('evil', 'postgres', '10.66.6.6') }, IN_DEFAULT, rest);
    expect([endpoints(world), mirrored(world)]).toEqual([['postgres 10.66.6.6'], ['10.66.6.6']]);
    world.sourceNamed('platform').push({ 'postgres.yaml': postgres });
    await world.settle();
    expect([endpoints(world), mirrored(world)]).toEqual([['postgres 10.0.0.1'], ['10.0.0.1']]);
    expect((await refusals(world)).length).toBe(1);
    const again = await filled(await restart(world, ['platform', 'team'], { team: IN_DEFAULT }), {
      'x.yaml': dataplane('evil', 'postgres', '10.66.6.6'),
    });
    expect([endpoints(again), mirrored(again)]).toEqual([['postgres 10.0.0.1'], ['10.0.0.1']]);
  });

  it('does not get the service while a file of the first source cannot be read', async () => {
    const world = await twoTeams({ 'x.yaml': dataplane('evil', 'postgres', '10.66.6.6') }, IN_DEFAULT);
    world.sourceNamed('platform').push({ 'postgres.yaml': 'type: Dataplane\nmesh: [\n' });
    await world.settle();
    expect([endpoints(world), mirrored(world)]).toEqual([['postgres 10.0.0.1'], ['10.0.0.1']]);
    world.sourceNamed('platform').push({ 'postgres.yaml': null });
    await world.settle();
    expect(endpoints(world)).toEqual(['postgres 10.66.6.6']);
  });

  it('joins no service of a data plane that lives in a cluster, which counts for the first source', async () => {
    const team = { 'x.yaml': dataplane('evil', 'web_shop_svc_80', '10.66.6.6') };
    const world = await twoTeams(team, IN_DEFAULT);
    expect(mirrored(world)).toEqual(['10.0.0.1', '10.66.6.6']);
    discover(world, 'west', [liveDataplane('shop', 'web_shop_svc_80', '10.2.0.1')]);
    await world.settle();
    expect(endpoints(world)).toEqual(['postgres 10.0.0.1', 'web_shop_svc_80 10.2.0.1']);
    expect(mirrored(world)).toEqual(['10.0.0.1']);
    expect(await refusals(world)).toEqual([expect.stringContaining('which source platform has')]);
  });

  it('keeps a service that the configuration names when a cluster reports a data plane of it', async () => {
    const allow = { ...IN_DEFAULT, services: ['web_shop_svc_80'] };
    const world = await twoTeams({ 'x.yaml': dataplane('mine', 'web_shop_svc_80', '10.1.0.1') }, allow);
    discover(world, 'west', [liveDataplane('shop', 'web_shop_svc_80', '10.2.0.1')]);
    await world.settle();
    expect(endpoints(world)).toEqual(['postgres 10.0.0.1', 'web_shop_svc_80 10.1.0.1', 'web_shop_svc_80 10.2.0.1']);
    expect(mirrored(world)).toContain('10.1.0.1');
    expect(await refusals(world)).toEqual([]);
  });

  it('does not take the place of one of the same name: of the first source in another form, or in a cluster', async () => {
    const kubernetes = (name: string) =>
      `apiVersion: kuma.io/v1alpha1\nkind: Dataplane\nmesh: default\nmetadata: {name: ${name}, namespace: web}\nspec:\n  networking:\n    address: 10.66.6.6\n    inbound:\n    - {port: 5432, tags: {kuma.io/service: mine}}\n`;
    const first = { ...platform, 'shop.yaml': dataplane('shop.web', 'shop', '10.0.0.2') };
    const team = { 'x.yaml': kubernetes('shop'), 'y.yaml': kubernetes('live') };
    const world = await twoTeams(team, IN_DEFAULT, first);
    discover(world, 'west', [liveDataplane('live', 'web_live_svc_80', '10.2.0.2')]);
    await world.settle();
    expect(endpoints(world)).toEqual(
      expect.arrayContaining(['shop 10.0.0.2', 'postgres 10.0.0.1', 'web_live_svc_80 10.2.0.2']),
    );
    expect(endpoints(world)).toHaveLength(4);
  });

  it('stays while its mesh is taken from its source, until it is deleted', async () => {
    const team = { 'a.yaml': dataplane('a', 'orders', '10.1.0.1') };
    const wide = await twoTeams(team, IN_DEFAULT);
    const world = await filled(await restart(wide, ['platform', 'team'], { team: { kinds: ['Dataplane'] } }), team);
    expect(endpoints(world)).toEqual(['orders 10.1.0.1', 'postgres 10.0.0.1']);
    expect(await refusals(world)).toEqual([expect.stringContaining('may not declare data planes of mesh default')]);
    world.sourceNamed('team').push({ 'a.yaml': null });
    await world.settle();
    expect(endpoints(world)).toEqual(['postgres 10.0.0.1']);
  });

  it('changes the mirrored service only while all clusters are known', async () => {
    const team = { 'x.yaml': dataplane('mine', 'mine', '10.1.0.1') };
    const world = await twoTeams(team, IN_DEFAULT);
    const scopes = new Map(
      [...world.server.engine.outputs.entries('east')].map(({ key, value }) => [
        key,
        'scope' in value ? value.scope : [],
      ]),
    );
    const keyed = (name: string) => [...scopes].filter(([key]) => key.includes(name)).map(([, scope]) => scope);
    expect(keyed('mine').length).toBeGreaterThan(1);
    expect(keyed('mine').every((scope) => scope.join() === 'east,west')).toBe(true);
    expect(keyed('postgres').every((scope) => scope.length === 0)).toBe(true);
  });
});

function liveDataplane(name: string, service: string, address: string): JsonObject {
  return {
    apiVersion: 'kuma.io/v1alpha1',
    kind: 'Dataplane',
    mesh: 'default',
    metadata: { name, namespace: 'web' },
    spec: { networking: { address, inbound: [{ port: 80, tags: { 'kuma.io/service': service } }] } },
  };
}

const shoot = (name: string, seed = ''): string =>
  `apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: ${name}, namespace: t}\nspec:\n  hibernation: {enabled: true}\n${seed === '' ? '' : `  seedName: ${seed}\n`}`;

function asleep(world: FleetWorld, cluster: string): string | undefined {
  return world.server.api.clusters().find(({ name }) => name === cluster)?.asleep;
}

describe('a Shoot of a second source', () => {
  const team = { 'c.yaml': clusterYaml('team-1'), 's.yaml': shoot('east'), 'own.yaml': shoot('team-1') };
  const own = { kinds: ['KubernetesCluster', 'Shoot'], declares: ['team-*'] };

  async function withOwn(allow: SourceAllow, files: Files = team): Promise<FleetWorld> {
    const world = await twoTeams(files, allow);
    world.agent('team-1').connect();
    discover(world, 'team-1', []);
    await world.settle();
    return world;
  }

  it('puts no cluster of the first one to sleep: it may have none by default', async () => {
    const world = await twoTeams({ 's.yaml': shoot('east') });
    expect(asleep(world, 'east')).toBeUndefined();
    expect(await refusals(world)).toEqual([
      's.yaml:2: source team may not have documents of the kind Shoot (allow.kinds of the source in the RelayConfig)',
    ]);
  });

  it('is of a cluster that its source declares, where it may have some', async () => {
    const world = await withOwn(own);
    expect([asleep(world, 'east'), asleep(world, 'team-1')]).toEqual([undefined, 'Shoot t/team-1 is hibernated']);
    expect(await refusals(world)).toEqual([
      's.yaml:3: Shoot t/east names cluster east: source team may have Shoots only of clusters that it declares itself, and it does not declare cluster east',
    ]);
  });

  it('has no Seed of another source, by which its state would be judged', async () => {
    const world = await withOwn(own, { 'c.yaml': team['c.yaml'], 'own.yaml': shoot('team-1', 'east') });
    expect(asleep(world, 'team-1')).toBeUndefined();
    expect(await refusals(world)).toEqual([expect.stringContaining('it does not declare cluster east')]);
  });

  it('is of a cluster of a source whose files it selects', async () => {
    const world = await withOwn({ ...own, files: ['platform'] });
    expect(asleep(world, 'east')).toBe('Shoot t/east is hibernated');
  });
});

describe('every kind that the engine reads', () => {
  const [, usual] = [...rightsOfSources([{ name: 'a' }, { name: 'b' }]).values()];
  const refOf = (kind: EngineKind) => engineKindRow(kind);

  it.each(engineKindIds)('%s says which sources may have it, and that is so', (kind) => {
    const { sources, within } = engineKindRow(kind);
    expect(['first', 'each']).toContain(sources);
    if (usual === undefined) throw new Error('the second source has rights');
    expect(allowsKind(usual, refOf(kind))).toBe(sources === 'each');
    // Each such row says which things of a kind a source may declare.
    expect(within === undefined ? [] : [within]).toEqual(
      { KubernetesCluster: ['clusterNames'], Dataplane: ['meshes'], Shoot: ['ownClusters'] }[kind as string] ?? [],
    );
  });

  it('custom resources, which have the rights of the first source, may have them all', () => {
    const first = { name: 'a' };
    const rights = rightsOfSources([first, { name: 'custom', allow: sameRightsAs(first) }]).get('custom');
    if (rights === undefined) throw new Error('they have rights');
    expect(engineKindIds.filter((kind) => !allowsKind(rights, refOf(kind)))).toEqual([]);
    expect([rights.meshes, rights.services, rights.files]).toEqual([['*'], undefined, ['a']]);
  });
});
