import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  defaultRevisionLimits,
  excessText,
  MOST_STEPS_OF_PATH,
  type RevisionLimits,
} from '../../src/model/limits/revision-limits.ts';
import type { TreeChange } from '../../src/ports/git-repo.ts';
import { IGNORE_FILE } from '../../src/sources/tree/ignore-file.ts';
import { STEPS_PER_TURN } from '../../src/sources/tree/pace.ts';
import { emptyTree, readTree, type Tree } from '../../src/sources/tree/tree-reader.ts';
import { decodeFile } from '../support/decode-file.ts';
import { bytesOf } from '../support/decoding.ts';
import { configMapYaml } from '../support/manifests.ts';

/** Repositories whose paths, ignore rules and Placements are made to need much matching. */

type Files = ReadonlyMap<string, string | null>;

const limited = (matchingSteps: number): RevisionLimits => ({ ...defaultRevisionLimits, matchingSteps });

/** Reads files on top of a tree; the blob of a file is its text. Counts the turns of the event loop that reading asks for. */
async function read(before: Tree, files: Files, limits: RevisionLimits = defaultRevisionLimits) {
  let turns = 0;
  const changes = [...files].map(
    ([path, text]): TreeChange => ({
      path,
      entry: text === null ? null : { kind: 'file', blob: text, size: text.length },
    }),
  );
  const outcome = await readTree(
    {
      decode: decodeFile,
      read: async (_path, { blob }) => ({ bytes: bytesOf(blob) }),
      maxFileBytes: 1_000_000,
      limits,
      turn: async () => {
        turns += 1;
      },
    },
    before,
    changes,
  );
  return { outcome, turns };
}

async function treeOf(before: Tree, files: Files): Promise<Tree> {
  const { outcome } = await read(before, files);
  return 'tree' in outcome ? outcome.tree : expect.fail(excessText(outcome.excess));
}

const deep = 'aaaaaaaaaaaa/'.repeat(18);
const rules = (count: number) => Array.from({ length: count }, (_, at) => `**/*a*a*b${at + 1}`).join('\n');
const manyFiles = (count: number, text = '') =>
  Array.from({ length: count }, (_, at) => [`${deep}f${at}.yaml`, text] as const);
const placement = (name: string, globs: readonly string[]) =>
  `apiVersion: fleetrelay.dev/v1alpha1\nkind: Placement\nmetadata: { name: ${name} }\nspec: { paths: ${JSON.stringify(globs)}, clusters: { names: [east] } }\n`;

