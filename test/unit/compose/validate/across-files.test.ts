import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { validatePaths } from '../../../../src/compose/validate/validate.ts';
import { displayLocation } from '../../../../src/model/fleet/diagnostic.ts';
import { bytesOf } from '../../../support/decoding.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../../support/manifests.ts';

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'across-'));
});
afterEach(() => rm(cwd, { recursive: true }));

async function files(contents: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(contents)) {
    await mkdir(dirname(join(cwd, path)), { recursive: true });
    await writeFile(join(cwd, path), text);
  }
}

/** What is found, as `REASON PATH:LINE:COLUMN`. */
async function found(paths: readonly string[], { stdin = '', threads = 1 } = {}): Promise<readonly string[]> {
  const report = await validatePaths({ paths, cwd, threads, readStdin: async () => bytesOf(stdin) });
  return report.diagnostics.map(({ reason, at }) => `${reason} ${at === undefined ? '' : displayLocation(at)}`);
}

const pod = (key: string, more = ''): string => `apiVersion: v1
kind: Pod
metadata: {name: web, namespace: web}
spec:
  containers:
    - name: web
      image: nginx
      env:
        - name: A
          valueFrom:
            configMapKeyRef:
              name: settings
              key: ${key}${more}
`;
const settings = configMapYaml('settings', 'x');
const chart = { 'chart/Chart.yaml': 'apiVersion: v2\nname: c\nversion: 1.0.0\n' };

describe('references between the files of a folder', () => {
  it('are findings at the value at fault, in any order of the paths', async () => {
    await files({ 'a/pod.yaml': pod('valeu'), 'b/settings.yaml': settings });
    expect(await found(['.'])).toEqual(['UnknownConfigMapKey a/pod.yaml:13:20']);
    expect(await found(['b', 'a'])).toEqual(['UnknownConfigMapKey a/pod.yaml:13:20']);
    expect(await found(['a', 'b'], { threads: 2 })).toEqual(['UnknownConfigMapKey a/pod.yaml:13:20']);
    expect(await found(['a'])).toEqual(['UnknownConfigMap a/pod.yaml:12:21']);
    expect(await found(['a', 'b/settings.yaml'])).toEqual(['UnknownConfigMapKey a/pod.yaml:13:20']);
  });

  it('give the places of two declarations also if one has an error', async () => {
    const wrong = settings.replace(/^data:.*$(\n +.*)*/m, 'data: {key: 1}');
    expect(wrong).toContain('key: 1');
    await files({ 'one.yaml': `${wrong}---\n${settings}` });
    const report = await validatePaths({ paths: ['.'], cwd, threads: 1, readStdin: async () => bytesOf('') });
    const twice = report.diagnostics.find(({ reason }) => reason === 'DeclaredTwice');
    expect(report.diagnostics.map(({ reason }) => reason)).toContain('WrongType');
    expect(twice?.message).toMatch(/\(one\.yaml:\d+:\d+ and one\.yaml:\d+:\d+\)$/);
    const [first = 0, second = 0] = [...(twice?.message ?? '').matchAll(/yaml:(\d+)/g)].map(([, line]) => Number(line));
    expect([first < second, twice?.at?.line]).toEqual([true, second]);
  });

  it('are not judged in named single files and on standard input', async () => {
    await files({ 'pod.yaml': pod('value') });
    expect(await found(['pod.yaml'])).toEqual([]);
    expect(await found(['-'], { stdin: pod('value') })).toEqual([]);
  });

  it('are in items of a List too, and can be suppressed', async () => {
    const item = pod('valeu').replaceAll('\n', '\n    ').trimEnd();
    await files({
      'list.yaml': `apiVersion: v1\nkind: List\nitems:\n  - ${item}\n`,
      'pod.yaml': pod('other', ' # fleetrelay-ignore: FR3021 a program adds it').replace('name: web,', 'name: w,'),
      'settings.yaml': settings,
    });
    expect(await found(['.'])).toEqual(['UnknownConfigMapKey list.yaml:16:24']);
  });

  it.each([
    ['a file that cannot be read', { 'broken.yaml': 'a: [\n' }, 'YamlSyntax broken.yaml:1:4'],
    ['a chart', chart, 'HelmChart chart/Chart.yaml:1:1'],
  ])('are not missing beside %s', async (_name, more, finding) => {
    await files({ 'pod.yaml': pod('value'), ...more });
    expect(await found(['.'])).toEqual([finding]);
  });
});

