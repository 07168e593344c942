import { describe, expect, it } from 'vitest';
import { careDefaults } from '../../../src/domains/care/model/settings.ts';
import { decoders } from '../../../src/domains/decoders.ts';
import { healthDefaults } from '../../../src/domains/health/model/settings.ts';
import { locate } from '../../../src/manifest/locate.ts';
import { defaultFleetPolicy } from '../../../src/model/fleet/fleet-policy.ts';
import { decodeFile } from '../../support/decode-file.ts';
import { bytesOf, complaints, contentOf, documentsOf } from '../../support/decoding.ts';

const NAMESPACE = 'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: web\n';

describe('decodeFile', () => {
  it('reads an object as written', () => {
    expect(documentsOf(NAMESPACE)).toEqual(
      [
        {
          identity: '/Namespace//web',
          index: 0,
          content: {
            type: 'object',
            ref: { group: '', kind: 'Namespace', namespace: '', name: 'web' },
            value: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'web' } },
            digest: '2ac1f3a0f4d5c6f5',
          },
        },
      ].map((document) => ({
        ...document,
        content: { ...document.content, digest: expect.stringMatching(/^[0-9a-f]{64}$/) },
      })),
    );
  });

  it('gives equal digests to equal values, however they are written', () => {
    const digest = (text: string, path?: string) => {
      const content = contentOf(text, path);
      return content.type === 'object' && content.digest;
    };
    const json = '{"kind":"Namespace","metadata":{"name":"web"},"apiVersion":"v1"}';
    expect(digest(`# a comment\n---\n${NAMESPACE}`)).toBe(digest(NAMESPACE));
    expect(digest(json, 'a.json')).toBe(digest(NAMESPACE));
    expect(digest(NAMESPACE.replace('web', 'shop'))).not.toBe(digest(NAMESPACE));
  });

  it('hands the blob on, readable or not', () => {
    expect(decodeFile('a.yaml', bytesOf(NAMESPACE), 'abc').reading).toMatchObject({ readable: true, blob: 'abc' });
    expect(decodeFile('a.yaml', bytesOf('['), 'abc').reading).toMatchObject({ readable: false, blob: 'abc' });
  });

  it('reads several documents, passes over empty ones, and counts repetitions', () => {
    const text = `---\n${NAMESPACE}---\n---\n# nothing\n---\n${NAMESPACE}...\n---\n${NAMESPACE.replace('web', 'shop')}`;
    expect(documentsOf(text).map(({ identity, index }) => [identity, index])).toEqual([
      ['/Namespace//web', 0],
      ['/Namespace//web#2', 1],
      ['/Namespace//shop', 2],
    ]);
  });

  it('takes Lists apart, and refuses a list in a list, as kubectl does', () => {
    const item = '{apiVersion: v1, kind: Namespace, metadata: {name: NAME}}';
    const text = `apiVersion: v1\nkind: List\nitems:\n- ${item.replace('NAME', 'a')}\n- ${item.replace('NAME', 'b')}\n`;
    expect(documentsOf(text).map(({ identity }) => identity)).toEqual(['/Namespace//a', '/Namespace//b']);
    const nested = 'a list cannot be an item of a list (move its items to the outer list)';
    expect(complaints(`${text}- {apiVersion: v1, kind: List, items: []}\n`)).toEqual([`a.yaml:6:26: error: ${nested}`]);
    expect(complaints('apiVersion: v1\nkind: SecretList\nitems:\n- {kind: SecretList, items: []}\n')).toEqual([
      `a.yaml:4:10: error: ${nested}`,
    ]);
  });

  it('refuses a list without items, as kubectl does', () => {
    expect(complaints('apiVersion: v1\nkind: List\nitems:\n')).toEqual([
      'a.yaml:3:1: error: items must be a list, not nothing',
    ]);
    expect(complaints('apiVersion: v1\nkind: RoleList\nmetadata: {}\nitems:\n')).toEqual([
      'a.yaml:3:11: error: metadata.name is missing',
    ]);
    expect(complaints('apiVersion: v1\nkind: List\nitems: []\n')).toEqual([]);
  });

  it('gives the items of a typed list its apiVersion and the kind before List', () => {
    const text = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleList
metadata: {resourceVersion: ""}
items:
- metadata: {name: a, namespace: x}
  rules: []
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
`;
    expect(documentsOf(text).map(({ identity }) => identity)).toEqual([
      'rbac.authorization.k8s.io/Role/x/a',
      '/ConfigMap//b',
    ]);
    expect(complaints(text)).toEqual([
      'a.yaml:7:26: warning: kubectl checks each item of a RoleList as a Role (write the kind List for items of several kinds)',
    ]);
    const [first] = documentsOf(text);
    const value = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'a', namespace: 'x' } };
    expect(first?.content).toMatchObject({ type: 'object', value: { ...value, rules: [] } });
  });

  it('points at the item of a typed list', () => {
    const item = '- metadata: {name: a}\n- metadata: {name: ""}\n';
    const text = `apiVersion: v1\nkind: ConfigMapList\nitems:\n${item}- kind: ConfigMap\n  metadata: {name: c}\n-\n- 1\n`;
    expect(complaints(text)).toEqual([
      expect.stringMatching(/^a.yaml:4:1: error: a manifest must be a mapping, not nothing/),
      expect.stringMatching(/^a.yaml:5:20: error: the name is empty/),
      expect.stringMatching(/^a.yaml:6:3: error: apiVersion is missing/),
      expect.stringMatching(/^a.yaml:9:3: error: a manifest must be a mapping, not a number/),
    ]);
    const bytes = bytesOf(text.slice(0, text.indexOf('""')).concat('b}'));
    const at = (field: string) =>
      locate(decoders, 'a.yaml', bytes, { identity: '/ConfigMap//b', field: [field], part: 'value' })?.at;
    expect(at('metadata')).toEqual({ path: 'a.yaml', line: 5, column: 13 });
    expect(at('kind')).toEqual({ path: 'a.yaml', line: 5, column: 3 });
  });

  it('reads a kind that ends with List and has no items as an object', () => {
    const text = 'apiVersion: example.com/v1\nkind: PriceList\nmetadata: {name: a}\nprices: []\n';
    expect(documentsOf(text).map(({ identity }) => identity)).toEqual(['example.com/PriceList//a']);
    expect(complaints(`${text}items: {}\n`)).toEqual(['a.yaml:5:8: error: items must be a list, not a mapping']);
    expect(complaints('apiVersion: v1\nkind: List\n')).toEqual(['a.yaml:1:1: error: items is missing']);
  });

  it('reads JSON documents one after the other, in a YAML file too', () => {
    const named = (name: string) =>
      `{\n\t"apiVersion": "v1", "kind": "ConfigMap",\n\t"metadata": {"name": "${name}"}, "data": {"x": "}\\"{"}}`;
    for (const path of ['a.json', 'a.yaml']) {
      for (const between of ['\n', '', '\n---\n']) {
        const text = `${named('a')}${between}${named('b')}\n`;
        expect(documentsOf(text, path).map(({ identity }) => identity)).toEqual(['/ConfigMap//a', '/ConfigMap//b']);
        expect(complaints(text.replace('"b"', '""'), path)).toEqual([
          `${path}:${between.length === 5 ? 7 : between.length + 5}:23: error: the name is empty`,
        ]);
      }
    }
    expect(complaints(`${named('a')}\n{"a": ]}\n`, 'a.json')).toEqual(['a.json:4:1: error: this is not JSON']);
    expect(documentsOf(named('a')).length).toBe(1);
  });

  it('reads JSON with tabs, escapes and a byte order mark', () => {
    const text =
      '\ufeff{\n\t"apiVersion": "v1",\n\t"kind": "ConfigMap",\n\t"metadata": {"name": "a"},\n\t"data": {"x": "\\ud83d\\ude00\\t\\/"}\n}\n';
    expect(contentOf(text, 'a.json')).toMatchObject({ value: { data: { x: '\u{1f600}\t/' } } });
  });

  it('reads a file of nothing', () => {
    for (const text of ['', '\n', '# only a comment\n', '---\n', '---\n---\n', '\ufeff'])
      expect(documentsOf(text)).toEqual([]);
  });

  it('reads aliases as what they stand for', () => {
    const text =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: &name web}\ndata: {a: *name, b: &text "x\\ny", c: *text}\n';
    expect(contentOf(text)).toMatchObject({ value: { data: { a: 'web', b: 'x\ny', c: 'x\ny' } } });
  });

  it('keeps text of five megabytes', () => {
    const long = 'x'.repeat(5_000_000);
    const text = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata:\n  a: "${long}"\n  b: |\n    ${long}\n`;
    expect(contentOf(text)).toMatchObject({ value: { data: { a: long, b: `${long}\n` } } });
  });

  it('leaves out what an API server fills in, with a warning where it says something', () => {
    const text = `apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  creationTimestamp: null
  uid: 5e4a2d9f
  managedFields: [{manager: kubectl}]
  labels:
  annotations: {a/b: c}
spec: {selector: null}
status:
  loadBalancer: {}
`;
    const content = contentOf(text);
    expect(content.type === 'object' && content.value).toEqual({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'shop', annotations: { 'a/b': 'c' } },
      spec: { selector: null },
    });
    expect(complaints(text)).toEqual([
      'a.yaml:7:3: warning: metadata.uid is filled in by an API server; it is left out (remove it)',
      'a.yaml:8:3: warning: metadata.managedFields is filled in by an API server; it is left out (remove it)',
    ]);
    expect(complaints(text.replace('{}', '{ingress: [{ip: 1.2.3.4}]}'))).toContain(
      'a.yaml:12:1: warning: status is what a cluster reports; it is left out (remove it)',
    );
  });

  it.each([
    'deployment.kubernetes.io/revision',
    'kubectl.kubernetes.io/last-applied-configuration',
    'deprecated.daemonset.template.generation',
    'pv.kubernetes.io/bind-completed',
    'control-plane.alpha.kubernetes.io/leader',
    'kubernetes.io/config.hash',
  ])('leaves out the annotation %s, which a controller or kubectl writes', (name) => {
    const text = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations:
    a/b: c
    ${name}: "3"
`;
    expect(contentOf(text)).toMatchObject({ value: { metadata: { name: 'web', annotations: { 'a/b': 'c' } } } });
    expect(complaints(text)).toEqual([
      `a.yaml:7:5: warning: the annotation ${name} is written in each cluster by a controller or kubectl; it is left out (remove it)`,
    ]);
    const { value } = contentOf(text.replace('    a/b: c\n', '')) as unknown as {
      readonly value: { readonly metadata: object };
    };
    expect(value.metadata).toEqual({ name: 'web' });
  });

  it('keeps annotations that people write, also of kubectl', () => {
    const text = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {kubernetes.io/change-cause: why}}
spec: {template: {metadata: {annotations: {kubectl.kubernetes.io/restartedAt: "2026-01-02T03:04:05Z"}}}}
`;
    expect(contentOf(text)).toMatchObject({
      value: { metadata: { annotations: { 'kubernetes.io/change-cause': 'why' } } },
    });
    expect(complaints(text)).toEqual([]);
  });

  it('gives labels, annotations and data without value an empty text', () => {
    const text =
      'kind: Secret\napiVersion: v1\nmetadata: {name: a, labels: {l: }, annotations: {m: null}}\ndata: {d: }\n';
    expect(contentOf(text)).toMatchObject({
      value: { metadata: { labels: { l: '' }, annotations: { m: '' } }, data: { d: '' } },
    });
  });
});

describe('engine kinds', () => {
  it('a KubernetesCluster with and without its options', () => {
    const text =
      'apiVersion: admin.gloo.solo.io/v2\nkind: KubernetesCluster\nmetadata: {name: east, labels: {env: prod}}\n';
    expect(contentOf(text)).toEqual({
      ...{ type: 'declaration', kind: 'KubernetesCluster', key: 'east', namespace: '', name: 'east' },
      value: { name: 'east', labels: { env: 'prod' }, clusterDomain: 'cluster.local', skipWarming: false },
    });
    expect(contentOf(`${text}spec: {clusterDomain: east.local, skipWarming: true}\n`)).toMatchObject({
      value: { clusterDomain: 'east.local', skipWarming: true },
    });
    expect(contentOf(`${text}spec:\nstatus:\n`)).toMatchObject({ kind: 'KubernetesCluster' });
  });

  it('a Placement, in canonical order', () => {
    const text = `apiVersion: fleetrelay.dev/v1alpha1
kind: Placement
metadata: {name: web}
spec:
  paths: [b/**, a/*.yaml, b/**]
  clusters:
    names: [west, east]
    selector:
      matchLabels: {env: prod}
      matchExpressions:
      - {key: region, operator: In, values: [us, eu]}
      - {key: gpu, operator: DoesNotExist}
`;
    expect(contentOf(text)).toEqual({
      ...{ type: 'declaration', kind: 'Placement', key: 'web', namespace: '', name: 'web' },
      value: {
        name: 'web',
        paths: ['a/*.yaml', 'b/**'],
        clusters: {
          names: ['east', 'west'],
          selector: {
            matchLabels: { env: 'prod' },
            matchExpressions: [
              { key: 'region', operator: 'In', values: ['eu', 'us'] },
              { key: 'gpu', operator: 'DoesNotExist', values: [] },
            ],
          },
        },
      },
    });
  });

  it('tells the empty selector, which selects everything, from none', () => {
    const text =
      'apiVersion: fleetrelay.dev/v1alpha1\nkind: Placement\nmetadata: {name: a}\nspec: {paths: [a], clusters: CLUSTERS}\n';
    expect(contentOf(text.replace('CLUSTERS', '{selector: {}}'))).toMatchObject({
      value: { clusters: { names: [], selector: { matchLabels: {}, matchExpressions: [] } } },
    });
    const named = contentOf(text.replace('CLUSTERS', '{names: [east]}'));
    expect(named).toHaveProperty('value.clusters.names', ['east']);
    expect(named).not.toHaveProperty('value.clusters.selector');
    expect(complaints(text.replace('CLUSTERS', '{}'))).toEqual(['a.yaml:4:30: error: spec.clusters must not be empty']);
  });

  it('a FleetPolicy: what is left out has its default', () => {
    const text = 'apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: fleet}\n';
    expect(contentOf(text)).toEqual({
      ...{ type: 'declaration', kind: 'FleetPolicy', key: '', namespace: '', name: 'fleet' },
      value: { ...defaultFleetPolicy, health: healthDefaults, care: careDefaults },
    });
    const spec =
      'spec: {guards: {maxRemovalsPerCluster: 0}, safeMode: {mode: off}, discovery: {excludedKinds: [Pod, Event]}}\n';
    expect(contentOf(text + spec.replace('off', '"off"'))).toMatchObject({
      value: {
        guards: { ...defaultFleetPolicy.guards, maxRemovalsPerCluster: 0 },
        safeMode: { mode: 'off', safeStartWindowSeconds: 180 },
        discovery: { excludedNamespaces: [], excludedKinds: ['Event', 'Pod'] },
      },
    });
  });

  it('a FleetPolicy says to agents nothing that they would refuse', () => {
    const text = 'apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: fleet}\nspec: SPEC\n';
    const problem = (spec: string) => complaints(text.replace('SPEC', spec));
    expect(problem('{discovery: {excludedKinds: [Lease.coordination.k8s.io.]}}')).toEqual([
      'a.yaml:4:7: error: no agent would take what it says: settings: excludedKinds holds "coordination.k8s.io./Lease", which does not belong there',
    ]);
    const many = Array.from({ length: 1001 }, (_, index) => `v${index}`).join();
    const selector = `{matchExpressions: [{key: a, operator: In, values: [${many}]}]}`;
    expect(problem(`{discovery: {objectSelector: ${selector}}}`)).toHaveLength(1);
  });

  it('two Dataplanes of one name in two meshes are two', () => {
    const text = 'type: Dataplane\nmesh: MESH\nname: web\nnetworking: {address: 10.0.0.1}\n';
    const both = `${text.replace('MESH', 'a')}---\n${text.replace('MESH', 'b')}`;
    expect(documentsOf(both).map(({ identity }) => identity)).toEqual([
      'kuma.io/Dataplane//web@a',
      'kuma.io/Dataplane//web@b',
    ]);
  });
});
