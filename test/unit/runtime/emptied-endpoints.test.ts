import { describe, expect, it } from 'vitest';
import type { FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml, configMapYaml, policyYaml } from '../../support/manifests.ts';
import { discoverOne, kindsOf, liveService, liveSlice, mirrorYaml } from '../../support/mirrors.ts';
import { names, restart, startedWorld } from '../../support/started-world.ts';

const clusters = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'clusters/west/cluster.yaml': clusterYaml('west'),
};
const mirrors = { ...clusters, 'mirror.yaml': mirrorYaml('shared', 'names: [east]', 'names: [west]') };
const SLICE = 'discovery.k8s.io/EndpointSlice/web/east-shop-1';

const sliceYaml = (name: string, addresses: string, service = 'shop'): string =>
  `apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata:\n  name: ${name}\n  namespace: web\n  labels: {kubernetes.io/service-name: ${service}}\naddressType: IPv4\nendpoints: [${addresses}]\n`;
const serviceYaml = `apiVersion: v1\nkind: Service\nmetadata: {name: shop, namespace: web}\nspec: {clusterIP: None}\n`;
const ONE = '{addresses: [10.0.0.1]}';

async function mirroredShop(): Promise<FleetWorld> {
  const world = await startedWorld(mirrors);
  discoverOne(world, 'east');
  await world.settle();
  return world;
}

const addressesIn = (world: FleetWorld, cluster: string): string =>
  JSON.stringify(
    world
      .agent(cluster)
      .deltas.flatMap(({ upserts }) => upserts)
      .filter(({ key }) => key.includes('EndpointSlice'))
      .at(-1)?.value.endpoints,
  );

async function approveAll(world: FleetWorld): Promise<void> {
  await world.server.api.approve(world.server.api.removals()[0]?.digest ?? '', 'test');
  await world.settle();
}