it('two documents that declare one object are a warning at the second, with the place of the first', async () => {
  await files({ 'a.yaml': `---\n${settings}`, 'b.yaml': settings });
  const { diagnostics } = await validatePaths({ paths: ['.'], cwd, readStdin: async () => bytesOf('') });
  expect(diagnostics).toMatchObject([
    { severity: 'warning', reason: 'DeclaredTwice', at: { path: 'b.yaml', line: 4 } },
  ]);
  expect(diagnostics[0]?.message).toBe(
    'ConfigMap/web/settings is declared twice: the one applied last counts (a.yaml:5:9 and b.yaml:4:9)',
  );
});

describe('the files of a fleet', () => {
  const fleet = {
    'clusters/east/cluster.yaml': clusterYaml('east', { env: 'prod' }),
    'placements.yaml': placementYaml('apps', 'apps/**'),
    'apps/settings.yaml': settings,
  };

  it('have the findings of the engine, at their values', async () => {
    await files({
      ...fleet,
      'apps/again.yaml': `---\n${settings}`,
      'clusters/wset/a.yaml': configMapYaml('a', 'x'),
      'more.yaml': placementYaml('more', 'aps/**', 'names: [weast]'),
      'none.yaml': placementYaml('none', 'apps/**', 'selector: {matchLabels: {env: test}}'),
      'other.yaml': configMapYaml('b', 'x'),
    });
    expect(await found(['.'])).toEqual([
      'DeclaredTwice apps/settings.yaml:4:9',
      'UnknownCluster clusters/wset/a.yaml:1:1',
      'PlacementSelectsNothing more.yaml:7:7',
      'UnknownCluster more.yaml:9:13',
      'SelectsNoCluster none.yaml:9:15',
      'GoesNowhere other.yaml:1:1',
    ]);
    expect(await found(['clusters', 'apps', 'more.yaml', 'none.yaml', 'other.yaml', 'placements.yaml'])).toHaveLength(
      6,
    );
  });

  it('can declare one object for each cluster', async () => {
    await files({
      ...fleet,
      'clusters/west/cluster.yaml': clusterYaml('west'),
      'clusters/east/a.yaml': configMapYaml('a', 'x'),
      'clusters/west/b.yaml': configMapYaml('a', 'y'),
    });
    expect(await found(['.'])).toEqual([]);
  });

  it('have the scopes of their CustomResourceDefinitions', async () => {
    const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`;
    const thing = (more: string) => `apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t${more}}\n`;
    await files({
      ...fleet,
      'apps/crd.yaml': definition,
      'apps/t.yaml': thing(''),
      'clusters/east/t.yaml': thing(', namespace: default'),
    });
    expect(await found(['.'])).toEqual(['DeclaredTwice clusters/east/t.yaml:3:18']);
  });

  it('miss nothing that may be in a file that was not read, or above the folder', async () => {
    const lost = { ...fleet, 'other.yaml': configMapYaml('b', 'x') };
    await files(lost);
    expect(await found(['.'])).toEqual(['GoesNowhere other.yaml:1:1']);
    await files(chart);
    expect(await found(['.'])).toEqual(['HelmChart chart/Chart.yaml:1:1']);
    await rm(join(cwd, 'chart'), { recursive: true });
    await files({ '.git/HEAD': '' });
    expect(await found(['.'])).toEqual(['GoesNowhere other.yaml:1:1']);
    expect(await found(['clusters'])).toEqual([]);
    await files({ 'sub/placements.yaml': placementYaml('sub', 'here/**') });
    expect(await found(['sub'])).toEqual([]);
    await files({ 'sub/.fleetrelayignore': '' });
    expect(await found(['sub'])).toEqual([
      'PlacementSelectsNothing sub/placements.yaml:7:7',
      'SelectsNoCluster sub/placements.yaml:9:15',
    ]);
  });

  it('of Kuma and Gardener alone need no Placement', async () => {
    await files({
      'dp.yaml': 'type: Dataplane\nmesh: m\nname: web\nnetworking: {address: 10.0.0.1}\n',
      'a.yaml': settings,
    });
    expect(await found(['.'])).toEqual([]);
  });
});
