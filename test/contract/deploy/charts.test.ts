import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import { decodeRelayConfig } from '../../../src/manifest/relay-config.ts';
import { AGENT_RELEASES, SERVER_RELEASES } from './releases.ts';
import {
  lintChart,
  type Manifest,
  noHelm,
  noKubectl,
  PROJECT,
  renderChart,
  renderKustomization,
  renderOverlay,
} from './rendering.ts';

type Schema = { readonly [key: string]: unknown };

const readSchema = (path: string): Schema => JSON.parse(readFileSync(join(PROJECT, path), 'utf8'));

describe.skipIf(noHelm)('charts', () => {
  test.for(Object.entries(SERVER_RELEASES))('management server, %s: nothing to complain of', async ([, release]) => {
    expect(await lintChart('fleetrelay', release.values)).toBe('');
    const objects = await renderChart('fleetrelay', release);
    const config = configOf(objects);
    expect(decodeRelayConfig('relay-config.yaml', config).diagnostics).toEqual([]);
  });

  test.for(Object.entries(AGENT_RELEASES))('agent, %s: nothing to complain of', async ([, release]) => {
    expect(await lintChart('fleetrelay-agent', release.values)).toBe('');
    expect((await renderChart('fleetrelay-agent', release)).length).toBeGreaterThan(5);
  });

  test('every field of RelayConfig is a value of the same name, and arrives', async () => {
    const schema = readSchema('schemas/relay-config.json');
    const fields = fieldPaths(schema, schema).filter(([first]) => first !== 'apiVersion' && first !== 'kind');
    expect(fields.length).toBeGreaterThan(30);
    for (const path of fields) {
      const values = {
        sources: [GIT],
        customResources: { enabled: path[2] === 'kubernetes' },
        ...nested(path, sample(schema, path)),
      };
      if (path[0] === 'sources') values.sources = mergedSource(values.sources);
      const rendered = await renderChart('fleetrelay', { name: 'fleetrelay', namespace: 'x', values }).catch(
        (error: Error) => error,
      );
      expect(rendered, `${path.join('.')} is a value`).not.toBeInstanceOf(Error);
      const written = load(new TextDecoder().decode(configOf(rendered as readonly Manifest[])));
      expect(valueAt(written, path), path.join('.')).toEqual(sample(schema, path));
    }
  }, 180_000);

  test('every field of a FleetPolicy can be said, and is a source of its own', async () => {
    const policy = {
      guards: { maxRemovalsPerCluster: 3 },
      status: { enabled: false },
      discovery: { excludedNamespaces: ['kube-system'] },
      drift: { ignoredFields: [{ group: 'apps', kind: 'Deployment', fields: ['spec.replicas'] }] },
    };
    const schema = readSchema('schemas/fleet-policy.json');
    const said = [...Object.keys(policy), 'safeMode'].sort();
    expect(Object.keys(propertiesOf(propertiesOf(schema).spec)).sort(), 'this test says all of them').toEqual(said);
    const values = { sources: [GIT], policy, safeMode: { mode: 'strict' } };
    const objects = await renderChart('fleetrelay', { name: 'fleetrelay', namespace: 'x', values });
    const settings = objects.find(({ kind }) => kind === 'ConfigMap');
    expect(load(settings?.data['fleet-policy.yaml'])).toMatchObject({
      kind: 'FleetPolicy',
      spec: { ...policy, safeMode: { mode: 'strict' } },
    });
    const config = load(settings?.data['relay-config.yaml']) as { readonly sources: readonly unknown[] };
    expect(config.sources).toEqual([{ name: 'chart', files: { path: '/etc/fleetrelay/policy' } }, GIT]);
  });

  test.for([
    ['fleetrelay', { sources: [GIT], relay: { lissten: {} } }, /lissten/],
    ['fleetrelay', { sources: [GIT], persistance: {} }, /persistance/],
    ['fleetrelay', { sources: [] }, /sources/],
    ['fleetrelay', { sources: [{ name: 'crs', kubernetes: {} }] }, /customResources\.enabled/],
    ['fleetrelay', { sources: [GIT], safeMode: { mode: 'stricter' } }, /safeMode/],
    ['fleetrelay', { sources: [GIT], policy: { guard: {} } }, /guard/],
    ['fleetrelay', { sources: [GIT], logLevel: 'loud' }, /logLevel/],
    ['fleetrelay-agent', { ...agent(), cluster: 'East' }, /cluster/],
    ['fleetrelay-agent', { ...agent(), relay: { serverAddress: 'https://relay:9900' } }, /serverAddress/],
    ['fleetrelay-agent', { ...agent(), replicas: 3 }, /replicas/],
    ['fleetrelay-agent', { ...agent(), rbac: { secret: true } }, /secret/],
    [
      'fleetrelay-agent',
      { ...agent(), leaderElection: { enabled: false } },
      /two agents would work against each other/,
    ],
    ['fleetrelay-agent', { ...agent(), relay: { serverAddress: 'a:1' } }, /needs a token/],
    ['fleetrelay-agent', { ...agent(), relay: { ...agent().relay, token: 'x' } }, /say one/],
  ] as const)('%s refuses %j', async ([chart, values, complaint]) => {
    await expect(renderChart(chart, { name: 'x', namespace: 'x', values })).rejects.toThrow(complaint);
  });

  test('custom resources are read where they are enabled, as a source says or all of them', async () => {
    const sourcesWith = async (sources: readonly object[], enabled: boolean) => {
      const values = { sources, customResources: { enabled } };
      const objects = await renderChart('fleetrelay', { name: 'fleetrelay', namespace: 'x', values });
      return decodeRelayConfig('relay-config.yaml', configOf(objects)).config?.sources.map(({ type }) => type);
    };
    expect(await sourcesWith([GIT], false)).toEqual(['git']);
    expect(await sourcesWith([GIT], true)).toEqual(['git', 'kubernetes']);
    expect(await sourcesWith([{ name: 'crs', kubernetes: { namespaces: ['a'] } }, GIT], true)).toHaveLength(2);
    const elsewhere = { name: 'crs', kubernetes: { kubeconfig: '/etc/fleetrelay/secrets/management/kubeconfig' } };
    expect(await sourcesWith([elsewhere], false)).toEqual(['kubernetes']);
  });

  test.skipIf(noKubectl)('the component for custom resources turns them on', async () => {
    const up = '../../../../deploy/kustomize';
    const [server] = (
      await renderOverlay({
        'kustomization.yaml': [
          'apiVersion: kustomize.config.k8s.io/v1beta1',
          'kind: Kustomization',
          `resources: [${up}/management-server]`,
          `components: [${up}/components/server-custom-resources]`,
        ].join('\n'),
      })
    ).filter(({ kind }) => kind === 'Deployment');
    const { automountServiceAccountToken, containers } = server?.spec.template.spec ?? missing();
    expect(automountServiceAccountToken).toBe(true);
    expect(containers[0].args).toContain('--custom-resources');
    expect(containers[0].args[0]).toBe('serve');
  });

  test('the token of the API is not made where there is one', async () => {
    const kinds = async (name: keyof typeof SERVER_RELEASES) =>
      (await renderChart('fleetrelay', SERVER_RELEASES[name] ?? missing())).map(({ kind }) => kind);
    expect(await kinds('least')).toContain('Secret');
    expect(await kinds('most')).not.toContain('Secret');
    expect(await kinds('without a volume')).not.toContain('Secret');
  });

  test.skipIf(noKubectl)('the charts and the kustomize bases say the same', async () => {
    for (const [chart, base, release] of [
      ['fleetrelay-agent', 'agent', AGENT_RELEASES.least ?? missing()],
      ['fleetrelay', 'management-server', SERVER_RELEASES.least ?? missing()],
    ] as const) {
      const byChart = new Map((await renderChart(chart, release)).map((object) => [nameOf(object), object]));
      for (const object of await renderKustomization(join(PROJECT, 'deploy', 'kustomize', base))) {
        // A chart may share its namespace, so it neither makes it nor shuts it.
        if (object.kind === 'Namespace' || object.metadata.name.endsWith('-default-deny')) continue;
        const other = byChart.get(nameOf(object));
        expect(other, nameOf(object)).toBeDefined();
        if (object.rules !== undefined) expect(other?.rules, nameOf(object)).toEqual(object.rules);
        if (object.subjects !== undefined) expect(other?.subjects, nameOf(object)).toEqual(object.subjects);
        if (object.kind === 'Deployment') samePods(object, other ?? missing());
      }
    }
  });
});