describe('endpoints that become empty', () => {
  it('are held, other changes continue, and an approval releases them once', async () => {
    const world = await mirroredShop();
    world.agent('east').discovers({ upserts: [liveSlice('shop', []), liveService('cart')] });
    await world.settle();
    expect(names(world, 'west')).toContain('/Service/web/east-cart');
    expect(addressesIn(world, 'west')).toContain('10.0.0.1');
    const [held] = world.server.api.removals();
    expect(held?.reason).toBe('EndpointsEmptied');
    expect(held?.message).toContain('Service/web/east-shop would be left without any address');
    await approveAll(world);
    expect(addressesIn(world, 'west')).toBe('[]');
    expect(world.server.api.removals()).toEqual([]);
    expect(world.server.engine.inputs.approvals.size()).toBe(0);
    // Filled and emptied again, it is asked for again.
    world.agent('east').discovers({ upserts: [liveSlice('shop', ['10.0.0.5'])] });
    await world.settle();
    world.agent('east').discovers({ upserts: [liveSlice('shop', [])] });
    await world.settle();
    expect(addressesIn(world, 'west')).toContain('10.0.0.5');
    expect(world.server.api.removals()).toHaveLength(1);
  });

  it('need one approval, also if the released delta is lost in flight', async () => {
    const world = await mirroredShop();
    world.agent('east').discovers({ upserts: [liveSlice('shop', [])] });
    await world.settle();
    world.agent('west').pause();
    await approveAll(world);
    world.agent('west').release('lost');
    world.agent('west').disconnect();
    world.agent('west').connect();
    await world.settle();
    expect(addressesIn(world, 'west')).toBe('[]');
    expect(world.server.engine.inputs.approvals.size()).toBe(0);
  });

  it('are undone when there are addresses again', async () => {
    const world = await mirroredShop();
    world.agent('east').discovers({ upserts: [liveSlice('shop', [])] });
    await world.settle();
    world.agent('east').discovers({ upserts: [liveSlice('shop', ['10.0.0.7'])] });
    await world.settle();
    expect(world.server.api.removals()).toEqual([]);
    expect(addressesIn(world, 'west')).toContain('10.0.0.7');
  });

  it('stay held over a restart', async () => {
    const first = await mirroredShop();
    first.agent('east').discovers({ upserts: [liveSlice('shop', [])] });
    await first.settle();
    const world = await restart(first);
    world.source.push(mirrors);
    world.agent('east').connect();
    world.agent('west').connect();
    await world.settle();
    expect(world.server.api.removals()).toHaveLength(1);
    expect(world.agent('west').deltas).toHaveLength(first.agent('west').deltas.length);
  });

  it('are no matter while another slice of the service has addresses', async () => {
    const world = await mirroredShop();
    world.agent('east').discovers({ upserts: [liveSlice('shop', ['10.0.0.2'], 'shop-2')] });
    await world.settle();
    world.agent('east').discovers({ upserts: [liveSlice('shop', [])] });
    await world.settle();
    expect(world.server.api.removals()).toEqual([]);
  });

  it('are held as well when the last slice is removed and the Service stays; and are removed with the Service', async () => {
    const world = await mirroredShop();
    world.agent('east').discovers({ removals: [liveSlice('shop', [])] });
    await world.settle();
    expect(world.server.api.removals()[0]?.removals).toEqual([
      { cluster: 'west', object: 'EndpointSlice.discovery.k8s.io/web/east-shop-1' },
    ]);
    // The Service itself is removed: no caller is left.
    world.agent('east').discovers({ removals: [liveService('shop')] });
    await world.settle();
    expect(names(world, 'west')).toEqual([]);
    expect(world.server.engine.inputs.heldRemovals.size()).toBe(0);
    const other = await mirroredShop();
    other.agent('east').discovers({ removals: [liveService('shop'), liveSlice('shop', [])], kinds: kindsOf() });
    await other.settle();
    expect(names(other, 'west')).toEqual([]);
  });

  it.each(['at once', 'over a restart'])('go when the service has others meanwhile: %s', async (when) => {
    const first = await mirroredShop();
    first.agent('east').discovers({ removals: [liveSlice('shop', [])] });
    await first.settle();
    expect(first.server.api.removals()).toHaveLength(1);
    const world = when === 'at once' ? first : await restart(first);
    if (world !== first) {
      world.source.push(mirrors);
      world.agent('west').connect();
      world.agent('east').connect();
    }
    world.agent('east').discovers({ upserts: [liveSlice('shop', ['10.0.0.2'], 'shop-2')] });
    await world.settle();
    expect(world.server.api.removals()).toEqual([]);
    expect(names(world, 'west')).toEqual(['/Service/web/east-shop', SLICE.replace('-1', '-2')]);
  });

  it('stay while the removal of their Service is held, and go with it', async () => {
    const endpoints = `apiVersion: v1\nkind: Endpoints\nmetadata: {name: shop, namespace: web}\nsubsets: [{addresses: [{ip: 10.0.0.3}]}]\n`;
    const world = await startedWorld({
      ...clusters,
      'fleet/policy.yaml': policyYaml(0),
      'clusters/east/service.yaml': serviceYaml,
      'clusters/east/endpoints.yaml': endpoints,
    });
    world.source.push({ 'clusters/east/service.yaml': null });
    await world.settle();
    world.source.push({ 'fleet/policy.yaml': null });
    await world.settle();
    world.source.push({ 'clusters/east/endpoints.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(['/Endpoints/web/shop', '/Service/web/shop']);
    await approveAll(world);
    expect(names(world, 'east')).toEqual([]);
  });

  it('stay if they were held for how much would go, also when the service has others and the guards are loose', async () => {
    const first = sliceYaml('shop-1', ONE);
    const world = await startedWorld({
      ...clusters,
      'fleet/policy.yaml': policyYaml(0),
      'clusters/east/service.yaml': serviceYaml,
      'clusters/east/one.yaml': first,
    });
    world.source.push({ 'clusters/east/one.yaml': null });
    await world.settle();
    world.source.push({ 'clusters/east/two.yaml': sliceYaml('shop-2', ONE), 'fleet/policy.yaml': null });
    await world.settle();
    world.source.push({ 'clusters/east/a.yaml': configMapYaml('a', '1') });
    await world.settle();
    expect(names(world, 'east')).toContain('discovery.k8s.io/EndpointSlice/web/shop-1');
  });

  it('are held in plain files too, of EndpointSlices and of Endpoints', async () => {
    const endpoints = (subsets: string): string =>
      `apiVersion: v1\nkind: Endpoints\nmetadata: {name: db, namespace: web}\nsubsets: [${subsets}]\n`;
    const world = await startedWorld({
      ...clusters,
      'clusters/east/slice.yaml': sliceYaml('shop-1', ONE),
      'clusters/east/service.yaml': serviceYaml,
      'clusters/east/db.yaml': endpoints('{addresses: [{ip: 10.0.0.3}]}'),
      'clusters/east/a.yaml': configMapYaml('a', '1'),
    });
    world.source.push({
      'clusters/east/slice.yaml': sliceYaml('shop-1', ''),
      'clusters/east/db.yaml': endpoints(''),
      'clusters/east/a.yaml': configMapYaml('a', '2'),
    });
    await world.settle();
    expect(world.server.api.removals()[0]?.removals.map(({ object }) => object)).toEqual([
      'Endpoints/web/db',
      'EndpointSlice.discovery.k8s.io/web/shop-1',
    ]);
    expect(
      world
        .agent('east')
        .deltas.at(-1)
        ?.upserts.map(({ key }) => key),
    ).toEqual(['/ConfigMap/web/a']);
  });

  it('are no matter if they never had addresses', async () => {
    const world = await startedWorld({ ...clusters, 'clusters/east/slice.yaml': sliceYaml('shop-1', '') });
    world.source.push({ 'clusters/east/slice.yaml': sliceYaml('shop-1', '').replace('IPv4', 'IPv6') });
    await world.settle();
    expect(world.server.api.removals()).toEqual([]);
    expect(world.agent('east').deltas).toHaveLength(2);
  });
});
