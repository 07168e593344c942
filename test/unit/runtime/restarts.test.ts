import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../../src/adapters/stores/memory.ts';
import type { KindState, LiveObject } from '../../../src/model/agent/agent.ts';
import type { ClusterName } from '../../../src/model/fleet/ids.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { objectDigest } from '../../../src/model/text/digest.ts';
import type { SnapshotStore, StoreWrite } from '../../../src/ports/snapshot-store.ts';
import { STORE_FORMAT } from '../../../src/runtime/ledger/records.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { createSharedMemory } from '../../support/shared-memory-store.ts';
import { silentLog } from '../../support/silent-log.ts';
import { base, names, restart } from '../../support/started-world.ts';
import { keysOf } from '../../support/stored-maps.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const services: KindState = { kind: '/Service', state: 'complete', message: '', scope: 'Namespaced' };

function service(name: string, port = 80): LiveObject {
  const value = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'shop' },
    spec: { ports: [{ port }] },
  };
  return { key: `/Service/shop/${name}` as ObjectKey, value, digest: objectDigest(value) };
}

/** The first commit waits so long for sources that say nothing. */
const FIRST_READS_MS = 5_000;

/** The agent of a cluster says what lives there. */
function discovers(
  world: FleetWorld,
  cluster: string,
  objects: readonly LiveObject[],
  gone: readonly string[] = [],
): void {
  const digest = objectDigest({});
  const delta = { from: digest, to: digest, upserts: objects, removals: gone as readonly ObjectKey[] };
  world.agents.listener?.input(cluster as ClusterName, { ...delta, kinds: [services] }, () => undefined);
}

async function discoveredWorld(store: SnapshotStore = createMemoryStore()): Promise<FleetWorld> {
  const world = await createFleetWorld({ store });
  world.source.push(base);
  for (const cluster of ['east', 'west']) {
    world.agent(cluster).connect();
    discovers(world, cluster, [service('cart'), service('pay')]);
  }
  await world.settle();
  return world;
}

/** Everything that is known of a cluster. */
function knownOf({ server: { engine } }: FleetWorld, cluster: string) {
  const { live, kinds, results, ledger, snapshots } = engine.inputs;
  return {
    live: [...live.entries(cluster)].map(({ key, value }) => [key, value.digest, value.value]).sort(),
    kinds: [...kinds.entries(cluster)].map(({ value }) => value),
    results: [...results.entries(cluster)].map(({ key, value }) => [key, value.state]).sort(),
    ledger: [...ledger.entries(cluster)].map(({ key, value }) => [key, value]).sort(),
    since: snapshots.get('', cluster)?.since,
  };
}

function agentValue({ server: { engine } }: FleetWorld, cluster: string) {
  return engine.inputs.agents.get('', cluster);
}

describe('a server that starts again', () => {
  it('has the state of each cluster before any agent connects', async () => {
    const first = await discoveredWorld();
    discovers(first, 'east', [service('pay', 81)], ['/Service/shop/cart']);
    await first.settle();
    const before = knownOf(first, 'east');
    expect(before.live).toHaveLength(1);
    expect(before.results).toHaveLength(3);
    const world = await restart(first);
    await world.clock.advance(FIRST_READS_MS);
    expect(knownOf(world, 'east')).toEqual(before);
    expect(knownOf(world, 'west').live).toHaveLength(2);
    const held = world.agents.listener?.inputDigests('east' as ClusterName);
    expect([...(held ?? [])]).toEqual([['/Service/shop/pay', service('pay', 81).digest]]);
    expect(agentValue(world, 'east')?.warm).toBe(true);
  });

  it('writes only the connections of its clusters when nothing has changed', async () => {
    const first = await discoveredWorld();
    const written: string[] = [];
    const store: SnapshotStore = {
      ...first.store,
      write: (writes: readonly StoreWrite[]) => {
        written.push(...writes.flatMap(({ key, value }) => (value === undefined ? [] : [key])));
        return first.store.write(writes);
      },
    };
    const world = await restart({ ...first, store });
    world.source.push(base);
    for (const cluster of ['east', 'west']) world.agent(cluster).connect();
    await world.settle();
    expect(names(world, 'east')).toHaveLength(3);
    expect([...new Set(written)].filter((key) => !/^(registrations|sources|admission)/.test(key))).toEqual([]);
  });

  it.each(['live', 'kinds'])(
    'does not know what lives in a cluster whose %s is damaged, and everything else',
    async (kind) => {
      const first = await discoveredWorld();
      for await (const { key, value } of first.store.list(`clusters/east/${kind}/`)) {
        await first.store.write([{ key, value: value.map((byte) => byte ^ 1) }]);
      }
      const world = await restart(first);
      await world.clock.advance(FIRST_READS_MS);
      const known = knownOf(world, 'east');
      expect([known.live, known.since, known.ledger.length]).toEqual([[], undefined, 3]);
      expect(knownOf(world, 'west').live).toHaveLength(2);
      world.source.push(base);
      world.agent('east').connect();
      discovers(world, 'east', [service('cart')]);
      await world.settle();
      const again = await restart(world);
      await again.clock.advance(FIRST_READS_MS);
      expect(knownOf(again, 'east').live).toHaveLength(1);
    },
  );

  it('refuses a store of a newer format', async () => {
    const first = await discoveredWorld();
    await first.store.write([{ key: 'format', value: new TextEncoder().encode(`{"format":${STORE_FORMAT + 1}}`) }]);
    await expect(restart(first)).rejects.toThrow('newer version');
  });
});

