import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultRevisionLimits } from '../../../../src/model/limits/revision-limits.ts';
import type { TreeChange } from '../../../../src/ports/git-repo.ts';
import { judgedFiles } from '../../../../src/sources/tree/judge-nodes.ts';
import type { ReadTreeFile } from '../../../../src/sources/tree/tree-file.ts';
import { treeOfParts, treeParts } from '../../../../src/sources/tree/tree-parts.ts';
import { changesTo, emptyTree, readTree, type Tree } from '../../../../src/sources/tree/tree-reader.ts';
import { decodeFile } from '../../../support/decode-file.ts';
import { bytesOf } from '../../../support/decoding.ts';

const object = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;
const CHART = 'apiVersion: v2\nname: a\nversion: 1.0.0\n';

const CLAIMED: unknown = expect.stringMatching(/^a\/Chart\.yaml claims the file/);

const CLUSTER = 'apiVersion: admin.gloo.solo.io/v2\nkind: KubernetesCluster\nmetadata: {name: east}\n';
/** A manifest beside a document that SOPS has encrypted. */
const MIXED = `${object('m')}---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: web}\nsops: {mac: a}\n`;

type Files = Readonly<Record<string, string>>;

const readBlob: ReadTreeFile = (_path, { blob }) => Promise.resolve({ bytes: bytesOf(blob) });

/** Reads the tree that differs from another one by files; null removes one. The blob of a file is its text. */
async function read(before: Tree, changed: Readonly<Record<string, string | null>>) {
  const decoded: string[] = [];
  const changes = Object.entries(changed).map(
    ([path, text]): TreeChange => ({
      path,
      entry: text === null ? null : { kind: 'file', blob: text, size: text.length },
    }),
  );
  const result = await readTree(
    {
      decode: (path, bytes, blob) => {
        decoded.push(path);
        return decodeFile(path, bytes, blob);
      },
      read: readBlob,
      maxFileBytes: 10_000,
      limits: defaultRevisionLimits,
    },
    before,
    changes,
  );
  if ('excess' in result) throw new Error('the tree exceeds a limit');
  return { ...result, decoded: decoded.sort() };
}

function readFrom(before: Tree, files: Files) {
  const entries = new Map(
    Object.entries(files).map(([path, blob]) => [path, { kind: 'file' as const, blob, size: blob.length }]),
  );
  const changed = changesTo(before, entries).map(({ path, entry }) => [path, entry?.blob ?? null] as const);
  return read(before, Object.fromEntries(changed));
}

/** The paths that are read as manifests, and the codes of the findings. */
function readingOf({ nodes, diagnostics }: Tree) {
  const manifests = [...nodes].filter(([, { file }]) => file !== undefined).map(([path]) => path);
  return [...manifests.sort(), ...diagnostics.map(({ code, at }) => `${code} ${at?.path}`)];
}

/** What can be compared of a tree. */
function withoutFunctions({ nodes, membership: _, placementSteps, ...tree }: Tree) {
  const placements = [...placementSteps.placements].map(([path, each]) => [
    path,
    each.flatMap(({ name, globs }) => [name, ...globs.map(({ text }) => text)]),
  ]);
  return { ...tree, placementSteps: { ...placementSteps, placements: placements.sort() }, nodes: [...nodes].sort() };
}

const PLACEMENT = (path: string): string =>
  `apiVersion: fleetrelay.dev/v1alpha1\nkind: Placement\nmetadata: {name: web}\nspec: {paths: ['${path}'], clusters: {names: [east]}}\n`;