describe('the ignore rules of a revision', () => {
  const hostile: Files = new Map([[IGNORE_FILE, rules(1_000)], ...manyFiles(600)]);

  it('end the reading at the limit of steps, and name the path and the rule', async () => {
    const { outcome, turns } = await read(emptyTree, hostile, limited(100_000_000));
    expect(outcome).toMatchObject({ excess: { limit: 'matchingSteps', most: 100_000_000 } });
    const { excess } = 'excess' in outcome ? outcome : expect.fail('the revision is above the limit');
    expect(excess.found).toBe(100_000_001);
    expect(excessText(excess)).toMatch(
      /limits\.revision\.matchingSteps of the RelayConfig\): the path "aaaaaaaaaaaa\/.*\.\.\." alone needs \d+ steps, \d+ of them for the rule "\*\*\/\*a\*a\*b\d+" \(\.fleetrelayignore:\d+\)$/,
    );
    expect(turns).toBeGreaterThan(100_000_000 / STEPS_PER_TURN / 2);
  });

  it('are judged the same from nothing and in steps, with the same words', async () => {
    const files: Files = new Map([[IGNORE_FILE, rules(50)], ...manyFiles(20)]);
    const limits = limited((await treeOf(emptyTree, files)).ignoreSteps - 1);
    const atOnce = await read(emptyTree, files, limits);
    expect(atOnce.outcome).toHaveProperty('excess');
    const first = await treeOf(emptyTree, new Map(manyFiles(20)));
    expect((await read(first, new Map([[IGNORE_FILE, rules(50)]]), limits)).outcome).toEqual(atOnce.outcome);
    const most = await treeOf(emptyTree, new Map([...files].filter(([path]) => !path.endsWith('/f7.yaml'))));
    expect((await read(most, new Map(manyFiles(20).slice(7, 8)), limits)).outcome).toEqual(atOnce.outcome);
  });

  it('let the event loop turn after a counted amount of steps, also within one path', async () => {
    const files: Files = new Map([
      [IGNORE_FILE, rules(1_000)],
      [`${`${'a'.repeat(250)}/`.repeat(15)}x.yaml`, configMapYaml('a', '1')],
    ]);
    const { outcome, turns } = await read(emptyTree, files);
    const { tree } = 'tree' in outcome ? outcome : expect.fail(excessText(outcome.excess));
    expect(tree.ignoreSteps).toBeGreaterThan(20 * STEPS_PER_TURN);
    // A rule is matched in one piece, so a slice may be longer by one rule.
    expect(turns).toBeGreaterThan(tree.ignoreSteps / STEPS_PER_TURN / 2);
  });

  it('are asked only about changed paths, though all charts and kustomizations are looked at again', async () => {
    const charts = Array.from(
      { length: 20 },
      (_, at) => [`${deep}d${at}/kustomization.yaml`, 'resources: []'] as const,
    );
    const ignored = ['old/kustomization.yaml', 'resources: [a.yaml]'] as const;
    const first = await treeOf(
      emptyTree,
      new Map([[IGNORE_FILE, `${rules(50)}\nold/`], ...charts, ignored, ['old/a.yaml', configMapYaml('a', '1')]]),
    );
    let asked = 0;
    const { membership } = first;
    const counted: Tree = {
      ...first,
      membership: {
        rules: membership.rules,
        judge: (path, meter) => {
          asked += 1;
          return membership.judge(path, meter);
        },
      },
    };
    const next = await treeOf(counted, new Map([['x.yaml', configMapYaml('x', '1')]]));
    expect(asked).toBe(1);
    const removed = await treeOf(counted, new Map([[charts[0]?.[0] ?? '', null]]));
    expect(asked).toBe(1);
    for (const tree of [next, removed])
      expect(tree.nodes.get('old/kustomization.yaml')).toMatchObject({ isIgnored: true });
  });

  it('are not asked about files that can be no manifests', async () => {
    const others = Array.from({ length: 1_000 }, (_, at) => [`${deep}f${at}.txt`, ''] as const);
    expect(await treeOf(emptyTree, new Map([[IGNORE_FILE, rules(1_000)], ...others]))).toMatchObject({
      ignoreSteps: 0,
    });
  });
});