const GIT = { name: 'fleet', git: { url: 'https://git.example.com/fleet.git' } };

function agent() {
  return { cluster: 'east', relay: { serverAddress: 'relay.example.com:9900', tokenSecret: { name: 'token' } } };
}

function missing(): never {
  throw new Error('this is not there');
}

/** Names of generated ConfigMaps end in a digest. */
function nameOf({ kind, metadata }: Manifest): string {
  return `${kind}/${metadata.name.replace(/-[a-z0-9]{10}$/, '')}`;
}

function samePods(base: Manifest, chart: Manifest): void {
  const [ours, theirs] = [base.spec.template.spec, chart.spec.template.spec];
  expect(theirs.securityContext).toEqual(ours.securityContext);
  expect(theirs.automountServiceAccountToken).toBe(ours.automountServiceAccountToken);
  const [mine, other] = [ours.containers[0], theirs.containers[0]];
  for (const field of [
    'args',
    'env',
    'ports',
    'livenessProbe',
    'readinessProbe',
    'startupProbe',
    'resources',
    'securityContext',
    'image',
  ]) {
    expect(withoutDigests(other[field]), `${base.metadata.name} ${field}`).toEqual(withoutDigests(mine[field]));
  }
}

function withoutDigests(value: unknown): unknown {
  return value === undefined
    ? undefined
    : JSON.parse(JSON.stringify(value).replaceAll(/(fleetrelay-[a-z-]+)-[a-z0-9]{10}"/g, '$1"'));
}

function configOf(objects: readonly Manifest[]): Uint8Array {
  const settings = objects.find(({ kind }) => kind === 'ConfigMap');
  return new TextEncoder().encode(settings?.data['relay-config.yaml']);
}

/** Paths of all fields that hold a value themselves; `0` stands for the first item of a list. */
function fieldPaths(root: Schema, schema: Schema, at: readonly string[] = []): readonly (readonly string[])[] {
  const here = resolved(root, schema);
  const properties = Object.entries(propertiesOf(here));
  if (properties.length > 0) {
    return properties.flatMap(([name, part]) => fieldPaths(root, part as Schema, [...at, name]));
  }
  const items = here.items as Schema | undefined;
  if (items !== undefined && Object.keys(propertiesOf(resolved(root, items))).length > 0) {
    return fieldPaths(root, items, [...at, '0']);
  }
  return [at];
}

function schemaAt(root: Schema, path: readonly string[]): Schema {
  return path.reduce((schema, step) => {
    const here = resolved(root, schema);
    return (step === '0' ? here.items : propertiesOf(here)[step]) as Schema;
  }, root);
}

/** A value that is allowed and, where that can be, not the default. */
function sample(root: Schema, path: readonly string[]): unknown {
  const schema = resolved(root, schemaAt(root, path));
  const [example] = (schema.examples ?? []) as readonly unknown[];
  if (path.join('.') === 'relay.tls.mode') return 'none';
  // The chart adds the names of its Service; they are its own where certificates are given.
  if (Array.isArray(schema.enum)) return schema.enum.at(-1);
  if (schema.type === 'boolean') return schema.default !== true;
  if (example !== undefined) return example;
  return schema.type === 'integer' || schema.type === 'number' ? schema.minimum : 'a-value';
}

function resolved(root: Schema, schema: Schema): Schema {
  const reference = schema.$ref;
  if (typeof reference !== 'string') return schema;
  return (root.$defs as Schema)[reference.replace('#/$defs/', '')] as Schema;
}

function propertiesOf(schema: unknown): Schema {
  return ((schema as Schema | undefined)?.properties ?? {}) as Schema;
}

function nested(path: readonly string[], value: unknown): Record<string, unknown> {
  const [step = '', ...rest] = path;
  const inner = rest.length === 0 ? value : nested(rest, value);
  return step === '0' ? ([inner] as unknown as Record<string, unknown>) : { [step]: inner };
}

/** A source needs a name and one kind of place. */
function mergedSource(sources: unknown): (typeof GIT)[] {
  const [source] = sources as [{ readonly git?: object; readonly files?: object }];
  const place = Object.entries(source).find(([key]) => key !== 'name');
  const needed =
    place === undefined ? GIT : place[0] === 'git' ? { ...GIT, git: { ...GIT.git, ...source.git } } : source;
  return [
    { ...needed, ...(place === undefined ? source : {}), name: (source as { name?: string }).name ?? 'fleet' },
  ] as (typeof GIT)[];
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  const found = path.reduce<unknown>((part, step) => (part as Schema | undefined)?.[step], value);
  // The names of the Service are added to those that were given.
  return path.join('.') === 'relay.tls.names' ? (found as readonly string[]).slice(0, 1) : found;
}