describe('files of other tools in a tree', () => {
  const files = {
    'web/kustomization.yaml': 'resources: [d.yaml]\npatches: [{path: patch.yaml}]\n',
    'web/d.yaml': object('d'),
    'web/patch.yaml': 'spec: {}\n',
    'web/values.yaml': 'replicas: 1\n',
    'chart/Chart.yaml': CHART,
    'chart/values.yaml': 'replicas: 1\n',
  };
  const severities = ({ diagnostics }: Tree) => diagnostics.map(({ severity, at }) => `${severity} ${at?.path}`);
  const quiet = ['warning chart/Chart.yaml', 'warning web/kustomization.yaml', 'warning web/values.yaml'];

  it('are no fault beside desired state', async () => {
    const { tree } = await read(emptyTree, files);
    expect(severities(tree)).toEqual(quiet);
    expect(tree.unreadable).toBe(0);
    const elsewhere = await read(tree, { 'p.yaml': PLACEMENT('other') });
    expect(severities(elsewhere.tree)).toEqual(quiet);
  });

  it.each([
    ['web', ['error web/kustomization.yaml', 'error web/values.yaml']],
    ['web/d.yaml', ['error web/kustomization.yaml']],
    ['web/values.yaml', ['error web/values.yaml']],
    ['chart/*.yaml', ['error chart/Chart.yaml']],
  ])('are a fault where a Placement selects %s', async (path, faults) => {
    const placed = await read((await read(emptyTree, files)).tree, { 'p.yaml': PLACEMENT(path) });
    expect(severities(placed.tree).filter((each) => each.startsWith('error'))).toEqual(faults);
    expect(placed.tree.unreadable).toBe(faults.length);
    expect(placed.decoded).toEqual(['p.yaml']);
    const anew = await read(emptyTree, { ...files, 'p.yaml': PLACEMENT(path) });
    expect(anew.tree.diagnostics).toEqual(placed.tree.diagnostics);
    const back = await read(placed.tree, { 'p.yaml': null });
    expect(severities(back.tree)).toEqual(quiet);
  });

  it('name the kustomization that claims a file which a Placement selects', async () => {
    const placement = PLACEMENT('web/d.yaml');
    const before = await read(emptyTree, { 'web/d.yaml': object('d'), 'p.yaml': placement });
    const claimed = await read(before.tree, { 'web/kustomization.yaml': 'resources: [d.yaml]\n' });
    expect(claimed.changes).toContainEqual({
      path: 'web/d.yaml',
      file: {
        readable: false,
        blob: object('d'),
        findings: ['web/kustomization.yaml claims the file, and fleetrelay renders no kustomizations'],
        notRead: 'web/kustomization.yaml claims the file, and fleetrelay renders no kustomizations',
      },
    });
  });

  it('are a fault under clusters/: a chart of a fleet, a file with neither apiVersion nor kind in any case', async () => {
    const under = Object.fromEntries(Object.entries(files).map(([path, text]) => [`clusters/east/${path}`, text]));
    const alone = await read(emptyTree, under);
    expect(severities(alone.tree)).toContain('error clusters/east/web/values.yaml');
    expect(severities(alone.tree)).toContain('warning clusters/east/web/kustomization.yaml');
    const fleet = await read(alone.tree, { 'clusters/east/cluster.yaml': CLUSTER });
    expect(severities(fleet.tree)).toContain('error clusters/east/web/kustomization.yaml');
    expect(severities(fleet.tree)).toContain('error clusters/east/chart/Chart.yaml');
  });
});

