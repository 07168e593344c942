import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import { CHARTS as NAMES } from '../../../scripts/deploy/chart-readme.ts';
import { noProgram } from '../../support/programs.ts';
import { CRD_RELEASES, RELEASES, releaseOf, SERVER_RELEASES } from './releases.ts';
import {
  CHARTS,
  inFolder,
  type Manifest,
  objectsOf,
  PROJECT,
  type Release,
  releaseArguments,
  renderChart,
  runHelm,
} from './rendering.ts';

const read = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');
const INGRESS = { enabled: true, hosts: ['a.example.com'] };
const ROUTE = { enabled: true, parentRefs: [{ name: 'a' }] };

test.each(NAMES)('%s says what it is, where it is from, and what each value means', (name) => {
  const chart = load(read(`${CHARTS}/${name}/Chart.yaml`)) as Readonly<Record<string, unknown>>;
  expect(chart).toMatchObject({ name, version: '0.1.0', appVersion: '0.1.0', home: 'https://fleetrelay.dev' });
  // The site serves the file under this address.
  expect(chart.icon).toBe('https://fleetrelay.dev/icon.svg');
  expect(read('site/.vitepress/config.ts')).toContain(
    "cp(join(project, 'deploy/helm/icon.svg'), join(outDir, 'icon.svg'))",
  );
  const rows = read(`${CHARTS}/${name}/README.md`)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split(/(?<!\\) \| /));
  expect(rows.length).toBeGreaterThan(3);
  expect(rows.filter(([, , , meaning = '']) => meaning.trim().length < 4).map(([field]) => field)).toEqual([]);
});