describe('a store that is lost while the server lives', () => {
  it('costs nothing: the next server starts from it as if nothing had been', async () => {
    const memory = createSharedMemory();
    const first = await discoveredWorld(memory.open());
    await first.clock.advance(1_000);
    const before = [...memory.copy()].filter(([key]) => !key.startsWith('clusters/'));
    const maps = knownOf(first, 'east');
    memory.lose();
    await first.clock.advance(1_000);
    const text = (records: typeof before) =>
      records.map(([key, { value }]) => [key, new TextDecoder().decode(value)]).sort();
    const after = [...memory.copy()].filter(([key]) => !key.startsWith('clusters/'));
    expect(text(after)).toEqual(text(before));
    const world = await restart({ ...first, store: memory.open() });
    await world.clock.advance(FIRST_READS_MS);
    expect(knownOf(world, 'east')).toEqual(maps);
    expect(agentValue(world, 'west')).toMatchObject({ warm: true, assumedWarm: false });
  });
});

describe('a store that was lost while no server was there', () => {
  const lost = (first: FleetWorld, store: SnapshotStore = createMemoryStore()): Promise<FleetWorld> => {
    for (const agent of first.agents.known.values()) agent.abandon();
    return createFleetWorld({ store, clock: createVirtualClock(first.clock.now() + 1_000), agents: first.agents });
  };

  it('is detected by the first agent that owns objects: clusters without an agent are assumed warm until their input snapshot arrives', async () => {
    const first = await discoveredWorld();
    const store = createMemoryStore();
    const world = await lost(first, store);
    world.source.push({ ...base, 'apps/d.yaml': configMapYaml('d', '1') });
    await world.settle();
    expect(agentValue(world, 'west')).toBeUndefined();
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toHaveLength(4);
    expect(agentValue(world, 'west')).toMatchObject({ connected: false, warm: false, assumedWarm: true });
    expect(agentValue(world, 'east')).toMatchObject({ connected: true, warm: false, assumedWarm: true });
    discovers(world, 'east', [service('cart')]);
    await world.settle();
    expect(agentValue(world, 'east')).toMatchObject({ warm: true, assumedWarm: false });

    const again = await restart(world);
    await again.clock.advance(FIRST_READS_MS);
    expect(agentValue(again, 'west')?.assumedWarm).toBe(true);
    expect(agentValue(again, 'east')?.assumedWarm).toBe(false);
    again.source.push({
      ...base,
      'clusters/new/cluster.yaml': base['clusters/east/cluster.yaml'].replaceAll('east', 'new'),
    });
    again.agent('west').connect();
    await again.settle();
    expect(agentValue(again, 'west')?.assumedWarm).toBe(true);
    expect(agentValue(again, 'new')).toBeUndefined();
    discovers(again, 'west', []);
    await again.settle();
    expect(agentValue(again, 'west')).toMatchObject({ warm: true, assumedWarm: false });
    expect(await keysOf(store, 'assumed-warm/')).toEqual([]);
  });

  it('assumes clusters warm whose declarations can be read only later, and forgets those that are deregistered', async () => {
    const first = await discoveredWorld();
    const world = await lost(first);
    const { 'clusters/west/cluster.yaml': west, ...others } = base;
    world.source.push({ ...others, 'clusters/west/cluster.yaml': 'kind: [' });
    world.agent('east').connect();
    await world.settle();
    expect(agentValue(world, 'west')).toBeUndefined();
    world.source.push({ 'clusters/west/cluster.yaml': west });
    await world.settle();
    expect(agentValue(world, 'west')?.assumedWarm).toBe(true);
    world.source.push({ 'clusters/west/cluster.yaml': null });
    await world.settle();
    expect(agentValue(world, 'west')).toBeUndefined();
  });

  it('does not exist in a fresh installation', async () => {
    const world = await createFleetWorld();
    world.source.push(base);
    world.agent('east').connect();
    await world.settle();
    expect(agentValue(world, 'east')?.assumedWarm).toBe(false);
    expect(agentValue(world, 'west')).toBeUndefined();
  });
});