describe('charts and kustomizations of a tree', () => {
  it('nothing in the folder of a chart is decoded, and the chart is one finding', async () => {
    const { tree, decoded } = await read(emptyTree, {
      'a/Chart.yaml': CHART,
      'a/values.yaml': 'replicas: 1\n',
      'a/templates/x.yaml': 'a: {{ .Values }}\n',
      'a/charts/b/Chart.yaml': CHART,
      'a/kustomization.yaml': 'resources: [x.yaml]\n',
      'ab/x.yaml': object('x'),
    });
    expect(readingOf(tree)).toEqual(['a/Chart.yaml', 'ab/x.yaml', 'FR1030 a/Chart.yaml']);
    expect(decoded).toEqual(['a/Chart.yaml', 'ab/x.yaml']);
    expect(tree.unreadable).toBe(0);
  });

  it('files and folders that a kustomization names are no manifests; their kustomizations are findings', async () => {
    const files = {
      'base/kustomization.yaml': 'resources: [d.yaml]\n',
      'base/d.yaml': object('d'),
      'base/other.yaml': object('other'),
      'prod/kustomization.yaml': 'resources: [../base]\npatches: [{path: patch.yaml}]\n',
      'prod/patch.yaml': 'spec: {replicas: 2}\n',
      'prod/object.yaml': object('object'),
    };
    const { tree } = await read(emptyTree, files);
    expect(readingOf(tree)).toEqual([
      ...['base/kustomization.yaml', 'prod/kustomization.yaml', 'prod/object.yaml'],
      ...['FR1031 base/kustomization.yaml', 'FR1031 prod/kustomization.yaml'],
    ]);
    const ignored = await read(tree, { '.fleetrelayignore': 'kustomization.yaml\nprod/patch.yaml\n' });
    expect(readingOf(ignored.tree)).toEqual(['base/d.yaml', 'base/other.yaml', 'prod/object.yaml']);
    expect(ignored.tree.unreadable).toBe(0);
  });

  it('two kustomizations that name each other are both findings', async () => {
    const { tree } = await read(emptyTree, {
      'a/kustomization.yaml': 'resources: [../b]\n',
      'b/kustomization.yaml': 'resources: [../a]\n',
      'a/x.yaml': object('x'),
    });
    expect(readingOf(tree)).toEqual([
      ...['a/kustomization.yaml', 'b/kustomization.yaml'],
      ...['FR1031 a/kustomization.yaml', 'FR1031 b/kustomization.yaml'],
    ]);
  });

  it('beside a kustomization that cannot be parsed nothing is taken for a manifest', async () => {
    const { tree } = await read(emptyTree, { 'a/kustomization.yaml': 'resources: [', 'a/x.yaml': object('x') });
    expect(readingOf(tree)).toEqual(['a/kustomization.yaml', 'FR1010 a/kustomization.yaml']);
  });

  it('a chart that appears and vanishes changes the reading of its neighbours, and nothing else is decoded', async () => {
    const before = await read(emptyTree, { 'a/x.yaml': object('x'), 'a/y/z.yaml': object('z'), 'b.yaml': object('b') });
    const appeared = await read(before.tree, { 'a/Chart.yaml': CHART });
    expect(appeared.decoded).toEqual(['a/Chart.yaml']);
    expect(appeared.changes).toEqual([
      { path: 'a/Chart.yaml', file: expect.objectContaining({ readable: true, documents: [] }) },
      { path: 'a/x.yaml', file: expect.objectContaining({ documents: [], notRead: CLAIMED }) },
      { path: 'a/y/z.yaml', file: expect.objectContaining({ documents: [], notRead: CLAIMED }) },
    ]);
    const gone = await read(appeared.tree, { 'a/Chart.yaml': null });
    expect(gone.decoded).toEqual(['a/x.yaml', 'a/y/z.yaml']);
    expect(readingOf(gone.tree)).toEqual(readingOf(before.tree));
    const same = await read(appeared.tree, { 'b.yaml': object('c') });
    expect([same.decoded, same.changes.map(({ path }) => path)]).toEqual([['b.yaml'], ['b.yaml']]);
  });

  it('a tree that is read by changes equals the tree that is read anew', async () => {
    const folder = fc.constantFrom('', 'a/', 'a/b/', 'a/b/c/', 'd/', 'clusters/east/');
    const name = fc.constantFrom('Chart.yaml', 'kustomization.yaml', 'Kustomization', 'x.yaml', 'y.json');
    const path = fc.oneof(
      fc.tuple(folder, name).map((parts) => parts.join('')),
      fc.constant('.fleetrelayignore'),
    );
    const content = fc.constantFrom(
      ...[CHART, object('x'), 'resources: [x.yaml]\n', 'resources: [../d, b]\n', 'resources: [../a]\n', '[', ''],
      ...['Chart.yaml\n', 'a/\n', 'kustomization.yaml\n', '/a/b\n!a/b/c\n', 'replicas: 1\n', MIXED, CLUSTER],
      ...[PLACEMENT('a'), PLACEMENT('d/x.yaml')],
    );
    const tree = fc.dictionary(path, content, { maxKeys: 12 });
    await fc.assert(
      fc.asyncProperty(fc.array(tree, { minLength: 1, maxLength: 5 }), async (history) => {
        let current = emptyTree;
        /** The same tree as the process for plans gets it: in parts. */
        let inParts = emptyTree;
        const seen = new Map<string, unknown>();
        for (const files of history) {
          const { tree: next, changes } = await readFrom(current, files);
          const anew = await readFrom(emptyTree, files);
          const planned = await readFrom(inParts, files);
          expect([planned.changes, planned.tree.diagnostics]).toEqual([changes, next.diagnostics]);
          expect(withoutFunctions(next)).toEqual(withoutFunctions(anew.tree));
          for (const { path: changed, file } of changes) {
            if (file === null) seen.delete(changed);
            else seen.set(changed, file);
          }
          const readings = [...judgedFiles(next.nodes)].map(([at, { reading }]) => [at, reading] as const);
          expect(new Map([...seen].sort())).toEqual(new Map(readings.sort()));
          current = next;
          inParts = await treeOfParts(structuredClone([...treeParts(next)]), readBlob);
        }
      }),
      { numRuns: 500 },
    );
  });
});
