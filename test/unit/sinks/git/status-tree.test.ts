import { expect, test } from 'vitest';
import { changesTo, noTree, type WantedFile } from '../../../../src/sinks/git/status-tree.ts';

test('the digest of a wanted file is made when its turn comes, and once', () => {
  const wanted = new Map<string, WantedFile>(
    ['a.yaml', 'b.yaml', 'c.yaml'].map((path) => [path, { text: `of ${path}`, digest: undefined }]),
  );
  const withDigest = (): number => [...wanted.values()].filter(({ digest }) => digest !== undefined).length;
  const work = changesTo(noTree, wanted);
  const seen: number[] = [];
  let step = work.next();
  for (; step.done !== true; step = work.next()) seen.push(withDigest());
  expect(seen).toEqual([0, 1, 2]);
  const { changes, digests } = step.value;
  expect([...changes.keys()]).toEqual(['a.yaml', 'b.yaml', 'c.yaml']);
  expect([...digests.values()]).toEqual([...wanted.values()].map(({ digest }) => digest));
});
