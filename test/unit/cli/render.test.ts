import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { load } from 'js-yaml';
import { afterEach, describe, expect, test } from 'vitest';
import { writeRendering } from '../../../src/cli/commands/render.ts';
import { compositionRoots } from '../../../src/cli/roots.ts';
import { systemDeps } from '../../../src/compose/kube.ts';
import { readCheckout } from '../../../src/compose/read-checkout.ts';
import { evaluate, openStatusFolder, readRecordedClusters } from '../../../src/compose/render/evaluate.ts';
import { renderingOf } from '../../../src/compose/render/render.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { type CliRun, runCli } from '../../support/cli.ts';
import { type Archive, parseArchive, unpackArchive } from '../../support/txtar.ts';

const AT = '2026-01-01T00:00:00Z';

const made: string[] = [];
afterEach(() => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true });
});

/** A folder with these files. */
function folderWith(files: Readonly<Record<string, string>> | Archive): string {
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-render-'));
  made.push(folder);
  unpackArchive(files instanceof Map ? files : Object.entries(files), folder);
  return folder;
}

/** A folder with the files of a golden case. */
function golden(name: string): string {
  return folderWith(parseArchive(readFileSync(join(import.meta.dirname, `../../golden/render/${name}.txtar`), 'utf8')));
}

function render(cwd: string, ...args: readonly string[]): Promise<CliRun> {
  return runCli(['render', ...args], { cwd, roots: compositionRoots });
}

const EAST = 'apiVersion: admin.gloo.solo.io/v2\nkind: KubernetesCluster\nmetadata: {name: east}\n';
const BROKEN = 'kind: [\n';

describe('render ends with', () => {
  test('0 and nothing on stderr where all is well', async () => {
    const { code, out, err } = await render(folderWith({ 'east.yaml': EAST }));
    expect([code, err]).toEqual([0, '']);
    expect(JSON.parse(out)).toMatchObject({ outputs: { east: [] }, diagnostics: [] });
  });

  test('1 if a document is invalid; stderr names its place as validate does, and the rest is evaluated', async () => {
    const cwd = folderWith({ 'repo/east.yaml': EAST, 'repo/apps/broken.yaml': BROKEN });
    const { code, out, err } = await render(cwd, 'repo');
    expect(code).toBe(1);
    const { out: found } = await runCli(['validate', 'repo'], { cwd, roots: compositionRoots });
    expect(err).toMatch(/^repo\/apps\/broken\.yaml:\d+:\d+: error FR\d+: /);
    expect(found.startsWith(err)).toBe(true);
    expect(JSON.parse(out)).toMatchObject({
      outputs: { east: [] },
      diagnostics: [{ severity: 'error', at: { path: 'apps/broken.yaml' } }],
    });
  });

  test('1 if a file of a cluster cannot be read', async () => {
    const cwd = folderWith({ 'repo/east.yaml': EAST, 'live/east/cluster/namespace/web.yaml': BROKEN });
    const { code, err } = await render(cwd, 'repo', '--clusters', 'live/');
    expect(code).toBe(1);
    expect(err).toMatch(/^live\/east\/cluster\/namespace\/web\.yaml: error FR\d+: /);
  });

  test.each([
    [['nowhere'], 'nowhere'],
    [['.', '--clusters', 'nowhere'], 'the clusters in'],
    [['.', '--status', 'nowhere'], 'the status in'],
  ])('1 if a folder is not there: %j', async (args, said) => {
    const { code, out, err } = await render(folderWith({ 'east.yaml': EAST }), ...args);
    expect(err).toContain(said);
    expect([code, out]).toEqual([1, '']);
  });

  test('1 if the output folder is not empty, and writes nothing', async () => {
    const cwd = folderWith({ 'repo/east.yaml': EAST, 'out/mine.txt': 'mine' });
    const { code, out, err } = await render(cwd, 'repo', '--output-dir', 'out');
    expect(err).toContain('is not empty');
    expect([code, out, readdirSync(join(cwd, 'out'))]).toEqual([1, '', ['mine.txt']]);
  });
});

