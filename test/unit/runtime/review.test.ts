import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../../src/adapters/stores/memory.ts';
import { createJournal } from '../../../src/runtime/ledger/journal.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml, policyYaml } from '../../support/manifests.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const typo = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [\n';
const abc = ['/ConfigMap/web/a', '/ConfigMap/web/b', '/ConfigMap/web/c'];
const base = {
  'clusters/east/cluster.yaml': clusterYaml('east', { env: 'prod' }),
  'clusters/west/cluster.yaml': clusterYaml('west', { env: 'prod' }),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
  'apps/a.yaml': configMapYaml('a', '1'),
  'apps/b.yaml': configMapYaml('b', '1'),
  'apps/c.yaml': configMapYaml('c', '1'),
};

async function startedWorld(files: Readonly<Record<string, string>> = base): Promise<FleetWorld> {
  const world = await createFleetWorld();
  world.source.push(files);
  world.agent('east').connect();
  world.agent('west').connect();
  await world.settle();
  return world;
}

function names(world: FleetWorld, cluster: string): readonly string[] {
  return world
    .agent(cluster)
    .holding()
    .entries.map(({ key }) => key)
    .sort();
}

/** The server is killed; its agents and its store are not. */
async function restart(world: FleetWorld, sources?: readonly string[]): Promise<FleetWorld> {
  for (const agent of world.agents.known.values()) agent.abandon();
  return createFleetWorld({
    store: world.store,
    statusFiles: new Map(world.statusFiles),
    clock: createVirtualClock(world.clock.now()),
    agents: world.agents,
    ...(sources === undefined ? {} : { sources }),
  });
}

function guards(settings: Readonly<Record<string, number>>): string {
  const lines = Object.entries(settings).map(([name, value]) => `    ${name}: ${value}\n`);
  return `apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata:\n  name: fleet\nspec:\n  guards:\n${lines.join('')}`;
}

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

describe('held removals', () => {
  it('stay held through a partial revision that also loosens the guard', async () => {
    const world = await startedWorld({ ...base, 'fleet/policy.yaml': policyYaml(0) });
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    expect(world.server.api.removals()).toHaveLength(1);
    world.source.push({ 'apps/b.yaml': typo, 'fleet/policy.yaml': policyYaml(100) });
    await world.settle();
    world.source.push({ 'apps/b.yaml': configMapYaml('b', '1') });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
  });

  it('are forgotten when they are undone while the server is down', async () => {
    const first = await startedWorld({ ...base, 'fleet/policy.yaml': policyYaml(0) });
    first.source.push({ 'apps/a.yaml': null });
    await first.settle();
    expect(first.server.api.removals()).toHaveLength(1);
    const world = await restart(first);
    world.source.push({ ...base, 'fleet/policy.yaml': policyYaml(100) });
    world.agent('east').connect();
    world.agent('west').connect();
    await world.settle();
    expect(world.server.engine.inputs.heldRemovals.size()).toBe(0);
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
  });

  it('stay held over a restart with loosened guards', async () => {
    const first = await startedWorld({ ...base, 'fleet/policy.yaml': policyYaml(0) });
    first.source.push({ 'apps/a.yaml': null });
    await first.settle();
    const world = await restart(first);
    const { 'apps/a.yaml': _gone, ...rest } = base;
    world.source.push({ ...rest, 'fleet/policy.yaml': policyYaml(100) });
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
  });

  it('are judged by the default guards when the first FleetPolicy loosens them', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 12 }, (_, index) => [`clusters/east/m${index}.yaml`, configMapYaml(`m${index}`, '1')]),
    );
    const world = await startedWorld({ ...base, ...many });
    expect(names(world, 'east')).toHaveLength(15);
    world.source.push({
      ...Object.fromEntries(Object.keys(many).map((path) => [path, null])),
      'fleet/policy.yaml': guards({
        maxRemovalsPerCluster: 1000,
        maxRemovalPercentPerCluster: 100,
        maxRemovalsPerFleet: 1000,
        maxRemovalPercentPerFleet: 100,
      }),
    });
    await world.settle();
    expect(names(world, 'east')).toHaveLength(15);
  });
});

