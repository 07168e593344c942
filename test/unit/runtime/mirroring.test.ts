import { describe, expect, it } from 'vitest';
import { objectOf } from '../../../src/model/text/json.ts';
import type { FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml, configMapYaml } from '../../support/manifests.ts';
import { discoverOne, kindsOf, liveService, liveSlice, mirrorYaml, restartWithout } from '../../support/mirrors.ts';
import { names, restart, startedWorld, typo } from '../../support/started-world.ts';

const base = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'clusters/west/cluster.yaml': clusterYaml('west'),
  'mirror.yaml': mirrorYaml('shared', 'names: [east]', 'selector: {}'),
};

const SERVICE = '/Service/web/east-shop';
const SLICE = 'discovery.k8s.io/EndpointSlice/web/east-shop-1';

async function mirrored(): Promise<FleetWorld> {
  const world = await startedWorld(base);
  discoverOne(world, 'east');
  await world.settle();
  return world;
}

describe('mirroring', () => {
  it('makes a headless Service and its slices in the other clusters, and none in its own', async () => {
    const world = await mirrored();
    expect(names(world, 'west')).toEqual([SERVICE, SLICE]);
    expect(names(world, 'east')).toEqual([]);
    const [service, slice] = world.agent('west').deltas[0]?.upserts ?? [];
    expect(service).toMatchObject({
      scope: ['east'],
      origins: [{ source: 'main', path: 'mirror.yaml' }],
      value: {
        metadata: {
          labels: {
            'gimbal.projectcontour.io/backend': 'east',
            'gimbal.projectcontour.io/service': 'shop',
          },
        },
        spec: { type: 'ClusterIP', clusterIP: 'None', ports: [{ port: 80 }] },
      },
    });
    expect(JSON.stringify(service?.value)).not.toContain('fleetrelay.dev/service-export');
    expect(slice).toMatchObject({
      scope: ['east'],
      value: {
        metadata: { labels: { 'kubernetes.io/service-name': 'east-shop' } },
        endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true } }],
      },
    });
    expect(JSON.stringify(slice?.value)).not.toContain('nodeName');
  });

  it('leaves out Services that are never mirrored, and Services that are not exported', async () => {
    const world = await startedWorld({ ...base, 'mirror.yaml': base['mirror.yaml'].concat('  serviceSelector: {}\n') });
    const bare = (name: string, namespace: string, more = {}) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace, ...more },
      spec: {},
    });
    const external = { ...bare('external', 'web'), spec: { type: 'ExternalName', externalName: 'x.example' } };
    const foreign = bare('a', 'web', { labels: { 'gimbal.projectcontour.io/backend': 'north' } });
    world.agent('east').discovers({
      upserts: [
        ...[bare('dns', 'kube-system'), bare('kubernetes', 'default'), bare('kubernetes', 'foo')],
        ...[external, foreign, bare('plain', 'web')],
      ],
      kinds: kindsOf(),
    });
    await world.settle();
    expect(names(world, 'west')).toEqual(['/Service/foo/east-kubernetes', '/Service/web/east-plain']);
    world.source.push({ 'mirror.yaml': base['mirror.yaml'] });
    await world.settle();
    expect(names(world, 'west')).toEqual([]);
  });

  it('follows the live service: its addresses, another slice, its end', async () => {
    const world = await mirrored();
    world
      .agent('east')
      .discovers({ upserts: [liveSlice('shop', ['10.0.0.2']), liveSlice('shop', ['10.0.0.3'], 'shop-2')] });
    await world.settle();
    const [, second] = world.agent('west').deltas;
    expect(second?.upserts.map(({ key }) => key)).toEqual([SLICE, `${SLICE.slice(0, -1)}2`]);
    world.agent('east').discovers({
      removals: [liveService('shop'), liveSlice('shop', []), liveSlice('shop', [], 'shop-2')],
    });
    await world.settle();
    expect(names(world, 'west')).toEqual([]);
  });

  it('says of a field that no line sets it, and names the rule', async () => {
    const world = await mirrored();
    const question = { cluster: 'west', object: 'Service/web/east-shop', part: 'spec.clusterIP' };
    expect(await world.server.api.explain(question)).toMatchObject({
      value: { field: { path: 'spec.clusterIP', found: 'rule', by: 'ServiceMirror shared', at: 'mirror.yaml:1:1@r1' } },
    });
    const slice = { ...question, object: 'EndpointSlice/web/east-shop-1', part: 'endpoints' };
    expect(await world.server.api.explain(slice)).toMatchObject({ value: { field: { by: 'ServiceMirror shared' } } });
  });

  it('says so too of a Service that a later manifest declares, and that the rule keeps', async () => {
    const world = await mirrored();
    const own = 'apiVersion: v1\nkind: Service\nmetadata: {name: east-shop, namespace: web}\nspec: {clusterIP: None}\n';
    world.source.push({ 'clusters/west/own.yaml': own });
    await world.settle();
    const question = { cluster: 'west', object: 'Service/web/east-shop', part: 'spec.clusterIP' };
    expect(await world.server.api.explain(question)).toMatchObject({
      value: { field: { path: 'spec.clusterIP', found: 'rule', by: 'ServiceMirror shared', at: 'mirror.yaml:1:1@r2' } },
    });
  });

  it('explains itself by the live object and the ServiceMirror', async () => {
    const world = await mirrored();
    const answer = await world.server.api.explain({ cluster: 'west', object: 'Service/web/east-shop' });
    expect(answer.ok && answer.value.because.slice(0, 2)).toEqual([
      { kind: 'live object', name: 'Service/web/shop', at: 'cluster east', note: 'lives there, and is mirrored' },
      {
        kind: 'ServiceMirror',
        name: 'shared',
        at: 'mirror.yaml:1:1@r1',
        note: 'selects the service and both clusters',
      },
    ]);
  });

  it('holds as last known good while its file cannot be read, also over a restart', async () => {
    const first = await mirrored();
    first.source.push({ 'mirror.yaml': typo });
    await first.settle();
    expect(names(first, 'west')).toEqual([SERVICE, SLICE]);
    first.agent('east').discovers({ upserts: [liveSlice('shop', ['10.0.0.9'])] });
    await first.settle();
    expect(first.agent('west').deltas).toHaveLength(2);
    const world = await restart(first);
    world.source.push({ ...base, 'mirror.yaml': typo });
    world.agent('west').connect();
    world.agent('east').connect();
    world.agent('east').discovers({ upserts: [liveService('cart')] });
    await world.settle();
    expect(names(world, 'west')).toEqual(['/Service/web/east-cart', SERVICE, SLICE]);
  });

  it('reports two services that would have one name, and leaves the existing one', async () => {
    const world = await startedWorld({
      ...base,
      'clusters/a/cluster.yaml': clusterYaml('a'),
      'clusters/a-b/cluster.yaml': clusterYaml('a-b'),
      'mirror.yaml': mirrorYaml('shared', 'names: [a, a-b]', 'names: [west]'),
    });
    for (const [cluster, service] of [
      ['a-b', 'c'],
      ['a', 'b-c'],
    ] as const) {
      world.agent(cluster).connect();
      world.agent(cluster).discovers({ upserts: [liveService(service)], kinds: kindsOf() });
      await world.settle();
    }
    const sent = world.agent('west').deltas.flatMap(({ upserts }) => upserts.map(({ key, scope }) => [key, scope]));
    expect(sent).toEqual([['/Service/web/a-b-c', ['a-b']]]);
    await world.clock.advance(200);
    expect(world.server.api.diagnostics()).toEqual([
      expect.objectContaining({
        reason: 'NameCollision',
        message: expect.stringContaining('Service/web/b-c of cluster a and for Service/web/c of cluster a-b'),
      }),
    ]);
    // The incumbent is still followed, and once it is removed the other one has the name.
    world.agent('a-b').discovers({ upserts: [liveService('c', 'web', { ports: [{ port: 81 }] })] });
    await world.settle();
    world.agent('a-b').discovers({ removals: [liveService('c')] });
    await world.settle();
    const then = world
      .agent('west')
      .deltas.slice(1)
      .flatMap(({ upserts }) => upserts.map(({ scope }) => scope));
    expect(then).toEqual([['a-b'], ['a']]);
  });

  describe('of two services whose names join to the same', () => {
    const files = {
      ...base,
      'clusters/a/cluster.yaml': clusterYaml('a'),
      'clusters/a-b/cluster.yaml': clusterYaml('a-b'),
      'mirror.yaml': mirrorYaml('shared', 'names: [a, a-b]', 'names: [west]'),
    };
    const first = ['/Service/web/a-b-c', 'discovery.k8s.io/EndpointSlice/web/a-b-c-1'];
    const discover = (world: FleetWorld, cluster: string, service: string, slice: string) => {
      world.agent(cluster).connect();
      const upserts = [liveService(service), liveSlice(service, ['10.0.0.1'], slice)];
      world.agent(cluster).discovers({ upserts, kinds: kindsOf() });
    };

    it('mirrors the addresses of the Service that has the name, also when the other one gets it', async () => {
      const world = await startedWorld(files);
      discover(world, 'a-b', 'c', 'c-1');
      await world.settle();
      discover(world, 'a', 'b-c', 'b-c-other');
      await world.settle();
      expect(names(world, 'west')).toEqual(first);
      world.agent('a-b').discovers({ removals: [liveService('c'), liveSlice('c', [], 'c-1')] });
      await world.settle();
      expect(names(world, 'west')).toEqual([first[0], 'discovery.k8s.io/EndpointSlice/web/a-b-c-other']);
    });

    it('lets in no addresses of the other while the one that has the name is missing', async () => {
      const before = await startedWorld(files);
      discover(before, 'a-b', 'c', 'c-1');
      await before.settle();
      const world = await restartWithout(before, ['a-b']);
      world.source.push(files);
      world.agent('west').connect();
      discover(world, 'a', 'b-c', 'b-c-other');
      await world.settle();
      expect(names(world, 'west')).toEqual(first);
    });
  });

  it.each([
    ['of two files', 'more.yaml'],
    ['of one file', 'mirror.yaml'],
  ])('takes one service by two ServiceMirrors %s: no conflict, and it continues when one ends', async (_what, path) => {
    const more = mirrorYaml('more', 'names: [east]', 'names: [west]');
    const both = path === 'mirror.yaml' ? { [path]: `${base[path]}---\n${more}` } : { [path]: more };
    const world = await startedWorld({ ...base, ...both });
    discoverOne(world, 'east');
    await world.settle();
    expect(world.server.api.diagnostics()).toEqual([]);
    const answer = await world.server.api.explain({ cluster: 'west', object: 'Service/web/east-shop' });
    const because = answer.ok ? answer.value.because.map(({ name }) => name) : [];
    expect(because.toSorted()).toEqual(['Service/web/shop', 'more', 'shared', 'west']);
    world.agent('east').discovers({ upserts: [liveSlice('shop', ['10.0.0.2'])] });
    await world.settle();
    expect(JSON.stringify(world.agent('west').deltas[1]?.upserts)).toContain('10.0.0.2');
    world.source.push({ ...base, ...both, 'mirror.yaml': path === 'mirror.yaml' ? more : null });
    await world.settle();
    expect(names(world, 'west')).toEqual([SERVICE, SLICE]);
    expect(world.server.api.diagnostics()).toEqual([]);
  });

  it('makes valid objects of Services and slices that were written by hand', async () => {
    const world = await startedWorld(base);
    const labels = { 'fleetrelay.dev/service-export': 'true', tier: 2, nested: { a: 'b' }, app: 'shop' };
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'shop', namespace: 'web', labels },
      spec: { ports: 'many' },
    };
    const slice = {
      ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 4, endpoints: ['none'] },
      metadata: { name: 'shop-1', namespace: 'web', labels: { 'kubernetes.io/service-name': 'shop' } },
    };
    const ports = Array.from({ length: 5_000 }, (_, port) => ({ port }));
    world.agent('east').discovers({
      upserts: [service, slice, liveService('x'.repeat(253)), liveService('p', 'web', { ports })],
      kinds: kindsOf(),
    });
    await world.settle();
    expect(names(world, 'west')).toEqual([
      '/Service/web/east-p',
      SERVICE,
      `/Service/web/east-${'x'.repeat(25)}1329e1`,
      SLICE,
    ]);
    const made = world.agent('west').deltas[0]?.upserts.find(({ key }) => key === SERVICE);
    expect(objectOf(made?.value.metadata).labels).toEqual({
      'gimbal.projectcontour.io/backend': 'east',
      'gimbal.projectcontour.io/service': 'shop',
    });
  });

  it('adds no addresses to a Service of that name that another manager owns', async () => {
    const world = await startedWorld(base);
    world.agent('west').discovers({ upserts: [liveService('east-shop')], kinds: kindsOf() });
    discoverOne(world, 'east');
    await world.settle();
    expect(names(world, 'west')).toEqual([SERVICE]);
    // It is removed, or is owned by the fleet now and no longer discovered.
    world.agent('west').discovers({ removals: [liveService('east-shop')] });
    await world.settle();
    expect(names(world, 'west')).toEqual([SERVICE, SLICE]);
  });

  it('takes no slice of another mirror for one of a service that lives there', async () => {
    const world = await startedWorld(base);
    const { metadata, ...slice } = liveSlice('shop', ['10.0.0.9']);
    const labels = { 'kubernetes.io/service-name': 'shop', 'gimbal.projectcontour.io/backend': 'north' };
    const foreign = { ...slice, metadata: { ...objectOf(metadata), labels } };
    world.agent('east').discovers({ upserts: [liveService('shop'), foreign], kinds: kindsOf() });
    await world.settle();
    expect(names(world, 'west')).toEqual([SERVICE]);
  });

  it('names the clusters that it does not know, and shares a file with objects', async () => {
    const world = await startedWorld({
      ...base,
      'clusters/west/mirror.yaml': `${configMapYaml('a', '1')}---\n${mirrorYaml('more', 'names: [east, north]', 'names: [west]')}`,
      'mirror.yaml': '# empty\n',
    });
    discoverOne(world, 'east');
    await world.settle();
    await world.clock.advance(200);
    expect(world.server.api.diagnostics().map(({ message }) => message)).toEqual([
      'ServiceMirror more names clusters that no KubernetesCluster declares: north',
    ]);
    expect(names(world, 'west')).toEqual(['/ConfigMap/web/a', SERVICE, SLICE]);
  });
});
