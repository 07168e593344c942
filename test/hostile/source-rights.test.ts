import { describe, expect, it } from 'vitest';
import type { SourceAllow } from '../../src/model/fleet/source-rights.ts';
import { createFleetWorld, type FleetWorld } from '../support/fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml, policyYaml } from '../support/manifests.ts';
import { names, restart } from '../support/started-world.ts';

/** The repository of the platform team: the clusters, and Secrets for clusters of production. */
const platform = {
  'clusters/east/cluster.yaml': clusterYaml('east', { env: 'prod' }),
  'clusters/west/cluster.yaml': clusterYaml('west', { env: 'dev' }),
  'fleet/secrets.yaml': placementYaml('secrets', 'secrets/prod/**', 'selector: {matchLabels: {env: prod}}'),
  'secrets/prod/key.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: web}\n',
};
const SECRET = '/Secret/web/key';
const stolen = placementYaml('stolen', 'secrets/**', 'names: [west]');
const ours = placementYaml('ours', 'ours/**', 'names: [west]');

type Allow = Readonly<Record<string, SourceAllow>>;

/** Two clusters, the platform's repository, and a team's repository, which holds these files. */
async function twoTeams(
  team: Readonly<Record<string, string>>,
  allow: Allow = {},
  first: Readonly<Record<string, string>> = platform,
): Promise<FleetWorld> {
  const world = await createFleetWorld({ sources: ['platform', 'team'], allow });
  world.sourceNamed('platform').push(first);
  world.sourceNamed('team').push(team);
  for (const cluster of ['east', 'west']) world.agent(cluster).connect();
  await world.settle();
  return world;
}

/** The same server after a restart with another configuration; both sources hold the same files. */
async function restarted(
  before: FleetWorld,
  team: Readonly<Record<string, string>>,
  allow: Allow,
  first: Readonly<Record<string, string>> = platform,
): Promise<FleetWorld> {
  const world = await restart(before, ['platform', 'team'], allow);
  world.sourceNamed('platform').push(first);
  world.sourceNamed('team').push(team);
  for (const cluster of ['east', 'west']) world.agent(cluster).connect();
  await world.settle();
  return world;
}

async function refusals(world: FleetWorld): Promise<readonly string[]> {
  await world.clock.advance(200);
  return world.server.api
    .diagnostics()
    .filter(({ reason }) => reason === 'NotAllowed')
    .map(({ message, at }) => `${at?.path}: ${message}`);
}

