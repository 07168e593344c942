import { describe, expect, it } from 'vitest';
import { createFleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml, policyYaml } from '../../support/manifests.ts';
import { abc, base, names, restart, startedWorld, typo } from '../../support/started-world.ts';

describe('absence is not deletion', () => {
  it('sends a first snapshot, and nothing when nothing changes', async () => {
    const world = await startedWorld();
    expect(names(world, 'east')).toEqual(abc);
    expect(names(world, 'west')).toEqual(abc);
    world.source.push({ 'apps/a.yaml': `# a comment\n${configMapYaml('a', '1')}` });
    await world.settle();
    expect(world.agent('east').deltas).toHaveLength(1);
  });

  it('removes the objects that a complete revision no longer declares', async () => {
    const world = await startedWorld();
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
    expect(world.server.engine.inputs.ledger.size()).toBe(4);
  });

  it('keeps everything that a partial revision no longer declares, and lets the rest of it in', async () => {
    const world = await startedWorld();
    world.source.push({ 'apps/a.yaml': null, 'apps/b.yaml': typo, 'apps/c.yaml': configMapYaml('c', '2') });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    expect(
      world
        .agent('east')
        .deltas.at(-1)
        ?.upserts.map(({ key }) => key),
    ).toEqual(['/ConfigMap/web/c']);
    expect(world.agent('east').deltas.at(-1)?.removals).toEqual([]);
    world.source.push({ 'apps/b.yaml': configMapYaml('b', '1') });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
  });

  it('keeps an object that is renamed into a file with a typo', async () => {
    const world = await startedWorld();
    world.source.push({ 'apps/a.yaml': null, 'apps/renamed.yaml': typo });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    world.source.push({ 'apps/renamed.yaml': configMapYaml('a', '1') });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    const last = world.agent('east').deltas.at(-1);
    expect(last?.touches.map(({ key, origins }) => [key, origins[0]?.path])).toEqual([
      ['/ConfigMap/web/a', 'apps/renamed.yaml'],
    ]);
    expect(last?.upserts).toEqual([]);
  });

  it('keeps what came from a folder that becomes a Helm chart, declarations too', async () => {
    const world = await startedWorld();
    const chart = 'apiVersion: v2\nname: a\nversion: 1.0.0\n';
    // The reader of trees gives the files of the folder of a chart as files that are not read.
    const claimed = ['apps/a.yaml', 'apps/b.yaml', 'fleet/placement.yaml'];
    world.source.claim(claimed, 'apps/Chart.yaml', true);
    world.source.push({ 'apps/Chart.yaml': chart });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    world.source.push({ 'apps/c.yaml': configMapYaml('c', '2') });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    expect(
      world
        .agent('east')
        .deltas.at(-1)
        ?.upserts.map(({ key }) => key),
    ).toEqual(['/ConfigMap/web/c']);
    world.source.push({ 'apps/Chart.yaml': null, ...Object.fromEntries(claimed.map((path) => [path, null])) });
    await world.settle();
    expect(names(world, 'east')).toEqual([]);
  });

  it.each([true, false])(
    'names the kustomization that claims a placed manifest (wanted in its source: %s)',
    async (isWanted) => {
      const world = await startedWorld();
      world.source.claim(['apps/a.yaml'], 'apps/kustomization.yaml', isWanted);
      world.source.push({ 'apps/kustomization.yaml': 'resources: [a.yaml]\n' });
      await world.settle();
      expect(names(world, 'east')).toEqual(abc);
      const kept = world.server.engine.outputs.get('east', '/ConfigMap/web/a');
      expect(kept).toMatchObject({
        type: 'keep',
        message: expect.stringContaining('apps/kustomization.yaml claims the file'),
      });
    },
  );

  it('keeps what may have moved into a file that another tool reads now, also after a restart', async () => {
    const files = { ...base, 'apps/a.yaml': 'replicas: 1\n' };
    const world = await startedWorld();
    world.source.push({ 'apps/a.yaml': 'replicas: 1\n', 'apps/b.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    const again = await restart(world);
    const { 'apps/b.yaml': _b, ...left } = files;
    again.source.push(left);
    again.agent('east').connect();
    await again.settle();
    expect(names(again, 'east')).toEqual(abc);
    expect(again.server.engine.outputs.get('east', '/ConfigMap/web/b')).toMatchObject({ reason: 'SourcePartial' });
    expect(again.server.api.sources()).toMatchObject([
      { partial: true, message: expect.stringContaining('objects came from apps/a.yaml, which is not read any more') },
    ]);
    // The source is read completely again.
    again.source.push({ 'apps/a.yaml': null });
    await again.settle();
    expect(names(again, 'east')).toEqual(abc.slice(2));
  });

  it('keeps an object that a claimed file declares, too, when the file that counted is removed', async () => {
    const world = await startedWorld({ ...base, 'apps/z.yaml': configMapYaml('a', 'of z') });
    world.source.claim(['apps/z.yaml'], 'apps/kustomization.yaml', false);
    world.source.push({ 'apps/kustomization.yaml': 'resources: [z.yaml]\n' });
    await world.settle();
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    world.source.push({ 'apps/z.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
  });

  it('removes what a source gives up beside files of other tools that never declared anything', async () => {
    const world = await startedWorld({ ...base, 'skaffold.yaml': 'apiVersion: skaffold/v4beta6\nkind: Config\n' });
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
  });

  it('uses a broken Placement as last known good', async () => {
    const world = await startedWorld();
    world.source.push({
      'fleet/placement.yaml':
        'apiVersion: fleetrelay.dev/v1alpha1\nkind: Placement\nmetadata: {name: apps}\nspec: {path: [x]}\n',
    });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    world.source.push({ 'apps/a.yaml': null, 'apps/b.yaml': configMapYaml('b', '2') });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    expect(
      world
        .agent('east')
        .deltas.at(-1)
        ?.upserts.map(({ key }) => key),
    ).toEqual(['/ConfigMap/web/b']);
    expect(world.server.api.status().summary).toContain('held');
  });

  it('keeps a cluster whose KubernetesCluster is broken, as last known good', async () => {
    const world = await startedWorld();
    world.source.push({ 'clusters/east/cluster.yaml': typo, 'apps/c.yaml': configMapYaml('c', '2') });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    expect(
      world
        .agent('east')
        .deltas.at(-1)
        ?.upserts.map(({ key }) => key),
    ).toEqual(['/ConfigMap/web/c']);
    world.agent('east').disconnect();
    expect(world.agent('east').connect().type).toBe('admitted');
  });

  it('leaves the objects of a deregistered cluster alone and refuses its agent', async () => {
    const world = await startedWorld();
    world.source.push({ 'clusters/east/cluster.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    world.agent('east').disconnect();
    expect(world.agent('east').connect()).toMatchObject({ type: 'refused', reason: 'UnknownCluster' });
    expect(names(world, 'west')).toEqual(abc);
  });

  it('removes nothing when a removal in flight is lost and the file is restored with a typo', async () => {
    const world = await startedWorld();
    world.agent('east').pause();
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    expect(world.agent('east').deltas.at(-1)?.removals).toEqual(['/ConfigMap/web/a']);
    world.agent('east').disconnect();
    world.agent('east').release('lost');
    world.source.push({ 'apps/a.yaml': typo });
    await world.settle();
    const sent = world.agent('east').deltas.length;
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    expect(world.agent('east').deltas).toHaveLength(sent);
  });

  it('sends nothing before every source has spoken', async () => {
    const world = await createFleetWorld();
    expect(world.agent('east').connect()).toMatchObject({ type: 'retry', reason: 'ServerStarting' });
    world.source.condition({ state: 'failing', reason: 'Unreachable', message: 'no answer' });
    expect(world.agent('east').connect()).toMatchObject({ type: 'retry', reason: 'ClusterNotReadable' });
  });

  it('has its state after a restart and sends nothing', async () => {
    const first = await startedWorld();
    await first.server.stop();
    const second = await createFleetWorld({ store: first.store, clock: first.clock });
    const agent = first.agent('east');
    const before = agent.deltas.length;
    second.source.push({
      'clusters/east/cluster.yaml': clusterYaml('east', { env: 'prod' }),
      'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
      'apps/a.yaml': configMapYaml('a', '1'),
      'apps/b.yaml': configMapYaml('b', '1'),
      'apps/c.yaml': configMapYaml('c', '1'),
    });
    await second.settle();
    expect(second.server.engine.pending.size('east')).toBe(0);
    expect(agent.deltas).toHaveLength(before);
  });
});

describe('the removal guard', () => {
  it('holds too many removals until they are approved, and releases each once', async () => {
    const world = await startedWorld();
    world.source.push({ 'fleet/policy.yaml': policyYaml(2) });
    await world.settle();
    world.source.push({ 'apps/a.yaml': null, 'apps/b.yaml': null, 'apps/c.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    const [held] = world.server.api.removals();
    expect(held?.removals).toHaveLength(6);
    const waiting = world.server.figures();
    expect([...waiting.heldByGuard]).toEqual([['TooManyRemovals', 6]]);
    expect(waiting.approvals).toEqual({ granted: 0, used: 0 });
    expect(await world.server.api.approve('0'.repeat(64), 'test')).toMatchObject({ ok: false, kind: 'conflict' });
    expect(await world.server.api.approve(held?.digest ?? '', 'test')).toMatchObject({
      ok: true,
      value: { released: 6 },
    });
    await world.settle();
    expect(names(world, 'east')).toEqual([]);
    expect(world.server.engine.inputs.approvals.size()).toBe(0);
    expect(world.server.engine.inputs.heldRemovals.size()).toBe(0);
    const after = world.server.figures();
    expect([after.heldByGuard.size, after.approvals]).toEqual([0, { granted: 6, used: 6 }]);
    expect(after).toMatchObject({ leads: true, alive: 1, problem: '', refilled: 0 });
    expect(after.admitted.sequence).toBe(waiting.admitted.sequence);
    world.source.push({
      'apps/a.yaml': configMapYaml('a', '1'),
      'apps/b.yaml': configMapYaml('b', '1'),
      'apps/c.yaml': configMapYaml('c', '1'),
    });
    await world.settle();
    world.source.push({ 'apps/a.yaml': null, 'apps/b.yaml': null, 'apps/c.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
  });

  it('judges a push that loosens the guard and removes under the old guard, also after the next commit', async () => {
    const world = await startedWorld();
    world.source.push({ 'fleet/policy.yaml': policyYaml(2) });
    await world.settle();
    world.source.push({
      'fleet/policy.yaml': policyYaml(100),
      'apps/a.yaml': null,
      'apps/b.yaml': null,
      'apps/c.yaml': null,
    });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    world.source.push({ 'apps/d.yaml': configMapYaml('d', '1') });
    await world.settle();
    expect(names(world, 'east')).toEqual([...abc, '/ConfigMap/web/d']);
  });

  it('forgets a held removal that was undone', async () => {
    const world = await startedWorld();
    world.source.push({ 'fleet/policy.yaml': policyYaml(0) });
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    expect(world.server.api.removals()).toHaveLength(1);
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '1') });
    await world.settle();
    expect(world.server.api.removals()).toHaveLength(0);
    expect(names(world, 'east')).toEqual(abc);
  });

  it('adds up small steps within its window', async () => {
    const world = await startedWorld();
    world.source.push({ 'fleet/policy.yaml': policyYaml(2) });
    for (const name of ['a', 'b', 'c']) {
      world.source.push({ [`apps/${name}.yaml`]: null });
      await world.settle();
    }
    expect(names(world, 'east')).toEqual(['/ConfigMap/web/c']);
    await world.clock.advance(601_000);
    expect(world.server.api.removals()).toHaveLength(1);
  });
});

describe('conflicts', () => {
  it('keeps the incumbent of two declarations and reports the places of both', async () => {
    const world = await startedWorld();
    world.source.push({ 'apps/0-first.yaml': `---\n${configMapYaml('a', '2')}` });
    await world.settle();
    expect(world.agent('east').deltas).toHaveLength(1);
    const said = world.server.api.diagnostics().find(({ reason }) => reason === 'DeclaredTwice');
    expect(said?.message).toContain('apps/a.yaml:4:9 and apps/0-first.yaml:5:9');
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    expect(
      world
        .agent('east')
        .deltas.at(-1)
        ?.upserts.map(({ origins }) => origins[0]?.path),
    ).toEqual(['apps/0-first.yaml']);
  });

  it('does not hand over to the other declaration while the incumbent cannot be read', async () => {
    const world = await startedWorld();
    world.source.push({ 'apps/other.yaml': configMapYaml('a', '2') });
    await world.settle();
    world.source.push({ 'apps/a.yaml': typo });
    await world.settle();
    expect(world.agent('east').deltas).toHaveLength(1);
  });
});

describe('names are bound', () => {
  it('refuses another cluster id until the name is released, and the old one after that', async () => {
    const world = await startedWorld();
    world.agent('east').disconnect();
    expect(world.agent('east', 'other').connect()).toMatchObject({ type: 'refused', reason: 'ClusterIdBound' });
    await world.server.api.replaceCluster('east', 'test');
    expect(world.agent('east').connect()).toMatchObject({ type: 'refused', reason: 'ClusterReplaced' });
    expect(world.agent('east', 'other').connect().type).toBe('admitted');
    await world.settle();
    expect(world.agent('east', 'other').holding().entries).toHaveLength(3);
    expect(world.agent('east').connect()).toMatchObject({ type: 'refused', reason: 'ClusterIdBound' });
  });

  it('refuses the second of two live agents', async () => {
    const world = await startedWorld();
    expect(world.agent('east').connect()).toMatchObject({ type: 'refused', reason: 'SecondAgent' });
  });
});
