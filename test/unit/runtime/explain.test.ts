import { describe, expect, it } from 'vitest';
import type { ExplainRequest, Explanation } from '../../../src/api/server-api.ts';
import type { FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';
import { base, startedWorld, typo } from '../../support/started-world.ts';

const deployment = (group: string): string =>
  `apiVersion: ${group}/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  replicas: 3\n`;

const files = {
  ...base,
  'apps/web.yaml': `# first\n${deployment('apps')}`,
  'fleet/names.yaml': `apiVersion: fleetrelay.dev/v1alpha1
kind: Placement
metadata: {name: names, namespace: fleet}
spec:
  paths: [more/**]
  clusters:
    names: [nowhere, east]
`,
};

/** The lines of an explanation, or the refusal. */
async function ask(world: FleetWorld, question: ExplainRequest): Promise<Explanation | string> {
  const answer = await world.server.api.explain(question);
  return answer.ok ? answer.value : `${answer.kind}: ${answer.message}`;
}

const steps = (answer: Explanation | string): readonly string[] =>
  typeof answer === 'string'
    ? [answer]
    : answer.because.map(({ kind, name, at, note }) => [kind, name, at, note].join(' | '));

describe('explain names an object of a cluster', () => {
  it.each(['deploy/web', 'deployments/shop/web', 'Deployment/web', 'deployment.apps/shop/web', 'Deployment.apps/web'])(
    'by %s',
    async (object) => {
      const world = await startedWorld(files);
      expect(await ask(world, { cluster: 'east', object })).toMatchObject({ object: 'Deployment.apps/shop/web' });
    },
  );

  it('and lists the candidates where several have the name', async () => {
    const world = await startedWorld({ ...files, 'apps/other.yaml': deployment('example.com') });
    for (const cluster of ['east', 'west']) {
      const kind = 'example.com/Deployment';
      world.agent(cluster).discovers({ kinds: [{ kind, state: 'complete', message: '', scope: 'Namespaced' }] });
    }
    await world.settle();
    expect(await ask(world, { cluster: 'east', object: 'Deployment/shop/web' })).toBe(
      'conflict: Deployment/shop/web can be several objects of east: Deployment.apps/shop/web, Deployment.example.com/shop/web',
    );
    expect(await ask(world, { cluster: 'east', object: 'deploy/web' })).toMatchObject({
      object: 'Deployment.apps/shop/web',
    });
  });

  it('with the line of a field, or of the parent of one that is not written', async () => {
    const world = await startedWorld(files);
    const field = async (part: string) => {
      const answer = await ask(world, { cluster: 'east', object: 'deploy/web', part });
      return typeof answer === 'string' ? answer : answer.field;
    };
    expect(await field('spec.replicas')).toEqual({ path: 'spec.replicas', at: 'apps/web.yaml:8:3@r1', found: 'value' });
    expect(await field('spec.template')).toEqual({
      path: 'spec.template',
      at: 'apps/web.yaml:8:3@r1',
      found: 'parent',
    });
    expect(await field('spec..x')).toMatch(/^invalid: "spec\.\.x" is no field/);
  });

  it('with one of its conditions', async () => {
    const world = await startedWorld(files);
    const question = { cluster: 'east', object: 'cm/a' };
    expect(await ask(world, { ...question, part: 'Ready' })).toMatchObject({ condition: { type: 'Ready' } });
    expect(await ask(world, { ...question, part: 'Healthy' })).toBe(
      'notFound: ConfigMap/web/a has no condition Healthy now; it has Ready, Reconciling, Stalled',
    );
  });

  it('and names the cluster that is missing, or says that none is needed', async () => {
    const world = await startedWorld(files);
    expect(await ask(world, { object: 'cm/web/a' })).toBe(
      'invalid: the engine reads no kind cm, so cm/web/a is an object of a cluster: name the cluster, one of east, west',
    );
    expect(await ask(world, { cluster: 'east', object: 'plc/apps' })).toBe(
      'invalid: plc/apps is of a kind that the engine reads, which lies in no cluster: leave the cluster out',
    );
  });
});

describe('explain names a declaration', () => {
  it('with its place, its selected clusters, its problems and its conditions', async () => {
    const world = await startedWorld(files);
    const answer = await ask(world, { object: 'placements/names' });
    expect(answer).toMatchObject({ cluster: null, object: 'Placement/fleet/names', state: 'inForce' });
    expect(steps(answer)).toEqual([
      'manifest | Placement.fleetrelay.dev/fleet/names | fleet/names.yaml:1:1@r1 | declares it',
      'KubernetesCluster | east | clusters/east/cluster.yaml:1:1@r1 | is selected by its name',
      'finding | FR3003 | fleet/names.yaml:7:13@r1 | Placement names names clusters that no KubernetesCluster declares: nowhere',
    ]);
    expect(
      typeof answer !== 'string' && answer.cluster === null ? answer.conditions.map(({ type }) => type) : [],
    ).toEqual(['Accepted', 'ClustersSelected', 'Ready', 'Reconciling', 'Stalled']);
  });

  it('with the losers of a conflict', async () => {
    const world = await startedWorld({ ...files, 'fleet/two.yaml': placementYaml('apps', 'apps/**') });
    expect(steps(await ask(world, { object: 'Placement/apps' })).slice(0, 2)).toEqual([
      'manifest | Placement.fleetrelay.dev/apps | fleet/placement.yaml:1:1@r1 | declares it',
      'manifest | Placement.fleetrelay.dev/apps | fleet/two.yaml:1:1@r1 | declares it too, and does not count',
    ]);
  });

  it('as last known good, with the error of its file', async () => {
    const world = await startedWorld(files);
    world.source.push({ 'fleet/names.yaml': typo });
    await world.settle();
    const answer = await ask(world, { object: 'Placement/names', part: 'Accepted' });
    expect(answer).toMatchObject({ state: 'lastKnownGood', condition: { type: 'Accepted', status: 'False' } });
    expect(steps(answer)).toEqual([
      'manifest |  | fleet/names.yaml (main) | declared it when it was last accepted',
      expect.stringMatching(/^finding \| FR1010 \| fleet\/names\.yaml:\d+:\d+@r2 \| /),
      'finding | FR3005 | fleet/names.yaml@r2 | Placement names cannot be read and holds as last known good',
    ]);
    expect(steps(await ask(world, { object: 'Placement/names', part: 'ClustersSelected' })).slice(1)).toEqual([
      'KubernetesCluster | east | clusters/east/cluster.yaml:1:1@r2 | is selected by its name',
      'finding | FR3003 | fleet/names.yaml@r2 | Placement names names clusters that no KubernetesCluster declares: nowhere',
    ]);
    const field = await ask(world, { object: 'Placement/names', part: 'spec.paths' });
    expect(field).toMatchObject({ field: { found: 'file', at: 'fleet/names.yaml@r2' } });
  });

  it('with one condition, and the objects that it is about', async () => {
    const world = await startedWorld({ ...files, 'clusters/far/cluster.yaml': clusterYaml('far', { env: 'prod' }) });
    // Not by the Placement, and not applied either.
    world.source.push({ 'clusters/far/own.yaml': configMapYaml('own', '1') });
    await world.settle();
    expect(steps(await ask(world, { object: 'kcl/far', part: 'Ready' }))).toContain(
      'object | ConfigMap/web/own | cluster far | unreachable: the agent is not connected',
    );
    const ready = await ask(world, { object: 'Placement/apps', part: 'Ready' });
    expect(ready).toMatchObject({ condition: { type: 'Ready', status: 'False' } });
    expect(steps(ready).slice(1)).toEqual(
      expect.arrayContaining(['object | ConfigMap/web/a | cluster far | unreachable: the agent is not connected']),
    );
    expect(steps(ready).every((step) => !step.includes('cluster east') && !step.includes('ConfigMap/web/own'))).toBe(
      true,
    );
    const inSync = await ask(world, { object: 'kcl/east', part: 'InSync' });
    expect(inSync).toMatchObject({ condition: { type: 'InSync' } });
    expect(await ask(world, { object: 'kcl/east', part: 'Nope' })).toMatch(
      /^notFound: KubernetesCluster\/gloo-mesh\/east has no condition Nope now; it has Accepted, /,
    );
  });

  it('with the line of a field', async () => {
    const world = await startedWorld(files);
    expect(await ask(world, { object: 'plc/fleet/names', part: 'spec.clusters.names[1]' })).toMatchObject({
      field: { path: 'spec.clusters.names[1]', at: 'fleet/names.yaml:7:22@r1', found: 'value' },
    });
  });

  it('and names those that there are where none has the name', async () => {
    const world = await startedWorld(files);
    expect(await ask(world, { object: 'Placement/nmes' })).toMatch(/^notFound: no source declares Placement\/nmes; /);
    expect(await ask(world, { object: 'RemovalApproval/a' })).toBe('notFound: no source declares RemovalApproval/a');
    expect(await ask(world, { object: 'Placement' })).toMatch(/^invalid: "Placement" names no object/);
  });

  it('of one kind in several namespaces lists the candidates', async () => {
    const dataplane = (namespace: string): string =>
      `apiVersion: kuma.io/v1alpha1\nkind: Dataplane\nmesh: m\nmetadata: {name: web, namespace: ${namespace}}\nspec: {networking: {address: 10.0.0.1}}\n`;
    const world = await startedWorld({ ...files, 'mesh/a.yaml': dataplane('a'), 'mesh/b.yaml': dataplane('b') });
    expect(await ask(world, { object: 'dp/web' })).toBe(
      'conflict: dp/web can be several declarations: Dataplane/a/web, Dataplane/b/web',
    );
    expect(await ask(world, { object: 'dp/b/web' })).toMatchObject({ object: 'Dataplane/b/web' });
  });
});