describe('the output of render', () => {
  const inGolden = (name: string, ...args: readonly string[]): Promise<CliRun> =>
    render(golden(name), 'repo', '--clusters', 'clusters', '--at', AT, ...args);

  test('is the same bytes for the same input', async () => {
    expect(await inGolden('mirroring')).toEqual(await inGolden('mirroring'));
  });

  test('does not depend on the order in which files and clusters are read', async () => {
    const deps = systemDeps();
    for (const name of ['placement', 'mirroring', 'invalid']) {
      const folder = golden(name);
      const checkout = await readCheckout(deps, join(folder, 'repo'));
      const clusters = await readRecordedClusters(join(folder, 'clusters'), deps.clock);
      const printed = async (files: typeof checkout.files, among: typeof clusters): Promise<string> => {
        const engine = evaluate({ ...checkout, files }, among, 0);
        const parts: string[] = [];
        const rendering = await renderingOf(engine, checkout, clusters, 0);
        writeRendering(
          { write: (part) => void parts.push(part), isTerminal: false, colour: false, columns: 80 },
          'json',
          rendering,
        );
        return parts.join('');
      };
      const straight = await printed(checkout.files, clusters);
      expect(await printed(new Map([...checkout.files].reverse()), clusters.toReversed())).toBe(straight);
    }
  });

  test('is JSON with an indentation of two, and the same as YAML', async () => {
    const { out } = await inGolden('mirroring');
    expect(`${JSON.stringify(JSON.parse(out), undefined, 2)}\n`).toBe(out);
    const { out: yaml } = await inGolden('mirroring', '-o', 'yaml');
    expect(load(yaml)).toEqual(JSON.parse(out));
  });

  test('is well-formed without a cluster', async () => {
    const cwd = folderWith({});
    const { out } = await render(cwd, '--at', AT);
    expect(JSON.parse(out)).toMatchObject({ outputs: {}, statuses: {} });
    const { out: yaml } = await render(cwd, '--at', AT, '-o', 'yaml');
    expect(load(yaml)).toEqual(JSON.parse(out));
  });

  test('goes beside an output folder only when -o asks for it', async () => {
    const cwd = folderWith({ 'repo/east.yaml': EAST });
    expect((await render(cwd, 'repo', '--output-dir', 'a')).out).toBe('');
    expect((await render(cwd, 'repo', '--output-dir', 'b', '-o', 'json')).out).toContain('"outputs"');
    expect(readdirSync(join(cwd, 'a'))).toEqual(['east']);
  });
});

describe('recorded clusters', () => {
  test('are only read: temporary files of an agent stay', async () => {
    const left = 'live/east/namespaces/web/configmap/.fleetrelay-1.tmp';
    const cwd = folderWith({ 'repo/east.yaml': EAST, [left]: '' });
    expect((await render(cwd, 'repo', '--clusters', 'live')).code).toBe(0);
    expect(existsSync(join(cwd, left))).toBe(true);
  });

  test('an object that equals one derived from live state is not live state', async () => {
    const deps = systemDeps();
    const folder = golden('mirroring');
    const checkout = await readCheckout(deps, join(folder, 'repo'));
    const clusters = await readRecordedClusters(join(folder, 'clusters'), deps.clock);
    const { inputs } = evaluate(checkout, clusters, 0);
    expect([...inputs.live.entries('west')].map(({ key }) => key)).toEqual(['/Service/web/cart']);
  });

  test('the engine observes the status written last, and times in the future are replaced by now', async () => {
    const folder = golden('status');
    const checkout = await readCheckout(systemDeps(), join(folder, 'repo'));
    const written = openStatusFolder(join(folder, 'status'));
    const { inputs } = evaluate(checkout, [], Date.parse('2026-03-01T12:00:00Z') / 1000, written);
    expect([...inputs.observed.entries('KubernetesCluster')].map(({ key }) => key).sort()).toEqual(['east', 'west']);
    const { conditions = [] } = inputs.observed.get('KubernetesCluster', 'west') ?? {};
    const times = Object.fromEntries(conditions.map(({ type, lastTransitionTime }) => [type, lastTransitionTime]));
    expect(times).toMatchObject({ Ready: '2026-02-01T00:00:00Z', Reconciling: '2026-03-01T12:00:00Z' });
  });

  test('the output folder, read as clusters, is wholly applied', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 30 }),
      fc.constantFrom('', 'no', '1e3', ' a\n\n b\n', '- x'),
    );
    const named = fc.record({
      name: fc.stringMatching(/^[a-z]([a-z0-9.-]{0,20}[a-z0-9])?$/),
      annotations: fc.option(fc.dictionary(fc.constantFrom('a', 'b', 'example.com/c'), text), { nil: undefined }),
    });
    const configMap = fc.record({ metadata: named, data: fc.dictionary(fc.constantFrom('k', 'other', 'x.y'), text) });
    const widget = fc.record({
      metadata: named,
      spec: fc.dictionary(fc.constantFrom('size', 'on', 'list'), fc.jsonValue()),
    });
    const object: fc.Arbitrary<JsonObject> = fc.oneof(
      configMap.map((fields) => ({ apiVersion: 'v1', kind: 'ConfigMap', ...fields }) as unknown as JsonObject),
      widget.map((fields) => ({ apiVersion: 'example.com/v1', kind: 'Widget', ...fields }) as unknown as JsonObject),
    );
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(object, { maxLength: 8, selector: nameOf }), async (objects) => {
        const files = objects.map(
          (object, index) => [`repo/clusters/east/${index}.json`, JSON.stringify(object)] as const,
        );
        // A cluster that nothing is known of need not be a directory.
        const cwd = folderWith({
          'repo/clusters/east.yaml': EAST,
          'empty/east/.keep': '',
          ...Object.fromEntries(files),
        });
        const written = await render(cwd, 'repo', '--clusters', 'empty', '--output-dir', 'live');
        // A number that JSON cannot hold exactly is an error.
        fc.pre(written.code === 0);
        const recorded = await render(cwd, 'repo', '--clusters', 'live', '--at', AT);
        const { outputs, statuses } = JSON.parse(recorded.out);
        const { targeted, applied } = statuses['clusters/east.yaml'].status.counts;
        expect([recorded.code, applied]).toEqual([0, targeted]);
        expect(outputs.east).toHaveLength(objects.length);
      }),
      { numRuns: 60 },
    );
  });
});

function nameOf({ kind, metadata }: JsonObject): string {
  return `${kind}/${(metadata as JsonObject).name}`;
}