describe('a second source', () => {
  it('does not get files of the first one into its cluster by a Placement', async () => {
    const world = await twoTeams({ 'p.yaml': stolen, 'q.yaml': ours, 'ours/a.yaml': configMapYaml('a', '1') });
    expect(names(world, 'east')).toEqual([SECRET]);
    expect(names(world, 'west')).toEqual(['/ConfigMap/web/a']);
  });

  it('gets them if the configuration says so', async () => {
    const world = await twoTeams({ 'p.yaml': stolen }, { team: { files: ['platform'] } });
    expect(names(world, 'west')).toEqual([SECRET]);
  });

  it('declares no cluster, and gives none of the first one another label', async () => {
    const world = await twoTeams({
      'c.yaml': clusterYaml('mine', { env: 'prod' }),
      'w.yaml': clusterYaml('west', { env: 'prod' }),
    });
    world.agent('mine').connect();
    await world.settle();
    expect([names(world, 'mine'), names(world, 'west')]).toEqual([[], []]);
    expect(await refusals(world)).toEqual([
      'c.yaml: source team may not have documents of the kind KubernetesCluster (allow.kinds of the source in the RelayConfig)',
      'w.yaml: source team may not have documents of the kind KubernetesCluster (allow.kinds of the source in the RelayConfig)',
    ]);
  });

  it('that may declare some clusters sets no label by which others select', async () => {
    const allow = { team: { declares: ['team-*'], labelKeys: ['team'] } };
    const world = await twoTeams(
      {
        'one.yaml': clusterYaml('team-1', { env: 'prod' }),
        'two.yaml': clusterYaml('team-2', { team: 'b' }),
        'three.yaml': clusterYaml('other', { team: 'b' }),
      },
      allow,
    );
    for (const cluster of ['team-1', 'team-2', 'other']) world.agent(cluster).connect();
    await world.settle();
    expect(world.server.api.clusters().map(({ name }) => name)).toEqual(expect.arrayContaining(['team-2']));
    expect(names(world, 'team-1')).toEqual([]);
    expect(await refusals(world)).toEqual([
      'one.yaml: source team may not set the label env of a KubernetesCluster (allow.labelKeys of the source in the RelayConfig)',
      'three.yaml: source team may not declare a cluster of this name: other (allow.declares of the source in the RelayConfig)',
    ]);
  });

  it('declares no FleetPolicy, ServiceMirror and RemovalApproval', async () => {
    const mirror =
      'apiVersion: fleetrelay.dev/v1alpha1\nkind: ServiceMirror\nmetadata: {name: m}\nspec:\n  from: {names: [east]}\n  to: {names: [west]}\n';
    const held = await twoTeams(
      { 'ours/a.yaml': configMapYaml('a', '1') },
      {},
      { ...platform, 'p.yaml': policyYaml(0) },
    );
    held.sourceNamed('platform').push({ 'secrets/prod/key.yaml': null });
    await held.settle();
    const digest = held.server.api.removals()[0]?.digest;
    expect(digest).toBeDefined();
    held.sourceNamed('team').push({
      'f.yaml': policyYaml(1000),
      'm.yaml': mirror,
      'r.yaml': `apiVersion: fleetrelay.dev/v1alpha1\nkind: RemovalApproval\nmetadata: {name: r}\nspec:\n  digest: ${digest}\n`,
    });
    await held.settle();
    expect(names(held, 'east')).toEqual([SECRET]);
    expect((await refusals(held)).map((text) => /kind (\w+)/.exec(text)?.[1])).toEqual([
      'FleetPolicy',
      'ServiceMirror',
      'RemovalApproval',
    ]);
  });

  it('reaches only its targets: by names, by a selector and by a folder', async () => {
    const team = {
      'ours/a.yaml': configMapYaml('a', '1'),
      'p.yaml': placementYaml('all', 'ours/**'),
      'q.yaml': placementYaml('named', 'ours/**', 'names: [east]'),
      'clusters/east/b.yaml': configMapYaml('b', '1'),
      'clusters/west/c.yaml': configMapYaml('c', '1'),
    };
    const world = await twoTeams(team, { team: { targets: ['w*'] } });
    expect(names(world, 'east')).toEqual([SECRET]);
    expect(names(world, 'west')).toEqual(['/ConfigMap/web/a', '/ConfigMap/web/c']);
    const why = 'source team may not reach cluster east (allow.targets of the source in the RelayConfig)';
    expect(await refusals(world)).toEqual([
      `clusters/east/b.yaml: it lies under clusters/east: ${why}`,
      `p.yaml: Placement all selects cluster east: ${why}`,
      `q.yaml: Placement named names cluster east: ${why}`,
    ]);
  });

  it('ships only kinds and namespaces that it may', async () => {
    const role = 'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: admin}\n';
    const team = {
      'p.yaml': ours,
      'ours/a.yaml': configMapYaml('a', '1', 'team-b'),
      'ours/b.yaml': configMapYaml('b', '1', 'kube-system'),
      'ours/n.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: kube-system}\n',
      'ours/own.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: team-b}\n',
      'ours/r.yaml': role,
      'ours/d.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d}\n',
    };
    const world = await twoTeams(team, { team: { namespaces: ['team-*'] } });
    expect(names(world, 'west')).toEqual(['/ConfigMap/team-b/a', '/Namespace//team-b']);
    expect((await refusals(world)).map((text) => text.slice(0, text.indexOf(' (')))).toEqual([
      'ours/b.yaml: source team may not ship objects in the namespace kube-system',
      'ours/d.yaml: source team may not ship objects in the namespace default',
      'ours/n.yaml: source team may not ship the Namespace kube-system',
      'ours/r.yaml: source team may not ship a ClusterRole, which has no namespace',
    ]);
  });
});

