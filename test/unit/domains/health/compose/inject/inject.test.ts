import { load, loadAll } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { injectManifests } from '../../../../../../src/domains/health/compose/inject/inject.ts';
import type { ProbeSettings } from '../../../../../../src/domains/health/probes/settings.ts';

const settings: ProbeSettings = {
  applicationProbeProxyPort: 9001,
  virtualProbesEnabled: false,
  virtualProbesPort: 9000,
};

/** Injects standard input. */
function inject(text: string | Uint8Array, native = true) {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const container = { image: 'fleetrelay:1', native };
  return injectManifests({ file: '-', cwd: '/', readStdin: async () => bytes, settings, container });
}

interface Pod {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: {
    readonly containers: readonly { readonly name: string; readonly livenessProbe: unknown }[];
    readonly initContainers: readonly { readonly name: string }[];
  };
}

const POD_SPEC = `containers:
- name: app
  livenessProbe: {httpGet: {path: /x, port: 80}}`;

/** The spec with more spaces before each line. */
function at(spaces: number): string {
  return POD_SPEC.replaceAll(/^/gm, ' '.repeat(spaces));
}

function expectRewritten(pod: Pod): void {
  expect(pod.metadata.annotations['kuma.io/application-probe-proxy-port']).toBe('9001');
  expect(pod.spec.initContainers.map(({ name }) => name)).toEqual(['fleetrelay-probe-proxy']);
  expect(pod.spec.containers[0]?.livenessProbe).toEqual({ httpGet: { path: '/80/x', port: 9001 } });
}

describe('Pods and templates are rewritten', () => {
  it.each([
    ['v1', 'Pod', `spec:\n${at(2)}`, []],
    ['v1', 'PodTemplate', `template:\n  spec:\n${at(4)}`, ['template']],
    ['v1', 'ReplicationController', `spec:\n  template:\n    spec:\n${at(6)}`, ['spec', 'template']],
    ['apps/v1', 'Deployment', `spec:\n  template:\n    spec:\n${at(6)}`, ['spec', 'template']],
    ['apps/v1beta2', 'StatefulSet', `spec:\n  template:\n    spec:\n${at(6)}`, ['spec', 'template']],
    ['apps/v1', 'DaemonSet', `spec:\n  template:\n    spec:\n${at(6)}`, ['spec', 'template']],
    ['extensions/v1beta1', 'ReplicaSet', `spec:\n  template:\n    spec:\n${at(6)}`, ['spec', 'template']],
    ['batch/v1', 'Job', `spec:\n  template:\n    spec:\n${at(6)}`, ['spec', 'template']],
    [
      'batch/v1',
      'CronJob',
      `spec:\n  jobTemplate:\n    spec:\n      template:\n        spec:\n${at(10)}`,
      ['spec', 'jobTemplate', 'spec', 'template'],
    ],
  ])('%s %s', async (apiVersion, kind, rest, path) => {
    const { text = '', findings } = await inject(
      `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: x}\n${rest}\n`,
    );
    expect(findings).toEqual([]);
    const found = path.reduce((value, step) => (value as Record<string, unknown>)[step], load(text));
    expectRewritten(found as Pod);
  });

  it.each([
    ['v1', 'List', 'apiVersion: v1\n  kind: Pod\n  '],
    ['v1', 'PodList', ''],
  ])('in a %s %s', async (apiVersion, kind, head) => {
    const { text = '' } = await inject(
      `apiVersion: ${apiVersion}\nkind: ${kind}\nitems:\n- apiVersion: v1 # kept\n  kind: ConfigMap\n- ${head}spec:\n${at(4)}\n`,
    );
    const { items } = load(text) as { readonly items: readonly unknown[] };
    expect(text).toContain('- apiVersion: v1 # kept\n  kind: ConfigMap\n');
    expectRewritten(items[1] as Pod);
  });

  it('in JSON, which stays JSON with its indentation', async () => {
    const pod = { apiVersion: 'v1', kind: 'Pod', spec: load(POD_SPEC) };
    const other = '{"kind":   "Other"}';
    const { text = '' } = await inject(`${JSON.stringify(pod)}\n${other}\n${JSON.stringify(pod, undefined, 4)}\n`);
    const [first = '', second, ...third] = text.trimEnd().split('\n');
    expectRewritten(JSON.parse(first));
    expect(second).toBe(other);
    expect(third.slice(0, 2)).toEqual(['{', '    "apiVersion": "v1",']);
    expectRewritten(JSON.parse(third.join('\n')));
  });

  it('with the proxy as a normal container', async () => {
    const { text = '' } = await inject(`apiVersion: v1\nkind: Pod\nspec:\n${at(2)}\n`, false);
    expect((load(text) as Pod).spec.containers.map(({ name }) => name)).toEqual(['app', 'fleetrelay-probe-proxy']);
  });
});

