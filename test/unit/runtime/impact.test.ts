import { describe, expect, it } from 'vitest';
import type { ImpactRequest } from '../../../src/api/why-api.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { configMapYaml, placementYaml, policyYaml } from '../../support/manifests.ts';
import { base, startedWorld, typo } from '../../support/started-world.ts';

/** The documents with what they reach, then the counts of the clusters, then the objects; or the refusal. */
async function impact(
  { server }: FleetWorld,
  path: string,
  more: Partial<ImpactRequest> = {},
): Promise<readonly string[]> {
  const answer = await server.api.impact({ path, limit: 100, ...more });
  if (!answer.ok) return [`${answer.kind}: ${answer.message}`];
  const { documents, clusters, objects, total } = answer.value;
  return [
    ...documents.map(({ name, at, message }) => `${name} ${at}: ${message}`),
    clusters.map(({ cluster, objects: number }) => `${cluster} ${number}`).join(', '),
    `${total}: ${objects.map(({ cluster, object, state }) => `${cluster} ${object} ${state}`).join(', ')}`,
  ];
}

describe('what a file reaches:', () => {
  it('the objects of its documents, or of the one at a line', async () => {
    const world = await startedWorld({
      ...base,
      'apps/a.yaml': `${configMapYaml('a', '1')}---\n${configMapYaml('a2', '1')}`,
    });
    expect(await impact(world, 'apps/a.yaml')).toEqual([
      'ConfigMap/web/a apps/a.yaml:1:1@r1: it is placed in 2 clusters',
      'ConfigMap/web/a2 apps/a.yaml:9:1@r1: it is placed in 2 clusters',
      'east 2, west 2',
      '4: east ConfigMap/web/a applied, east ConfigMap/web/a2 applied, west ConfigMap/web/a applied, west ConfigMap/web/a2 applied',
    ]);
    expect(await impact(world, 'apps/a.yaml', { line: 12, limit: 1 })).toEqual([
      'ConfigMap/web/a2 apps/a.yaml:9:1@r1: it is placed in 2 clusters',
      'east 1, west 1',
      '2: east ConfigMap/web/a2 applied',
    ]);
    expect((await impact(world, 'apps/a.yaml', { line: 15 }))[0]).toMatch(/^ConfigMap\/web\/a2 /);
    expect(await impact(world, 'apps/a.yaml', { line: 16 })).toEqual([
      'notFound: apps/a.yaml has no line 16: it has 15 lines',
    ]);
  });

  it('the objects that came from a file which a kustomization claims', async () => {
    const world = await startedWorld();
    world.source.claim(['apps/a.yaml'], 'apps/kustomization.yaml', false);
    world.source.push({ 'apps/kustomization.yaml': 'resources: [a.yaml]\n' });
    await world.settle();
    expect(await impact(world, 'apps/a.yaml')).toEqual([
      expect.stringMatching(
        /nothing is read of it: apps\/kustomization\.yaml claims .*; what came from it stays as it is: 2 objects$/,
      ),
      'east 1, west 1',
      '2: east ConfigMap/web/a kept, west ConfigMap/web/a kept',
    ]);
  });

  it('what a Placement, a KubernetesCluster and a FleetPolicy select', async () => {
    const world = await startedWorld({
      ...base,
      'fleet/policy.yaml': policyYaml(5),
      'fleet/west.yaml': placementYaml('west', 'apps/{a,b}.yaml', 'names: [west]'),
      'fleet/none.yaml': placementYaml('none', 'apps/**', 'selector: {matchLabels: {no: label}}'),
    });
    expect((await impact(world, 'fleet/west.yaml')).slice(0, 2)).toEqual([
      'Placement/west fleet/west.yaml:1:1@r1: it selects 1 cluster and places 2 objects there',
      'west 2',
    ]);
    expect((await impact(world, 'fleet/none.yaml'))[0]).toContain('it reaches nothing: it selects no cluster');
    expect((await impact(world, 'clusters/east/cluster.yaml')).slice(0, 2)).toEqual([
      'KubernetesCluster/gloo-mesh/east clusters/east/cluster.yaml:1:1@r1: it declares the cluster, which is to have 3 objects',
      'east 3',
    ]);
    expect((await impact(world, 'fleet/policy.yaml')).slice(0, 2)).toEqual([
      'FleetPolicy/fleet fleet/policy.yaml:1:1@r1: it sets guards, safe mode, discovery and status of the fleet: all 2 clusters',
      'east 0, west 0',
    ]);
  });

  it('nothing, and why', async () => {
    const world = await startedWorld({
      ...base,
      'other/x.yaml': configMapYaml('x', '1'),
      'clusters/gone/x.yaml': configMapYaml('x', '1'),
      'fleet/twice.yaml': placementYaml('apps', 'apps/**'),
    });
    expect((await impact(world, 'other/x.yaml'))[0]).toContain(
      'it reaches nothing: no Placement selects its file, and it does not lie under clusters/NAME',
    );
    expect((await impact(world, 'clusters/gone/x.yaml'))[0]).toContain('no KubernetesCluster gone is declared');
    expect((await impact(world, 'fleet/twice.yaml'))[0]).toContain('it is not in force');
  });

  it('a file that cannot be read keeps what came from it', async () => {
    const world = await startedWorld();
    world.source.push({ 'apps/a.yaml': typo });
    await world.settle();
    expect(await impact(world, 'apps/a.yaml')).toEqual([
      ' apps/a.yaml@r2: the file cannot be read now; what came from it stays as it is: 2 objects',
      'east 1, west 1',
      '2: east ConfigMap/web/a kept, west ConfigMap/web/a kept',
    ]);
  });

  it('a path that no source has', async () => {
    const world = await createFleetWorld({ sources: ['main', 'team'] });
    world.source.push(base);
    world.sourceNamed('team').push({ 'apps/a.yaml': configMapYaml('t', '1') });
    await world.settle();
    expect(await impact(world, 'app/b.yaml')).toEqual([
      'notFound: no source has a manifest "app/b.yaml"; did you mean apps/b.yaml?',
    ]);
    expect(await impact(world, 'README.md')).toEqual([
      'notFound: "README.md" is no manifest: servers read files whose names end with .yaml, .yml or .json',
    ]);
    expect(await impact(world, 'apps/a.yaml')).toEqual([
      'conflict: several sources have apps/a.yaml: name one, as in main:apps/a.yaml',
    ]);
    expect(await impact(world, 'apps/a.yaml', { source: 'nowhere' })).toEqual([
      'notFound: there is no source "nowhere"; there are main, team',
    ]);
    expect((await impact(world, 'apps/a.yaml', { source: 'team' }))[0]).toContain(
      'ConfigMap/web/t team:apps/a.yaml:1:1@r1',
    );
  });
});