describe('the Placements of a revision', () => {
  it('have a limited number of wildcards together, and the one with the most is named', async () => {
    const files: Files = new Map([
      ['fleet/a.yaml', placement('few', ['a/*', 'b/**'])],
      [
        'fleet/b.yaml',
        placement(
          'many',
          Array.from({ length: 417 }, (_, at) => `**/${'*a'.repeat(10)}${at}`),
        ),
      ],
      [
        'fleet/c.yaml',
        placement(
          'more',
          Array.from({ length: 42 }, (_, at) => `**/${'*a'.repeat(9)}${at}`),
        ),
      ],
    ]);
    const { outcome } = await read(emptyTree, files);
    const { excess } = 'excess' in outcome ? outcome : expect.fail('the globs have too many wildcards');
    expect(excessText(excess)).toBe(
      'has at least 5009 wildcards in the globs of its Placements; at most 5000 are read: Placement many in "fleet/b.yaml" has 4587 of them',
    );
    // A path without wildcards has none, however many there are.
    const plain = new Map([
      [
        'p.yaml',
        placement(
          'plain',
          Array.from({ length: 900 }, (_, at) => `apps/${at}`),
        ),
      ],
    ]);
    expect((await treeOf(emptyTree, plain)).placementSteps.placements.size).toBe(1);
  });

  it('count towards the limit of steps with all manifests, and the heaviest one is named', async () => {
    const files: Files = new Map([
      ['fleet/a.yaml', placement('light', [`${deep}*.yaml`])],
      ['fleet/b.yaml', placement('heavy', [`**/*a*a*a*a*x`])],
      ...manyFiles(40, configMapYaml('a', '1')),
    ]);
    const { placementSteps } = await treeOf(emptyTree, files);
    const limits = limited(placementSteps.total - 1);
    const { outcome } = await read(emptyTree, files, limits);
    const { excess } = 'excess' in outcome ? outcome : expect.fail('the revision is above the limit');
    expect(excessText(excess)).toMatch(
      /RelayConfig\): Placement heavy in "fleet\/b\.yaml" needs \d+ of them for the path/,
    );
    const before = await treeOf(emptyTree, new Map([...files].filter(([path]) => path !== 'fleet/b.yaml')));
    expect(
      (await read(before, new Map([['fleet/b.yaml', files.get('fleet/b.yaml') ?? null]]), limits)).outcome,
    ).toEqual(outcome);
  });

  it('may cost one path a limited number of steps, because the engine matches it in one piece', async () => {
    const path = `${`${'a'.repeat(250)}/`.repeat(16)}x.yaml`;
    const globs = Array.from({ length: 100 }, (_, at) => `**/${'*a'.repeat(20)}${at}`);
    const { outcome } = await read(
      emptyTree,
      new Map([
        ['p.yaml', placement('p', globs)],
        [path, ''],
      ]),
    );
    const { excess } = 'excess' in outcome ? outcome : expect.fail('the path needs too many steps');
    expect(excess).toMatchObject({ fixed: 'stepsOfPath', most: MOST_STEPS_OF_PATH, path });
    expect(excessText(excess)).toMatch(/Placement p in "p.yaml" needs more than 2000000 of them for the path "aaa/);
  });
});

it('a tree of many paths lets the event loop turn after a counted amount of paths', async () => {
  const files: Files = new Map(Array.from({ length: 60_000 }, (_, at) => [`f${at}.txt`, ''] as const));
  expect((await read(emptyTree, files)).turns).toBeGreaterThanOrEqual(6);
});

const segment = fc.constantFrom('a', 'aa', 'ab', 'b');
const path = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => `${parts.join('/')}.yaml`);
const glob = fc.constantFrom('**/*a*b', 'a/**', 'aa/*.yaml', '**', '*b*', 'ab', '{a,b}/*');
const text = fc.oneof(
  fc.constant(null),
  fc.constant(configMapYaml('x', '1')),
  fc.constant('a: ['),
  fc.array(glob, { minLength: 1, maxLength: 3 }).map((globs) => placement('p', globs)),
);
const step = fc.array(
  fc.oneof(
    fc.tuple(path, text),
    fc.tuple(fc.constant('Chart.yaml'), fc.constantFrom(null, 'apiVersion: v2\nname: a\nversion: 1.0.0\n')),
    fc.tuple(fc.constant(IGNORE_FILE), fc.constantFrom(null, '*b*\n', '**/a*a\n!ab\n', 'aa/\n', '[')),
  ),
  { maxLength: 6 },
);

it('every history of a tree has the steps of its last state, and the same verdict', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async (steps) => {
      const files = new Map<string, string>();
      let tree = emptyTree;
      let last: Files = new Map();
      let before = tree;
      for (const each of steps) {
        const changes = new Map(each.filter(([name, content]) => content !== null || files.has(name)));
        for (const [name, content] of changes) {
          if (content === null) files.delete(name);
          else files.set(name, content);
        }
        [before, last] = [tree, changes];
        tree = await treeOf(tree, changes);
      }
      const anew = await treeOf(emptyTree, files);
      expect(tree.ignoreSteps).toBe(anew.ignoreSteps);
      expect(tree.placementSteps.total).toBe(anew.placementSteps.total);
      expect(new Map([...tree.placementSteps.ofPaths].sort())).toEqual(
        new Map([...anew.placementSteps.ofPaths].sort()),
      );
      const total = anew.ignoreSteps + anew.placementSteps.total;
      if (total < 2) return;
      const tight = limited(total - 1);
      expect((await read(before, last, tight)).outcome).toEqual((await read(emptyTree, files, tight)).outcome);
    }),
    { numRuns: 150 },
  );
});
