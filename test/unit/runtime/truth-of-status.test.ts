import { describe, expect, it } from 'vitest';
import { createFleetWorld } from '../../support/fleet-world.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { abc, base, guards, names, startedWorld, typo } from '../../support/started-world.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

function dataplaneYaml(name: string): string {
  const inbound = '{ port: 80, tags: { kuma.io/service: web } }';
  return `type: Dataplane\nmesh: default\nname: ${name}\nnetworking: { address: 10.0.0.4, inbound: [${inbound}] }\n`;
}

describe('a status that tells the truth', () => {
  it('does not report as applied an object that a cluster lost while its agent was away', async () => {
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

  it('writes the problem of a revision whose only change is an unreadable file', async () => {
    const world = await startedWorld();
    await world.clock.advance(60_000);
    world.source.push({ 'apps/new.yaml': typo });
    await world.clock.advance(60_000);
    expect(world.statusFiles.get('revisions/main/r2.yaml')).toContain('apps/new.yaml');
  });

  it('continues when lines cannot be found', async () => {
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

  it('keeps the files of services after the loss of the store until every cluster has sent a snapshot', async () => {
    const first = await startedWorld({ ...base, 'vm.yaml': dataplaneYaml('vm') });
    await first.clock.advance(60_000);
    expect(first.statusFiles.get('services/default/web.yaml')).toContain('status: offline');
    const clusters = [...first.agents.known.keys()].map((known) => known.split('/')[0] ?? '');
    for (const agent of first.agents.known.values()) agent.abandon();
    const world = await createFleetWorld({
      statusFiles: new Map([...first.statusFiles, ['services/default/live.yaml', 'name: live\n']]),
      clock: createVirtualClock(first.clock.now()),
      agents: first.agents,
    });
    world.source.push(base);
    await world.clock.advance(60_000);
    const services = (): readonly string[] =>
      [...world.statusFiles.keys()].filter((path) => path.startsWith('services/'));
    expect(services()).toEqual(['services/default/web.yaml', 'services/default/live.yaml']);
    for (const name of clusters) {
      world.agent(name).connect();
      world.agent(name).discovers({});
    }
    await world.clock.advance(60_000);
    world.source.push({ 'apps/e.yaml': configMapYaml('e', '1') });
    await world.clock.advance(60_000);
    expect(services()).toEqual([]);
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
    expect(world.agent('east').connect().type).toBe('admitted');
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
  it('do not lag behind earlier commands', async () => {
    const world = await startedWorld();
    world.agent('east').disconnect();
    expect(world.server.api.clusters().find(({ name }) => name === 'east')?.connected).toBe(false);
  });
});

describe('the status of a source', () => {
  it('tells of a refused revision and of files that cannot be read', async () => {
    const world = await startedWorld();
    world.source.push({ 'apps/broken.yaml': typo });
    world.source.condition({
      state: 'refused',
      reason: 'RewrittenHistory',
      message: 'accept it',
      refusedRevision: 'r9',
    });
    await world.clock.advance(60_000);
    const said = world.statusFiles.get('sources/main.yaml');
    expect(said).toContain('refusedRevision: r9');
    expect(said).toMatch(/type: Synced\n +status: .?False.?\n +reason: RewrittenHistory/);
    expect(said).toMatch(/type: Whole\n +status: .?False/);
  });
});

describe('the reason why a cluster is not in sync', () => {
  it('shows why its agent does not take a delta, until it does', async () => {
    const world = await startedWorld();
    world.agent('east').rejectNext();
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.clock.advance(100);
    const message = (): string | undefined => world.server.api.clusters().find(({ name }) => name === 'east')?.message;
    expect(message()).toMatch(/^[A-Z][A-Za-z]+: /);
    const said = world.server.api.clusters().find(({ name }) => name === 'east')?.conditions;
    expect(said?.find(({ type }) => type === 'InSync')).toMatchObject({ status: 'False', reason: 'Blocked' });
    await world.clock.advance(120_000);
    expect(message()).toBe('3 of 3 applied');
  });

  it('shows the agent that was refused its name', async () => {
    const world = await startedWorld();
    world.agent('east').disconnect();
    world.agent('east', 'other').connect();
    const view = world.server.api.clusters().find(({ name }) => name === 'east');
    expect(view?.message).toContain('belongs to cluster id id-east, not other');
    world.agent('east').connect();
    await world.settle();
    expect(world.server.api.clusters().find(({ name }) => name === 'east')?.message).toBe('3 of 3 applied');
  });
});