describe('all else is as in the file, byte for byte', () => {
  const others = [
    '# a comment\n\n---\n# more\nkind:   ConfigMap\ndata: {a: "b",   c: 0644}   # and more\n\n\n',
    'apiVersion: example.com/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers: []\n',
    `apiVersion: v1\nkind: Pod\nmetadata: {labels: {fleetrelay.dev/probe-proxy: disabled}}\nspec:\n${at(2)}\n`,
    `apiVersion: v1\nkind: Pod\nspec:\n${at(2)}\n  - name: kuma-sidecar\n`,
    '{"a": 1,\n\t"b": [ ]}\n\n',
    '\ufeffa: 1\r\n---\r\nb: |\r\n  x\r\n',
    'text\n',
    '',
  ];

  it.each(others)('%j', async (text) => {
    expect(await inject(text)).toEqual({ text, diagnostics: [], findings: [] });
  });

  it('around a Pod that is rewritten', async () => {
    const [before = '', after = ''] = [`${others[0]}---\n`, '---\n# last\nx:   1\n...\n# end'];
    const { text = '' } = await inject(`${before}apiVersion: v1\nkind: Pod\nspec:\n${at(2)}\n${after}`);
    expect(text.startsWith(before)).toBe(true);
    expect(text.endsWith(after)).toBe(true);
    expectRewritten(loadAll(text)[1] as Pod);
    // Printing the result again changes nothing.
    expect((await inject(text)).text).toBe(text);
  });
});

describe('findings are at their place in the file', () => {
  it('warnings', async () => {
    const pod =
      'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: a\n    livenessProbe: {tcpSocket: {port: db}}\n';
    const { text, findings } = await inject(`# head\n---\nkind: Other\n---\n${pod}`);
    expect(findings).toEqual([
      {
        severity: 'warning',
        message: 'Pod web: the container declares no port "db"; the probe stays as it is',
        at: { path: '-', line: 11, column: 39 },
      },
    ]);
    expect(text).toContain('livenessProbe: {tcpSocket: {port: db}}');
  });

  it('every refusal, and nothing is printed', async () => {
    const wrong =
      'apiVersion: v1\nkind: Pod\nmetadata:\n  name: w\n  annotations:\n    kuma.io/virtual-probes: maybe\nspec: {containers: [{name: a}]}\n';
    const deployment =
      '{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"template": {"spec": {"containers": [\n  {"name": "a", "readinessProbe": {"grpc": {"port": 9001}}}]}}}}';
    expect(await inject(`${wrong}---\n${wrong}`)).toEqual({
      text: undefined,
      diagnostics: [],
      findings: [6, 14].map((line) => ({
        severity: 'error',
        message: 'Pod w: annotation "kuma.io/virtual-probes" has wrong value "maybe"',
        at: { path: '-', line, column: 29 },
      })),
    });
    const { text, findings } = await inject(`{"kind": "Other"} ${deployment}`);
    expect(text).toBeUndefined();
    expect(findings).toMatchObject([
      { message: expect.stringMatching(/^Deployment d: cannot override/), at: { line: 2, column: 53 } },
    ]);
  });

  it.each<[string, string | Uint8Array, number, number]>([
    ['a syntax error', 'a: 1\n---\nb: [1\n---\nc: 1\n', 3, 4],
    ['a repeated key', 'kind: X\n---\na: 1\na: 2\n', 4, 1],
    ['no text', Uint8Array.of(0x61, 0x0a, 0xff), 2, 1],
  ])('%s', async (_, text, line, column) => {
    const { text: printed, diagnostics } = await inject(text);
    expect(printed).toBeUndefined();
    expect(diagnostics[0]?.at).toEqual({ path: '-', line, column });
  });

  it('a file that is not there', async () => {
    const request = {
      cwd: '/',
      readStdin: async () => new Uint8Array(),
      settings,
      container: { image: 'x', native: true },
    };
    await expect(injectManifests({ ...request, file: 'nowhere/x.yaml' })).rejects.toThrow(
      'cannot read nowhere/x.yaml: ENOENT',
    );
  });
});
