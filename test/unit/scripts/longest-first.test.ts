import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { TestSpecification, Vitest } from 'vitest/node';
import { createLongestFirst, LONGEST } from '../../support/longest-first.ts';

const ROOT = '/project';

function fileOf(path: string, name: string, groupOrder: number): TestSpecification {
  const project = { name, config: { sequence: { groupOrder }, isolate: groupOrder > 0 } };
  return { moduleId: join(ROOT, path), project } as unknown as TestSpecification;
}

test('the integration files that take longest begin first, in their order, after the projects that come before', async () => {
  const result = () => ({ failed: false, duration: 1 });
  const vitest = { config: { root: ROOT }, cache: { getTestSpecificationResult: result } } as unknown as Vitest;
  const [first = '', second = ''] = LONGEST;
  const given = ['test/e2e/a.test.ts', second, 'test/e2e/b.test.ts', first].map((path) =>
    fileOf(path, 'integration', 1),
  );
  const unit = fileOf('test/unit/a.test.ts', 'unit', 0);
  const sorted = await createLongestFirst(vitest).sort([...given, unit]);
  expect(sorted.map(({ moduleId }) => moduleId.slice(ROOT.length + 1))).toEqual([
    ...['test/unit/a.test.ts', first, second, 'test/e2e/a.test.ts', 'test/e2e/b.test.ts'],
  ]);
  expect(await createLongestFirst(vitest).sort([unit])).toEqual([unit]);
});
