import { expect, test } from 'vitest';
import { atOnce } from '../../../../src/model/values/in-slices.ts';
import { changesTo, hasText, noTree, type WantedFile, wantedFile } from '../../../../src/sinks/git/status-tree.ts';
import { reachableMemory } from '../../../support/reachable-memory.ts';

test('the digest of a wanted file is made when its turn comes, and once', () => {
  const wanted = new Map<string, WantedFile>(
    ['a.yaml', 'b.yaml', 'c.yaml'].map((path) => [path, wantedFile(`of ${path}`)]),
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

test('the texts that the branch has are packed, and those that it has lost are changes again', () => {
  const textAt = (at: number): string => `status: ${at}\nß: ${'x'.repeat(800)}\n`;
  const count = 10_000;
  const wanted = new Map<string, WantedFile>();
  for (let at = 0; at < count; at += 1) wanted.set(`a/${at}.yaml`, wantedFile(textAt(at)));
  const first = atOnce(changesTo(noTree, wanted)).digests;
  const full = reachableMemory();
  const tree = { ...noTree, digests: first };
  expect(atOnce(changesTo(tree, wanted)).changes.size).toBe(0);
  expect(full.heap - reachableMemory().heap).toBeGreaterThan(4 * 1024 * 1024);
  expect([...wanted.values()].filter((file, at) => !hasText(file, textAt(at)))).toEqual([]);
  expect([...wanted.values()].filter((file, at) => hasText(file, textAt(at + 1)))).toEqual([]);
  const lost = atOnce(changesTo(noTree, wanted));
  expect(lost.digests).toEqual(first);
  expect([...lost.changes]).toEqual(Array.from({ length: count }, (_, at) => [`a/${at}.yaml`, textAt(at)]));
});

test('a file that is replaced while the texts on the branch are packed keeps its new text', () => {
  const wanted = new Map(Array.from({ length: 200 }, (_, at) => [`a/${at}`, wantedFile(`${at} `.repeat(300))]));
  const { digests } = atOnce(changesTo(noTree, wanted));
  const work = changesTo({ ...noTree, digests }, wanted);
  for (let at = 0; at < 3; at += 1) work.next();
  wanted.set('a/0', wantedFile('new'));
  wanted.delete('a/1');
  atOnce(work);
  const texts = atOnce(changesTo(noTree, wanted)).changes;
  expect([texts.get('a/0'), texts.get('a/1'), texts.get('a/2')]).toEqual(['new', undefined, '2 '.repeat(300)]);
});