describe('approvals', () => {
  it('outlast a restart', async () => {
    const first = await startedWorld({ ...base, 'fleet/policy.yaml': policyYaml(0) });
    first.agent('east').disconnect();
    first.source.push({ 'apps/a.yaml': null });
    await first.settle();
    const [held] = first.server.api.removals();
    await first.server.api.approve(held?.digest ?? '', 'test');
    await first.settle();
    const world = await restart(first);
    const { 'apps/a.yaml': _gone, ...rest } = base;
    world.source.push({ ...rest, 'fleet/policy.yaml': policyYaml(0) });
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
  });

  it('do not cut a later approval of the same object short', async () => {
    const world = await startedWorld({ ...base, 'fleet/policy.yaml': policyYaml(0) });
    const approve = async (): Promise<void> => {
      const [held] = world.server.api.removals();
      expect(await world.server.api.approve(held?.digest ?? '', 'test')).toMatchObject({ ok: true });
      await world.settle();
    };
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    await approve();
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '1') });
    await world.settle();
    await world.clock.advance(50 * 60_000);
    world.agent('east').disconnect();
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    await approve();
    await world.clock.advance(20 * 60_000);
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
  });

  it('leave nothing in the store when they expire while the server is down', async () => {
    const first = await startedWorld({ ...base, 'fleet/policy.yaml': policyYaml(0) });
    first.agent('east').disconnect();
    first.source.push({ 'apps/a.yaml': null });
    await first.settle();
    const [held] = first.server.api.removals();
    await first.server.api.approve(held?.digest ?? '', 'test');
    await first.settle();
    for (const agent of first.agents.known.values()) agent.abandon();
    const world = await createFleetWorld({
      store: first.store,
      clock: createVirtualClock(first.clock.now() + 2 * 3_600_000),
      agents: first.agents,
    });
    world.source.push({ ...base });
    world.agent('east').connect();
    await world.settle();
    const left: string[] = [];
    for await (const { key } of world.store.list('approvals/')) left.push(key);
    expect(left).toEqual([]);
  });

  it('do not pass on to another cluster that takes the name', async () => {
    const world = await startedWorld({ ...base, 'fleet/policy.yaml': policyYaml(0) });
    const { entries } = world.agent('east').holding();
    world.agent('east').disconnect();
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    const [held] = world.server.api.removals();
    await world.server.api.approve(held?.digest ?? '', 'test');
    await world.settle();
    await world.server.api.replaceCluster('east', 'test');
    const other = world.agent('east', 'other');
    other.restore(entries);
    expect(other.connect().type).toBe('admitted');
    await world.settle();
    expect(other.holding().entries).toHaveLength(3);
  });
});

describe('the window of the guards', () => {
  it('is as long after a restart as the policy says', async () => {
    const policy = guards({ maxRemovalsPerCluster: 2, windowSeconds: 7200 });
    const first = await startedWorld({ ...base, 'fleet/policy.yaml': policy });
    first.source.push({ 'apps/a.yaml': null, 'apps/b.yaml': null });
    await first.settle();
    expect(names(first, 'east')).toEqual(abc.slice(2));
    await first.clock.advance(20 * 60_000);
    const world = await restart(first);
    world.source.push({
      'clusters/east/cluster.yaml': base['clusters/east/cluster.yaml'],
      'clusters/west/cluster.yaml': base['clusters/west/cluster.yaml'],
      'fleet/placement.yaml': placement,
      'fleet/policy.yaml': policy,
      'apps/c.yaml': base['apps/c.yaml'],
    });
    world.agent('east').connect();
    await world.settle();
    world.source.push({ 'apps/c.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(2));
  });

  it('needs no more timers the more is removed', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`clusters/east/m${index}.yaml`, configMapYaml(`m${index}`, '1')]),
    );
    const world = await startedWorld({
      ...base,
      ...files,
      'fleet/policy.yaml': guards({
        maxRemovalsPerCluster: 1000,
        maxRemovalsPerFleet: 1000,
        maxRemovalPercentPerCluster: 100,
        maxRemovalPercentPerFleet: 100,
        windowSeconds: 60,
      }),
    });
    await world.clock.advance(30_000);
    const before = world.clock.waiting();
    for (const path of Object.keys(files)) {
      world.source.push({ [path]: null });
      await world.clock.advance(5_000);
    }
    expect(world.clock.waiting() - before).toBeLessThan(5);
  }, 20_000);

  it('does not count a removal twice that was lost on its way', async () => {
    const world = await startedWorld({ ...base, 'fleet/policy.yaml': policyYaml(2) });
    world.agent('east').pause();
    world.source.push({ 'apps/a.yaml': null, 'apps/b.yaml': null });
    await world.settle();
    world.agent('east').disconnect();
    world.agent('east').release('lost');
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(2));
  });
});

describe('staged and committed', () => {
  it('sends again what was rejected at once', async () => {
    const world = await createFleetWorld();
    world.agent('east').rejectNext();
    world.source.push(base);
    await world.settle();
    world.agent('east').connect();
    await world.settle();
    await world.clock.advance(120_000);
    expect(names(world, 'east')).toEqual(abc);
  });

  it('marks as accepted what was accepted at once', async () => {
    const world = await startedWorld();
    const phases = [...world.server.engine.inputs.ledger.entries('east')].map(({ value }) => value.phase);
    expect(new Set(phases)).toEqual(new Set(['accepted']));
  });
});

