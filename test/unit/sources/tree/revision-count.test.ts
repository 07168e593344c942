import fc from 'fast-check';
import { expect, it } from 'vitest';
import { defaultRevisionLimits, type RevisionLimits } from '../../../../src/model/limits/revision-limits.ts';
import { emptyTree, readTree, type Tree } from '../../../../src/sources/tree/tree-reader.ts';
import { decodeFile } from '../../../support/decode-file.ts';
import { bytesOf } from '../../../support/decoding.ts';
import { configMapYaml } from '../../../support/manifests.ts';

type Files = Readonly<Record<string, string>>;

/** Reads the tree that differs from `before` by these files. */
function read(limits: RevisionLimits, before: Tree, files: Files) {
  return readTree(
    {
      decode: (path, bytes, blob) => decodeFile(path, bytes, blob),
      read: async (_path, { blob }) => ({ bytes: bytesOf(blob) }),
      maxFileBytes: 1_000_000,
      limits,
    },
    before,
    Object.entries(files).map(([path, text]) => ({ path, entry: { kind: 'file', blob: text, size: text.length } })),
  );
}

const filesOf = (documents: number, letters: number, broken: boolean): string =>
  [
    ...Array.from({ length: documents }, (_, at) => configMapYaml(`c${at}`, 'x'.repeat(letters))),
    ...(broken ? ['kind: Odd\n'] : []),
  ].join('---\n');

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'k/kustomization');
const tree: fc.Arbitrary<Files> = fc
  .array(fc.tuple(name, fc.integer({ min: 1, max: 4 }), fc.nat(60), fc.boolean()), { minLength: 3, maxLength: 9 })
  .map((files) => Object.fromEntries(files.map(([path, ...what]) => [`${path}.yaml`, filesOf(...what)])));

it('what an excess says does not depend on the revisions before', async () => {
  let exceeding = 0;
  await fc.assert(
    fc.asyncProperty(
      tree,
      fc.func(fc.boolean()),
      fc.constantFrom<Partial<RevisionLimits>>(
        { documents: 6 },
        { nodes: 60 },
        { findings: 3 },
        { expandedBytes: 900 },
        { documents: 7, nodes: 80, findings: 2, expandedBytes: 800 },
      ),
      async (files, isFirst, few) => {
        const limits = { ...defaultRevisionLimits, ...few };
        const once = await read(limits, emptyTree, files);
        const first = Object.entries(files).filter(([path]) => isFirst(path));
        const before = await read(defaultRevisionLimits, emptyTree, Object.fromEntries(first));
        if (!('tree' in before)) return expect.fail('the first revision is within the limits');
        const rest = Object.entries(files).filter(([path]) => !isFirst(path));
        const then = await read(limits, before.tree, Object.fromEntries(rest));
        const excess = (outcome: typeof once) => ('excess' in outcome ? outcome.excess : undefined);
        expect(excess(then)).toEqual(excess(once));
        if ('excess' in once) exceeding += 1;
      },
    ),
    { numRuns: 300 },
  );
  expect(exceeding).toBeGreaterThan(30);
});

it('names the largest files until the limit is exceeded, in the order of their paths', async () => {
  const limits = { ...defaultRevisionLimits, expandedBytes: 1_000 };
  const files = {
    'a.yaml': filesOf(1, 300, false),
    'b.yaml': filesOf(1, 400, false),
    'c.yaml': filesOf(1, 500, false),
  };
  const before = await read(limits, emptyTree, { 'b.yaml': files['b.yaml'], 'd.yaml': filesOf(1, 10, false) });
  if (!('tree' in before)) return expect.fail('two files are within the limit');
  expect(await read(limits, before.tree, files)).toMatchObject({
    excess: {
      limit: 'expandedBytes',
      cause: expect.stringMatching(/^the largest files are c\.yaml .*, b\.yaml .*, a\.yaml /),
    },
  });
});
