import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/model/text/json.ts';
import { clusterResource, conditionsIn, placementResource } from '../support/fake-custom-resources.ts';
import { type Fleet, startFleet, until } from '../support/fleet-processes.ts';
import { createApiRequests } from '../support/kubernetes/api-request.ts';
import { type ControlPlane, startControlPlane } from '../support/kubernetes/control-plane.ts';
import { untilListed } from '../support/kubernetes/definitions.ts';
import { configMapYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';

const files = {
  'apps/a.yaml': configMapYaml('a', 'one'),
  'apps/b.yaml': configMapYaml('b', 'one'),
  'info/c.yaml': configMapYaml('c', 'one'),
};
const CRDS = ['-f', 'deploy/crds'];

describe.skipIf(noProgram('kube-apiserver'))('a fleet with a repository and custom resources', () => {
  let plane: ControlPlane;
  let fleet: Fleet;

  const apply = (...objects: readonly JsonObject[]): Promise<string> =>
    plane.kubectl(['apply', '-f', '-'], { input: objects.map((object) => JSON.stringify(object)).join('\n---\n') });
  const install = async (): Promise<void> => {
    await plane.kubectl(['apply', '--server-side', '--force-conflicts', ...CRDS]);
    await plane.kubectl(['wait', '--for=condition=Established', '--timeout=120s', ...CRDS]);
  };
  const placed = (name: string): Promise<boolean> =>
    until(`east holds ${name}`, async () => (await fleet.live('east', `ConfigMap/web/${name}`)) !== undefined);
  const gone = (name: string): Promise<boolean> =>
    until(`east lacks ${name}`, async () => (await fleet.live('east', `ConfigMap/web/${name}`)) === undefined);
  const statusOf = async (resource: string, name: string): Promise<JsonObject> =>
    (await plane.get<{ status?: JsonObject }>(resource, '-n', 'fleet', name)).status ?? {};
  const source = async () => (await fleet.status()).sources.find(({ name }) => name === 'custom-resources');

  beforeAll(async () => {
    plane = await startControlPlane();
    await plane.kubectl(['create', 'namespace', 'fleet']);
    await install();
    const where = ['--kubeconfig', plane.kubeconfig(), '-n', 'fleet'];
    fleet = await startFleet(files, { serve: ['--custom-resources', ...where] });
  });
  afterAll(async () => {
    await fleet?.stop();
    await plane?.stop();
  });

  it('takes a cluster and Placements from kubectl, and the manifests from git', async () => {
    await apply(
      clusterResource('east', { env: 'prod' }),
      placementResource('apps', ['apps/**'], { selector: { matchLabels: { env: 'prod' } } }),
      placementResource('info', ['info/**'], { names: ['east'] }),
    );
    await until('the cluster is registered', async () =>
      (await fleet.status()).clusters.some(({ name }) => name === 'east'),
    );
    await fleet.agent('east').start();
    for (const name of ['a', 'b', 'c']) await placed(name);
    expect(await fleet.cli('source', 'list')).toMatch(/custom-resources/);
  });

  it('shows in kubectl how far it got', async () => {
    await until('the status of the Placement', async () => {
      const status = await statusOf('placement', 'apps');
      const { Ready: ready } = conditionsIn(status);
      // A Placement that selects no cluster yet is ready, too.
      return ready?.status === 'True' && status?.selectedClusters === 1 ? ready : undefined;
    });
    expect(await statusOf('placement', 'apps')).toMatchObject({
      observedGeneration: 1,
      selectedClusters: 1,
      counts: { targeted: 2, applied: 2 },
    });
    expect(await plane.kubectl(['get', 'placements', '-n', 'fleet'])).toMatch(
      /apps +\["apps\/\*\*"\] +1 +2 +2 +True +\d/,
    );
    await until('the status of the cluster', async () =>
      /east +True +True +3 +3 +True +\d/.test(await plane.kubectl(['get', 'kubernetesclusters', '-n', 'fleet'])),
    );
    const described = await until('events', async () => {
      const text = await plane.kubectl(['describe', 'kubernetescluster', '-n', 'fleet', 'east']);
      return text.includes('AgentConnected') ? text : undefined;
    });
    expect(described).toMatch(/Normal +Admitted/);
    const conditions = conditionsIn(await statusOf('kubernetescluster', 'east'));
    expect(conditions.Connected).toMatchObject({ status: 'True', observedGeneration: 1 });
    // kstatus of kubectl itself understands it.
    await plane.kubectl(['wait', '--for=condition=Ready', '--timeout=120s', '-n', 'fleet', 'placement/apps']);
  });

  it('explains with the custom resource what is placed through it', async () => {
    const text = await fleet.cli('explain', 'east', 'ConfigMap/web/a');
    expect(text).toContain('apps/a.yaml');
    expect(text).toContain('Placement');
  });

  it('follows an edit, and says of a bad one what is wrong', async () => {
    await apply(placementResource('info', ['info/**', 'more/**'], { names: ['east'] }));
    await until('the second generation', async () => (await statusOf('placement', 'info')).observedGeneration === 2);
    // Past the rules of the API server, and not past ours.
    await apply(placementResource('info', ['info/{a'], { names: ['east'] }));
    const accepted = await until('it is refused', async () => {
      const condition = conditionsIn(await statusOf('placement', 'info')).Accepted;
      return condition?.status === 'False' ? condition : undefined;
    });
    expect(accepted).toMatchObject({ reason: 'Invalid', observedGeneration: 3 });
    expect(accepted.message).toContain('a bracket that is not closed');
    await placed('c');
    await apply(placementResource('info', ['info/**'], { names: ['east'] }));
    await until(
      'it is mended',
      async () => conditionsIn(await statusOf('placement', 'info')).Accepted?.status === 'True',
    );
  });

  it('removes what a deleted Placement placed', async () => {
    await plane.kubectl(['delete', 'placement', '-n', 'fleet', 'info']);
    await gone('c');
    await placed('a');
  });

  it('removes nothing when the definitions are deleted, through a restart, and until a person agrees', async () => {
    const api = createApiRequests(plane);
    await untilListed(api);
    api.close();
    await plane.kubectl(['delete', ...CRDS, '--timeout=60s']);
    const failing = await until('the source fails', async () => {
      const state = await source();
      return state?.state === 'failing' && state.message.includes('install the CustomResourceDefinitions')
        ? state
        : undefined;
    });
    expect(failing.message).toContain('kubectl apply --server-side -f deploy/crds');
    await fleet.server.kill('SIGKILL');
    await fleet.server.start();
    await until('the agent is back', async () =>
      (await fleet.status()).clusters.some(({ name, connected }) => name === 'east' && connected),
    );
    expect((await source())?.state).toBe('failing');
    await placed('a');
    await install();
    const refused = await until('it waits for a person', async () => {
      const state = await source();
      return state?.state === 'refused' && state.message.includes('all custom resources are gone') ? state : undefined;
    });
    await placed('a');
    await fleet.cli('source', 'accept', 'custom-resources', refused.refusedRevision ?? '');
    // No cluster is registered any more: the objects in the cluster stay.
    await until('it is accepted', async () => (await fleet.status()).clusters.length === 0);
    await placed('a');
  });
});