describe('a status that tells the truth', () => {
  it('does not call applied what a cluster lost while its agent was away', async () => {
    const world = await startedWorld();
    world.agent('east').disconnect();
    world.agent('east').restore([]);
    world.agent('east').pause();
    world.agent('east').connect();
    await world.settle();
    expect(world.server.api.clusters().find(({ name }) => name === 'east')?.counts.applied).toBe(0);
  });

  it('writes a file for a revision that changes nothing in any cluster', async () => {
    const world = await startedWorld();
    await world.settle();
    await world.clock.advance(60_000);
    world.source.push({ 'apps/a.yaml': `# a comment\n${configMapYaml('a', '1')}` });
    await world.clock.advance(60_000);
    expect([...world.statusFiles.keys()]).toContain('revisions/main/r2.yaml');
  });

  it('writes what is wrong with a revision whose only change is a file that cannot be read', async () => {
    const world = await startedWorld();
    await world.clock.advance(60_000);
    world.source.push({ 'apps/new.yaml': typo });
    await world.clock.advance(60_000);
    expect(world.statusFiles.get('revisions/main/r2.yaml')).toContain('apps/new.yaml');
  });

  it('goes on when lines cannot be found', async () => {
    const world = await startedWorld({ ...base, 'nowhere/n.yaml': configMapYaml('n', '1') });
    await world.clock.advance(60_000);
    world.source.breakReading();
    world.source.push({ 'nowhere/n.yaml': configMapYaml('n', '2'), 'apps/a.yaml': configMapYaml('a', '2') });
    await world.clock.advance(60_000);
    expect([...world.statusFiles.keys()]).toContain('revisions/main/r2.yaml');
  });

  it('says removing, not failed, of an object that could not be applied and is being removed', async () => {
    const world = await createFleetWorld();
    world.source.push(base);
    world.agent('east').failing.add('ConfigMap/web/a');
    world.agent('east').connect();
    await world.settle();
    world.agent('east').pause();
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    const said = world.server.api.outputs('east')?.find(({ object }) => object === 'ConfigMap/web/a');
    expect(said?.state).toBe('removing');
  });

  it('leaves the status branch alone while a server without a memory has read no source', async () => {
    const first = await startedWorld();
    await first.clock.advance(60_000);
    const before = [...first.statusFiles.keys()].sort();
    expect(before).toContain('objects/ConfigMap/web/a.yaml');
    for (const agent of first.agents.known.values()) agent.abandon();
    const world = await createFleetWorld({
      statusFiles: new Map(first.statusFiles),
      clock: createVirtualClock(first.clock.now()),
      agents: first.agents,
    });
    world.source.condition({ state: 'refused', reason: 'EmptyTree', refusedRevision: 'bad' });
    await world.clock.advance(60_000);
    expect([...world.statusFiles.keys()].sort()).toEqual(before);
  });

  it('does not write the status after it was stopped', async () => {
    const world = await startedWorld();
    await world.server.stop();
    const before = world.statusUpdates();
    await world.clock.advance(60_000);
    expect(world.statusUpdates()).toBe(before);
  });
});

describe('a deregistered cluster', () => {
  it('has its session ended', async () => {
    const world = await startedWorld();
    world.source.push({ 'clusters/east/cluster.yaml': null });
    await world.settle();
    expect(world.agent('east').closed).not.toEqual([]);
  });

  it('is taken up where it was when it is registered again', async () => {
    const world = await startedWorld();
    const sent = world.agent('east').deltas.length;
    world.source.push({ 'clusters/east/cluster.yaml': null });
    await world.settle();
    world.source.push({
      'clusters/east/cluster.yaml': base['clusters/east/cluster.yaml'],
      'apps/d.yaml': configMapYaml('d', '1'),
    });
    await world.settle();
    expect(names(world, 'east')).toEqual([...abc, '/ConfigMap/web/d']);
    expect(world.agent('east').deltas).toHaveLength(sent + 1);
  });

  it('does not make the guard of the fleet looser', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`clusters/west/m${index}.yaml`, configMapYaml(`m${index}`, '1')]),
    );
    const few = Object.fromEntries(
      Array.from({ length: 10 }, (_, index) => [`clusters/east/e${index}.yaml`, configMapYaml(`e${index}`, '1')]),
    );
    const world = await startedWorld({
      ...base,
      ...many,
      ...few,
      'fleet/policy.yaml': guards({ maxRemovalPercentPerCluster: 100 }),
    });
    world.source.push({ 'clusters/west/cluster.yaml': null });
    await world.settle();
    world.source.push(Object.fromEntries(Object.keys(few).map((path) => [path, null])));
    await world.settle();
    expect(names(world, 'east')).toHaveLength(13);
  });
});

