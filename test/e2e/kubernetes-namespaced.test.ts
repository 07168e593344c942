import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/fleet-processes.ts';
import { AGENT_NAMESPACE, type KubernetesPool, openKubernetesPool } from '../support/kubernetes/clusters.ts';
import { type KubernetesFleet, startKubernetesFleet } from '../support/kubernetes/fleet.ts';
import { clusterYaml, configMapYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';

const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'clusters/east/a.yaml': configMapYaml('a', 'one'),
  'clusters/east/secret.yaml':
    'apiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: web}\nstringData: {password: one}\n',
  'clusters/east/elsewhere.yaml':
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: far, namespace: default}\ndata: {value: one}\n',
};

describe.skipIf(noProgram('kube-apiserver'))('an agent that may write in one Namespace', () => {
  let pool: KubernetesPool;
  let fleet: KubernetesFleet;

  beforeAll(async () => {
    pool = openKubernetesPool({ access: ['secrets'], writable: ['web'] });
    fleet = await startKubernetesFleet(pool, files);
    await fleet.agent('east').start();
  });
  afterAll(async () => {
    await fleet?.stop();
    await pool?.stop();
  });

  const holds = (object: string, text: string): Promise<unknown> =>
    until(`${object} has ${text}`, async () => (await fleet.live('east', object))?.includes(text));

  it('applies there, Secrets too, and says of other Namespaces that it may not', async () => {
    await holds('ConfigMap/web/a', 'value: one');
    await holds('Secret/web/keys', 'fleetrelay.dev/fleet');
    await until('the refusal is known', async () => {
      const output = await fleet.output('east', 'ConfigMap/default/far');
      return output?.state === 'failed' && output.reason === 'Forbidden';
    });
    expect(await fleet.live('east', 'ConfigMap/default/far')).toBeUndefined();
  });

  it('sees drift there and puts it back, though it may not list these kinds in all Namespaces', async () => {
    const cluster = await fleet.cluster('east');
    await cluster.edit('ConfigMap/web/a', '"value":"one"', '"value":"drifted"');
    await holds('ConfigMap/web/a', 'value: one');
    await cluster.remove('Secret/web/keys');
    await until('the Secret is back', async () => (await fleet.live('east', 'Secret/web/keys')) !== undefined);
  });

  it('changes and removes what the repository changes and removes', async () => {
    fleet.push({ 'clusters/east/a.yaml': configMapYaml('a', 'two'), 'clusters/east/secret.yaml': null });
    await holds('ConfigMap/web/a', 'value: two');
    await until('the Secret is gone', async () => (await fleet.live('east', 'Secret/web/keys')) === undefined);
  });

  it('owns its objects again after its inventory was lost, of kinds too that it may not list in all Namespaces', async () => {
    await fleet.agent('east').kill('SIGKILL');
    const { plane, edit } = await fleet.cluster('east');
    await plane.kubectl(['delete', 'configmap', 'fleetrelay-inventory', '-n', AGENT_NAMESPACE]);
    await edit('ConfigMap/web/a', '"value":"two"', '"value":"drifted"');
    await fleet.agent('east').start();
    await holds('ConfigMap/web/a', 'value: two');
    fleet.push({ 'clusters/east/a.yaml': configMapYaml('a', 'three') });
    await holds('ConfigMap/web/a', 'value: three');
    fleet.push({ 'clusters/east/a.yaml': null });
    await until('the ConfigMap is gone', async () => (await fleet.live('east', 'ConfigMap/web/a')) === undefined);
  });
});