test.each(NAMES)('the README of %s has the default of values.yaml for each value', (name) => {
  const rows = new Map(
    [...read(`${CHARTS}/${name}/README.md`).matchAll(/^\| `([^`]+)` \| [^|]+ \| (?:`([^|]*)`)? ?\|/gm)].map(
      ([, field = '', standard]) => [field, standard] as const,
    ),
  );
  const values = leaves(load(read(`${CHARTS}/${name}/values.yaml`)));
  expect(values.length).toBeGreaterThan(2);
  for (const [path, value] of values) expect(rows.get(path), path).toBe(value);
});

describe.skipIf(noProgram('helm'))('files of the charts', () => {
  test.each(NAMES)('the package of %s has its README and none of the values that it is tried with', async (name) => {
    const files = await inFolder(async (folder) => {
      await runHelm(['package', join(PROJECT, CHARTS, name), '--destination', folder]);
      const { stdout } = await promisify(execFile)('tar', ['-tzf', join(folder, `${name}-0.1.0.tgz`)]);
      return stdout.trim().split('\n');
    });
    for (const file of ['Chart.yaml', 'README.md', 'values.schema.json']) expect(files).toContain(`${name}/${file}`);
    expect(files.filter((path) => path.startsWith(`${name}/ci`))).toEqual([]);
    expect(globSync(`${CHARTS}/${name}/ci/*-values.yaml`, { cwd: PROJECT }).length).toBeGreaterThan(1);
  });

  test.for(RELEASES)(
    '%s, %s-values.yaml: further labels are on every object and pod, and select nothing',
    async ([chart, , release]) => {
      const billed = { billing: 'platform' };
      const labelled = withValues(release, {
        commonLabels: billed,
        ...(chart === 'fleetrelay-crds' ? {} : { monitoring: { enabled: true } }),
      });
      const objects = await renderChart(chart, labelled);
      expect(objects.length).toBeGreaterThan(3);
      for (const object of objects) {
        expect(object.metadata.labels, object.metadata.name).toMatchObject(billed);
        const { template, selector, volumeClaimTemplates = [] } = object.spec ?? {};
        if (template !== undefined) expect(template.metadata.labels).toMatchObject(billed);
        expect(JSON.stringify([selector ?? null, volumeClaimTemplates])).not.toContain('platform');
      }
    },
  );

  test('labels of one kind of object win over labels of all kinds, and the chart keeps labels that find its pods', async () => {
    const labelsOf = async (values: object) => {
      const release = withValues(releaseOf(SERVER_RELEASES, 'least'), values);
      const objects = await renderChart('fleetrelay', release);
      const pods = objects.find(({ kind }) => kind === 'StatefulSet')?.spec.template.metadata.labels;
      return { pods, account: objects.find(({ kind }) => kind === 'ServiceAccount')?.metadata.labels };
    };
    const part = 'app.kubernetes.io/part-of';
    const labels = await labelsOf({ commonLabels: { team: 'a', [part]: 'platform' }, podLabels: { team: 'b' } });
    expect(labels).toMatchObject({
      pods: { team: 'b', [part]: 'platform' },
      account: { team: 'a', [part]: 'platform' },
    });
    expect((await labelsOf({})).pods[part]).toBe('fleetrelay');
  });

  test.each([
    ['fleetrelay', { commonLabels: { 'app.kubernetes.io/name': 'x' } }, /app\.kubernetes\.io\/name finds the pods/],
    ['fleetrelay', { podLabels: { 'app.kubernetes.io/instance': 'x' } }, /instance finds the pods/],
    ['fleetrelay-agent', { podLabels: { 'app.kubernetes.io/name': 'x' } }, /name finds the pods/],
    ['fleetrelay', { commonLabels: { replicas: 3 } }, /commonLabels/],
    ['fleetrelay', { ingress: { enabled: true } }, /enabled/],
    ['fleetrelay', { ingress: { hooks: { enabled: true } } }, /ingress\/hooks.*hosts/s],
    ['fleetrelay', { httpRoute: { api: { enabled: true } } }, /httpRoute\/api.*parentRefs/s],
    ['fleetrelay-crds', { exclude: ['placements'] }, /exclude/],
  ] as const)('%s refuses %j', async (chart, values, complaint) => {
    const least = RELEASES.find(([name, set]) => name === chart && set === 'least')?.[2];
    if (least === undefined) throw new Error('there is no such release');
    await expect(renderChart(chart, withValues(least, values))).rejects.toThrow(complaint);
  });

  test('hooks and API are open only where they are asked for, each at its own path', async () => {
    const openWith = async (values: object) =>
      (await renderChart('fleetrelay', withValues(releaseOf(SERVER_RELEASES, 'least'), values))).filter(({ kind }) =>
        /^(Ingress|HTTPRoute)$/.test(kind),
      );
    expect(await openWith({})).toEqual([]);
    const all = await openWith({ ingress: { hooks: INGRESS, api: INGRESS }, httpRoute: { hooks: ROUTE, api: ROUTE } });
    const names = all.map(({ kind, metadata }) => `${kind}/${metadata.name}`).sort();
    expect(names).toEqual(
      ['HTTPRoute/fleetrelay-server-api', 'HTTPRoute/fleetrelay-server-hooks'].concat([
        'Ingress/fleetrelay-server-api',
        'Ingress/fleetrelay-server-hooks',
      ]),
    );
    for (const object of all) {
      const wanted = object.metadata.name.endsWith('-hooks') ? '/hooks' : '/api';
      expect(pathsOf(object)).toEqual([wanted]);
    }
    // What the server serves there: src/server/http-server.ts.
    const server = read('src/server/http-server.ts');
    for (const path of ["'/hooks'", "'/api/v1'"]) expect(server).toContain(`app.route(${path}`);
  });

  test.each(['ingress', 'httpRoute'] as const)('%s leads to a port that the Service has', async (way) => {
    const opened = way === 'ingress' ? INGRESS : ROUTE;
    const values = { [way]: { hooks: opened }, services: { http: { port: 8080 } } };
    const objects = await renderChart('fleetrelay', withValues(releaseOf(SERVER_RELEASES, 'least'), values));
    const opening = objects.find(({ kind }) => /^(Ingress|HTTPRoute)$/.test(kind));
    const backend =
      way === 'ingress'
        ? opening?.spec.rules[0].http.paths[0].backend.service
        : {
            name: opening?.spec.rules[0].backendRefs[0].name,
            port: { number: opening?.spec.rules[0].backendRefs[0].port },
          };
    const service = objects.find(({ kind, metadata }) => kind === 'Service' && metadata.name === backend.name);
    const ports: readonly { readonly name: string; readonly port: number }[] = service?.spec.ports ?? [];
    expect(ports.filter(({ name, port }) => backend.port.name === name || backend.port.number === port)).toHaveLength(
      1,
    );
    expect(ports[0]?.port).toBe(8080);
  });

  test('the chart of the definitions has all of deploy/crds, and leaves out what is excluded', async () => {
    const files = globSync('deploy/crds/*_*.yaml', { cwd: PROJECT });
    const wanted = new Map(
      files.flatMap((path) => objectsOf(read(path))).map((object) => [object.metadata.name, object.spec]),
    );
    const rendered = await renderChart('fleetrelay-crds', releaseOf(CRD_RELEASES, 'least'));
    expect(new Map(rendered.map((object) => [object.metadata.name, object.spec]))).toEqual(wanted);
    const keep = { 'helm.sh/resource-policy': 'keep' };
    for (const { metadata } of rendered) expect(metadata.annotations).toEqual(keep);
    const beside = await renderChart('fleetrelay-crds', releaseOf(CRD_RELEASES, 'beside-others'));
    expect(beside).toHaveLength(wanted.size - 2);
    for (const { metadata } of beside) expect(metadata.annotations).toBeUndefined();
  });

  test('the notes of an open server name its hooks, and the label that lets the controller in', async () => {
    const release = releaseOf(SERVER_RELEASES, 'most');
    const notes = await inFolder(async (folder) =>
      runHelm(['install', ...releaseArguments(folder, 'fleetrelay', release), '--dry-run=client']),
    );
    expect(notes).toContain('https://hooks.example.com/hooks/git\n');
    expect(notes).toContain('fleetrelay.dev/api=allowed');
  });
});

/** The release with these values beside its own; objects are merged. */
function withValues(release: Release, values: object): Release {
  return { ...release, values: merged(release.values, values) as object };
}

function merged(one: unknown, other: unknown): unknown {
  if (!isObject(one) || !isObject(other)) return other;
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return Object.fromEntries(keys.map((key) => [key, key in other ? merged(one[key], other[key]) : one[key]]));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Paths of all values that hold no further ones, with the value as a README shows it. */
function leaves(value: unknown, at = ''): readonly (readonly [path: string, shown: string])[] {
  if (isObject(value) && Object.keys(value).length > 0 && !AS_ONE.has(at)) {
    return Object.entries(value).flatMap(([name, part]) => leaves(part, at === '' ? name : `${at}.${name}`));
  }
  return [[at, typeof value === 'string' && value !== '' ? value : JSON.stringify(value)]];
}

/** Values of Kubernetes' own, which the schema does not look into. */
const AS_ONE = new Set([
  ...['resources', 'podSecurityContext', 'securityContext', 'dataVolume'],
  'monitoring.dashboardLabels',
]);

function pathsOf({ kind, spec }: Manifest): readonly string[] {
  return kind === 'Ingress'
    ? spec.rules.flatMap(({ http }: Manifest) => http.paths.map(({ path }: Manifest) => path))
    : spec.rules.flatMap(({ matches }: Manifest) => matches.map(({ path }: Manifest) => path.value));
}