describe('a cluster that is deregistered', () => {
  const withoutEast = { 'clusters/east/cluster.yaml': null };

  it('is forgotten, in memory and in the store; its name is free, and its certificates are void', async () => {
    const world = await discoveredWorld();
    const { listener } = world.agents;
    world.source.push(withoutEast);
    await world.settle();
    expect(knownOf(world, 'east')).toMatchObject({ live: [], kinds: [], results: [], since: undefined });
    expect(agentValue(world, 'east')).toBeUndefined();
    const kept = (await keysOf(world.store)).filter((key) => /^(registrations|clusters)\/east/.test(key));
    expect(kept.filter((key) => !key.startsWith('clusters/east/entries'))).toEqual([]);

    world.source.push({ 'clusters/east/cluster.yaml': base['clusters/east/cluster.yaml'] });
    await world.settle();
    const other = world.agent('east', 'another-id');
    expect(other.connect().type).toBe('admitted');
    await world.settle();
    expect(agentValue(world, 'east')).toMatchObject({ connected: true, warm: false });
    const request = {
      cluster: 'east',
      clusterId: 'another-id',
      instance: 'another-id-1',
      version: '',
      capabilities: [],
    };
    const admit = (issuedAt: number, registration?: number) =>
      listener?.admit(request as never, { issuedAt, registration } as never);
    const number = { ...request, proof: 'token' };
    expect(listener?.mayRegister(number as never)).toEqual({ type: 'admitted', registration: 1, isBound: true });
    expect(admit(world.clock.now(), 0)).toMatchObject({ type: 'unproven', reason: 'CertificateRevoked' });
    expect(admit(world.clock.now() - 60_000, 1)?.type).toBe('admitted');
    expect(admit(world.clock.now() - 60_000)).toMatchObject({ type: 'unproven', reason: 'CertificateRevoked' });
    expect(admit(world.clock.now())?.type).toBe('admitted');
    const again = await restart(world);
    again.source.push(base);
    await again.settle();
    expect(again.agents.listener?.admit(request as never, { issuedAt: 1 } as never)?.type).toBe('unproven');
    expect(again.agents.listener?.admit(request as never, { issuedAt: 1, registration: 1 } as never)?.type).toBe(
      'admitted',
    );
  });

  it('is so too if its declaration went while no server was there', async () => {
    const first = await discoveredWorld();
    await first.store.write([{ key: 'declared/clusters/east', value: null }]);
    const world = await restart(first);
    const { 'clusters/east/cluster.yaml': _, ...others } = base;
    world.source.push(others);
    await world.settle();
    expect(agentValue(world, 'east')).toBeUndefined();
    expect((await keysOf(world.store, 'registrations/')).length).toBe(1);
  });

  it('is so if its source is configured no more, which is logged before', async () => {
    const first = await discoveredWorld();
    const lines: string[] = [];
    const said = (message: string, data?: unknown) => void lines.push(`${message} ${JSON.stringify(data)}`);
    const world = await createFleetWorld({
      ...{ store: first.store, clock: createVirtualClock(first.clock.now()), sources: ['mian'] },
      log: { ...silentLog, warn: said },
    });
    await world.settle();
    expect(lines).toEqual([expect.stringMatching(/not configured any more.*"main","clusters":\["east","west"\]/)]);
    expect((await keysOf(world.store, 'registrations/')).length).toBe(2);
    world.source.push({});
    await world.settle();
    expect(await keysOf(world.store, 'registrations/')).toEqual([]);
  });

  it('is not so as long as its declaration cannot be read', async () => {
    const world = await discoveredWorld();
    world.source.push({ 'clusters/east/cluster.yaml': 'kind: [', 'apps/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    expect(knownOf(world, 'east').live).toHaveLength(2);
    expect(agentValue(world, 'east')?.connected).toBe(true);
  });
});