describe('what was in force stays when the configuration is narrowed', () => {
  const team = {
    'mine.yaml': clusterYaml('mine', { team: 'b' }),
    'p.yaml': placementYaml('ours', 'ours/**', 'names: [west, mine]'),
    'q.yaml': stolen,
    'ours/a.yaml': configMapYaml('a', '1'),
    'ours/b.yaml': configMapYaml('b', '1'),
    'clusters/west/c.yaml': configMapYaml('c', '1'),
  };
  const wide: Allow = { team: { kinds: ['*'], labelKeys: ['*'], files: ['platform'] } };
  const all = ['/ConfigMap/web/a', '/ConfigMap/web/b', '/ConfigMap/web/c', SECRET];

  async function wideWorld(): Promise<FleetWorld> {
    const world = await twoTeams(team, wide);
    world.agent('mine').connect();
    await world.settle();
    expect([names(world, 'west'), names(world, 'mine')]).toEqual([all, ['/ConfigMap/web/a', '/ConfigMap/web/b']]);
    return world;
  }

  it.each<[string, SourceAllow]>([
    ['to the default', {}],
    ['in its kinds', { kinds: ['Shoot'] }],
    ['in its namespaces', { ...wide.team, namespaces: ['other'] }],
    ['in the clusters that it declares', { ...wide.team, declares: ['other'] }],
    ['in the labels of its clusters', { ...wide.team, labelKeys: [] }],
    ['in its targets', { ...wide.team, targets: ['other'] }],
    ['in the files that its Placements select', { ...wide.team, files: [] }],
    ['in everything', { kinds: [], namespaces: [], labelKeys: [], declares: [], targets: [], files: [] }],
  ])('%s', async (_, allow) => {
    const world = await restarted(await wideWorld(), team, { team: allow });
    world.agent('mine').connect();
    await world.settle();
    expect([names(world, 'west'), names(world, 'mine')]).toEqual([all, ['/ConfigMap/web/a', '/ConfigMap/web/b']]);
    expect(world.server.api.removals()).toEqual([]);
    expect((await refusals(world)).length + Number(allow.files?.length === 0)).toBeGreaterThan(0);
    // Its own deletions are proven, and so are the other source's.
    world.sourceNamed('team').push({ 'ours/a.yaml': null });
    world.sourceNamed('platform').push({ 'secrets/prod/key.yaml': null });
    await world.settle();
    expect(names(world, 'west')).toEqual(['/ConfigMap/web/b', '/ConfigMap/web/c']);
  });

  it('also if the store is lost at the same time', async () => {
    const before = await wideWorld();
    for (const agent of before.agents.known.values()) agent.abandon();
    const world = await createFleetWorld({
      ...{ sources: ['platform', 'team'], allow: { team: { kinds: [], targets: [] } }, agents: before.agents },
    });
    world.sourceNamed('platform').push(platform);
    world.sourceNamed('team').push(team);
    for (const cluster of ['east', 'west']) world.agent(cluster).connect();
    await world.settle();
    expect(names(world, 'west')).toEqual(all);
  });

  it('with its content, until the document is allowed again', async () => {
    const before = await wideWorld();
    const world = await restarted(before, team, { team: { ...wide.team, namespaces: [] } });
    world.sourceNamed('team').push({ 'ours/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    const data = (of: FleetWorld) =>
      of
        .agent('west')
        .holding()
        .entries.find(({ key }) => key.endsWith('/a'))?.digest;
    const old = data(world);
    const again = await restarted(world, { ...team, 'ours/a.yaml': configMapYaml('a', '2') }, wide);
    expect(names(again, 'west')).toEqual(all);
    expect(data(again)).not.toEqual(old);
  });

  it('and goes when its rule is taken away, although the document stays', async () => {
    const world = await restarted(await wideWorld(), team, { team: { ...wide.team, targets: ['mine'] } });
    world.sourceNamed('team').push({ 'p.yaml': placementYaml('ours', 'ours/**', 'names: [mine]') });
    await world.settle();
    expect(names(world, 'west')).toEqual(['/ConfigMap/web/c', SECRET]);
  });

  it('but a source that never could keeps nothing of another', async () => {
    const first = { ...platform, 'x.yaml': placementYaml('first', 'secrets/**', 'names: [west]') };
    const world = await twoTeams({ 'q.yaml': stolen }, {}, first);
    expect(names(world, 'west')).toEqual([SECRET]);
    world.sourceNamed('platform').push({ 'x.yaml': null });
    await world.settle();
    expect(names(world, 'west')).toEqual([]);
  });
});

it('an only source may do everything', async () => {
  const world = await createFleetWorld({ sources: ['platform'], allow: {} });
  world.source.push(platform);
  world.agent('east').connect();
  await world.settle();
  expect(names(world, 'east')).toEqual([SECRET]);
});
