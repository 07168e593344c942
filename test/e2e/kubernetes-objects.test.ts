import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { looksOf } from '../support/fleet-looks.ts';
import { until } from '../support/fleet-processes.ts';
import { openKubernetesPool } from '../support/kubernetes/clusters.ts';
import { type KubernetesFleet, startKubernetesFleet } from '../support/kubernetes/fleet.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';
import { noProgram } from '../support/programs.ts';

const namespace = (name: string): string => `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${name}\n`;
const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: web}\ndata: {password: b25l}\n';
const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.org
spec:
  group: example.org
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties: {spec: {type: object, properties: {size: {type: integer}}}}
`;
const widget = 'apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: w, namespace: web}\nspec: {size: 3}\n';
const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'clusters/west/cluster.yaml': clusterYaml('west'),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
  'apps/a.yaml': configMapYaml('a', 'one'),
  'clusters/east/only.yaml': configMapYaml('only', 'one'),
};

describe.skipIf(noProgram('kube-controller-manager'))('objects in two real clusters', () => {
  const pool = openKubernetesPool({ controllers: true });
  let fleet: KubernetesFleet;
  const looks = looksOf(() => fleet);
  const { holds, lacks, said, summary, entered } = looks;
  const east = () => fleet.cluster('east');
  const kubectl = async (...args: string[]): Promise<string> => (await east()).plane.kubectl(args);

  beforeAll(async () => {
    fleet = await startKubernetesFleet(pool, files);
    await fleet.agent('east').start();
    await fleet.agent('west').start();
    await summary(/^applied by 2 of 2 clusters$/);
  });
  afterAll(async () => {
    await fleet?.stop();
    await pool.stop();
  });

  it('each cluster has what is for it', async () => {
    await holds('east', 'ConfigMap/web/only', 'one');
    expect(await fleet.live('west', 'ConfigMap/web/only')).toBeUndefined();
    await holds('west', 'ConfigMap/web/a', 'one');
  });

  it('a definition and an object of it come in one push; the definition goes when that is approved', async () => {
    await (await east()).plane.kubectl(['apply', '-f', '-'], { input: WIDGET_RIGHTS });
    fleet.push({ 'clusters/east/crd.yaml': crd, 'clusters/east/a-widget.yaml': widget });
    await until('the widget is there', async () =>
      /\b3\b/.test(await kubectl('get', 'widget', '-n', 'web', 'w', '-o', 'jsonpath={.spec.size}')),
    );
    await summary(/^applied by 2 of 2 clusters$/);
    fleet.push({ 'clusters/east/crd.yaml': null, 'clusters/east/a-widget.yaml': null });
    const held = await until('the removal is held', async () => (await fleet.status()).heldRemovals[0]);
    await fleet.cli('approve', held.digest);
    await lacks('east', 'CustomResourceDefinition.apiextensions.k8s.io//widgets.example.org');
    await summary(/^applied by 2 of 2 clusters$/);
  });

  it('what another manager declares is not taken from it: the conflict names manager and field, the rest goes on', async () => {
    const other = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'web' },
      data: { value: 'theirs' },
    };
    await (await east()).api.apply('/api/v1/namespaces/web/configmaps/a', other, 'argocd');
    await said('east', 'ConfigMap/web/a', 'conflict', /argocd.*\.data\.value/);
    expect(await fleet.live('east', 'ConfigMap/web/a')).toContain('theirs');
    fleet.push({ 'clusters/east/only.yaml': configMapYaml('only', 'two') });
    await holds('east', 'ConfigMap/web/only', 'two');
    const forced = configMapYaml('a', 'one').replace(
      'metadata:\n',
      'metadata:\n  annotations: {fleetrelay.dev/force-conflicts: "true"}\n',
    );
    fleet.push({ 'apps/a.yaml': forced });
    await holds('east', 'ConfigMap/web/a', 'value: one');
    await summary(/^applied by 2 of 2 clusters$/);
  });

  it('what kubectl edits or deletes is put back', async () => {
    await kubectl(
      'patch',
      'configmap',
      'only',
      '-n',
      'web',
      '-p',
      '{"data":{"value":"edited"}}',
      '--field-manager=kubectl-edit',
    );
    await holds('east', 'ConfigMap/web/only', 'value: two');
    await kubectl('delete', 'configmap', 'only', '-n', 'web');
    await holds('east', 'ConfigMap/web/only', 'value: two');
  });

  it('a namespace that is stuck in deletion is told of and stops nothing else; when it is gone it is made anew', async () => {
    fleet.push({
      'clusters/east/ns.yaml': namespace('stuck'),
      'clusters/east/in-it.yaml': configMapYaml('in-it', 'one', 'stuck'),
    });
    await holds('east', 'ConfigMap/stuck/in-it', 'one');
    await kubectl('create', 'configmap', 'anchor', '-n', 'stuck');
    await kubectl(
      'patch',
      'configmap',
      'anchor',
      '-n',
      'stuck',
      '-p',
      '{"metadata":{"finalizers":["example.org/hold"]}}',
    );
    await kubectl('delete', 'namespace', 'stuck', '--wait=false');
    await said('east', 'ConfigMap/stuck/in-it', 'failed', /terminat|deleted|deletion/i);
    fleet.push({ 'clusters/east/only.yaml': configMapYaml('only', 'three') });
    await holds('east', 'ConfigMap/web/only', 'three');
    await kubectl('patch', 'configmap', 'anchor', '-n', 'stuck', '-p', '{"metadata":{"finalizers":null}}');
    await looksOf(() => fleet, 60_000).holds('east', 'ConfigMap/stuck/in-it', 'one');
    await looksOf(() => fleet, 60_000).summary(/^applied by 2 of 2 clusters$/);
  });

  it('a kind that may not be written fails alone; what may not be read any more is unknown, not gone', async () => {
    const binding = ['clusterrolebinding', 'fleetrelay-agent-secrets'];
    const saved = await kubectl('get', ...binding, '-o', 'json');
    await kubectl('delete', ...binding);
    fleet.push({ 'clusters/east/s.yaml': secret, 'clusters/east/only.yaml': configMapYaml('only', 'four') });
    await holds('east', 'ConfigMap/web/only', 'four');
    await said('east', 'Secret/web/s', 'failed', /forbidden/i);
    const back = async (): Promise<unknown> =>
      (await east()).plane.kubectl(['create', '-f', '-'], { input: bare(saved) });
    await back();
    await looksOf(() => fleet, 90_000).holds('east', 'Secret/web/s', 'b25l');
    await kubectl('delete', ...binding);
    await fleet.agent('east').kill('SIGTERM');
    await fleet.agent('east').start();
    await looks.connected('east');
    fleet.push({ 'clusters/east/only.yaml': configMapYaml('only', 'five') });
    await holds('east', 'ConfigMap/web/only', 'five');
    expect(await fleet.live('east', 'Secret/web/s')).toContain('b25l');
    await back();
    await entered(fleet.push({ 'clusters/east/s.yaml': null }));
    await lacks('east', 'Secret/web/s');
  });
});

/** Without what the API server keeps for itself, to be created again. */
function bare(text: string): string {
  const { metadata, ...rest } = JSON.parse(text) as { metadata: { name: string } };
  return JSON.stringify({ ...rest, metadata: { name: metadata.name } });
}

const WIDGET_RIGHTS = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: widgets
  labels: {rbac.fleetrelay.dev/aggregate-to-agent: "true"}
rules:
  - apiGroups: [example.org]
    resources: ["*"]
    verbs: [get, list, watch, create, patch, delete]
`;
