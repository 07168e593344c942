import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFile } from '../../../../src/manifest/decode-file.ts';
import { defaultRevisionLimits } from '../../../../src/model/revision-limits.ts';
import type { TreeChange } from '../../../../src/ports/git-repo.ts';
import { changesTo, emptyTree, readTree, type Tree } from '../../../../src/sources/tree/tree-reader.ts';
import { bytesOf } from '../../../support/decoding.ts';

const object = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;
const CHART = 'apiVersion: v2\nname: a\nversion: 1.0.0\n';

type Files = Readonly<Record<string, string>>;

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
      read: (_path, { blob }) => Promise.resolve({ bytes: bytesOf(blob) }),
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
    expect(tree.unreadable).toBe(1);
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
      { path: 'a/Chart.yaml', file: expect.objectContaining({ readable: false }) },
      { path: 'a/x.yaml', file: null },
      { path: 'a/y/z.yaml', file: null },
    ]);
    const gone = await read(appeared.tree, { 'a/Chart.yaml': null });
    expect(gone.decoded).toEqual(['a/x.yaml', 'a/y/z.yaml']);
    expect(readingOf(gone.tree)).toEqual(readingOf(before.tree));
    const same = await read(appeared.tree, { 'b.yaml': object('c') });
    expect([same.decoded, same.changes.map(({ path }) => path)]).toEqual([['b.yaml'], ['b.yaml']]);
  });

  it('a tree that is read by changes equals the tree that is read anew', async () => {
    const folder = fc.constantFrom('', 'a/', 'a/b/', 'a/b/c/', 'd/');
    const name = fc.constantFrom('Chart.yaml', 'kustomization.yaml', 'Kustomization', 'x.yaml', 'y.json');
    const path = fc.oneof(
      fc.tuple(folder, name).map((parts) => parts.join('')),
      fc.constant('.fleetrelayignore'),
    );
    const content = fc.constantFrom(
      ...[CHART, object('x'), 'resources: [x.yaml]\n', 'resources: [../d, b]\n', 'resources: [../a]\n', '[', ''],
      ...['Chart.yaml\n', 'a/\n', 'kustomization.yaml\n', '/a/b\n!a/b/c\n', 'replicas: 1\n'],
    );
    const tree = fc.dictionary(path, content, { maxKeys: 12 });
    await fc.assert(
      fc.asyncProperty(fc.array(tree, { minLength: 1, maxLength: 5 }), async (history) => {
        let current = emptyTree;
        const seen = new Map<string, unknown>();
        for (const files of history) {
          const { tree: next, changes } = await readFrom(current, files);
          const anew = await readFrom(emptyTree, files);
          expect(new Map([...next.nodes].sort())).toEqual(new Map([...anew.tree.nodes].sort()));
          expect({ ...next, nodes: 0, membership: 0 }).toEqual({ ...anew.tree, nodes: 0, membership: 0 });
          for (const { path: changed, file } of changes) {
            if (file === null) seen.delete(changed);
            else seen.set(changed, file);
          }
          const readings = [...anew.tree.nodes].flatMap(([at, { file }]) =>
            file ? [[at, file.reading] as const] : [],
          );
          expect(new Map([...seen].sort())).toEqual(new Map(readings.sort()));
          current = next;
        }
      }),
      { numRuns: 500 },
    );
  });
});