describe('the percentage of the guard', () => {
  it('counts an object once that is still being removed', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 17 }, (_, index) => [`clusters/east/m${index}.yaml`, configMapYaml(`m${index}`, '1')]),
    );
    // 20 owned; 8 leave and hang; 3 more make 11 of 20: 55 percent.
    const world = await startedWorld({
      ...base,
      ...files,
      'fleet/policy.yaml': guards({
        maxRemovalsPerCluster: 1000,
        maxRemovalPercentPerFleet: 100,
        maxRemovalPercentPerCluster: 50,
      }),
    });
    const paths = Object.keys(files);
    world.agent('east').pause();
    world.source.push(Object.fromEntries(paths.slice(0, 8).map((path) => [path, null])));
    await world.settle();
    world.source.push(Object.fromEntries(paths.slice(8, 11).map((path) => [path, null])));
    await world.settle();
    expect(world.server.api.removals()).toHaveLength(1);
  });
});

describe('the store', () => {
  it('is started from although one of its records is damaged', async () => {
    const first = await startedWorld();
    await first.settle();
    await first.store.write([{ key: 'entries/east//ConfigMap/web/a', value: new TextEncoder().encode('{"dig') }]);
    const world = await restart(first);
    world.source.push(base);
    expect(world.agent('east').connect().type).toBe('admitted');
    await world.settle();
    expect(world.server.engine.inputs.ledger.size('east')).toBe(3);
  });

  it('gets every record, whenever it is queued', async () => {
    const store = createMemoryStore();
    const clock = createVirtualClock();
    for (let ticks = 0; ticks < 8; ticks++) {
      const journal = createJournal({
        store: {
          ...store,
          write: async (writes) => {
            const outcome = await store.write(writes);
            if (writes.some(({ key }) => key === `first/${ticks}`))
              void later(ticks).then(() => journal.put(`second/${ticks}`, 1));
            return outcome;
          },
        },
        clock,
        log: silentLog,
      });
      journal.put(`first/${ticks}`, 1);
      await clock.advance(5_000);
    }
    const keys: string[] = [];
    for await (const { key } of store.list('second/')) keys.push(key);
    expect(keys).toHaveLength(8);
  });

  it('keeps no ledger of a cluster that is gone from the fleet and from its own inventory', async () => {
    const world = await startedWorld();
    world.agent('east').disconnect();
    world.source.push({ 'apps/a.yaml': null, 'apps/b.yaml': null, 'apps/c.yaml': null });
    world.agent('east').restore([]);
    world.agent('east').connect();
    await world.settle();
    expect(world.server.engine.inputs.ledger.size('east')).toBe(0);
    expect(world.server.engine.inputs.results.size('east')).toBe(0);
  });
});

describe('an object of a deregistered cluster', () => {
  it('does not keep the object from being ready where it is wanted', async () => {
    const world = await startedWorld();
    world.source.push({ 'clusters/east/cluster.yaml': null });
    await world.settle();
    await world.clock.advance(60_000);
    expect(world.statusFiles.get('objects/ConfigMap/web/a.yaml')).toMatch(/type: Ready\n +status: .?True/);
  });
});

describe('answers of the API', () => {
  it('do not lag what was done before', async () => {
    const world = await startedWorld();
    world.agent('east').disconnect();
    expect(world.server.api.clusters().find(({ name }) => name === 'east')?.connected).toBe(false);
  });
});

describe('positions', () => {
  it('are above what an agent has seen when an older store comes back', async () => {
    const first = await startedWorld();
    const copy = createMemoryStore();
    for await (const { key, value } of first.store.list('')) await copy.write([{ key, value }]);
    for (const value of ['2', '3', '4']) {
      first.source.push({ 'apps/a.yaml': configMapYaml('a', value) });
      await first.settle();
    }
    const seen = first.agent('east').holding().position;
    for (const agent of first.agents.known.values()) agent.abandon();
    const world = await createFleetWorld({
      store: copy,
      clock: createVirtualClock(first.clock.now()),
      agents: first.agents,
    });
    world.source.push({ ...base, 'apps/a.yaml': configMapYaml('a', '5') });
    world.agent('east').connect();
    await world.settle();
    const now = world.agent('east').holding().position;
    expect([now.epoch, now.sequence]).toEqual([seen.epoch, seen.sequence + 1]);
  });

  it('of one cluster are not moved by the agent of another', async () => {
    const world = await startedWorld();
    const before = world.agent('west').holding().position.epoch;
    world.agent('east').disconnect();
    world.agent('east').seen({ epoch: Number.MAX_SAFE_INTEGER, sequence: 1 });
    world.agent('east').connect();
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    expect(world.agent('west').holding().position.epoch).toBe(before);
  });
});

async function later(ticks: number): Promise<void> {
  for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
}
