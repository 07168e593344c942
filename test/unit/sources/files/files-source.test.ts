import { describe, expect, test } from 'vitest';
import { parseSourceName } from '../../../../src/model/fleet/ids.ts';
import { must } from '../../../../src/model/values/result.ts';
import { createFilesSource } from '../../../../src/sources/files/files-source.ts';
import { createFakeFileTree, type FakeFileTree } from '../../../support/files-fake-tree.ts';
import { createKeptLog } from '../../../support/git-quiet-log.ts';
import { createSourceRecorder, createTestDecoder } from '../../../support/source-recorder.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

const settleMs = 200;

async function follow(tree: FakeFileTree, admitted?: string) {
  const clock = createVirtualClock();
  const { decode, decoded } = createTestDecoder();
  const source = createFilesSource(
    { tree, decode, clock, random: { next: () => 0.5, id: () => 'id' }, log: createKeptLog() },
    { name: must(parseSourceName('folder')), rescanSeconds: 30, settleMs, maxFileBytes: 100 },
  );
  const told = createSourceRecorder();
  source.start(told, admitted, []);
  await clock.advance(settleMs);
  const settled = (): Promise<void> => clock.advance(settleMs * 2);
  return { clock, source, told, decoded, settled };
}

function folderWith(files: Readonly<Record<string, string>>): FakeFileTree {
  const tree = createFakeFileTree();
  tree.write(files);
  return tree;
}

describe('following', () => {
  test('the first observation carries every manifest, later ones what changed', async () => {
    const tree = folderWith({ 'a.yaml': 'a', 'b/c.json': 'c', 'notes.txt': 'n', 'b/.#c.yaml': 'lock' });
    const { told, decoded, settled } = await follow(tree);
    expect(told.observations).toMatchObject([{ state: 'complete' }]);
    expect(told.files).toEqual(
      new Map([
        ['a.yaml', 'complete'],
        ['b/c.json', 'complete'],
      ]),
    );
    expect(tree.reads).not.toContain('notes.txt');
    decoded.length = 0;
    tree.write({ 'a.yaml': 'a2', 'b/c.json': null });
    await settled();
    expect(decoded).toEqual(['a.yaml']);
    expect([...told.files.keys()]).toEqual(['a.yaml']);
    expect(told.observations).toHaveLength(2);
  });

  test('the same manifests are the same revision, with any other files in the folder', async () => {
    const one = await follow(folderWith({ 'a.yaml': 'a', 'b.yaml': 'b' }));
    const tree = folderWith({ 'b.yaml': 'b', 'a.yaml': 'a', 'x.txt': 'x' });
    const two = await follow(tree);
    expect(two.told.observations[0]?.revision).toBe(one.told.observations[0]?.revision);
    tree.write({ 'a.yaml': 'a', 'x.txt': 'y' });
    await two.settled();
    expect(two.told.observations).toHaveLength(1);
  });

  test('a change without an event is found by rescanning', async () => {
    const tree = folderWith({ 'a.yaml': 'a' });
    const { told, clock } = await follow(tree);
    tree.write({ 'b.yaml': 'b' }, { hint: false });
    await clock.advance(29_000);
    expect(told.observations).toHaveLength(1);
    await clock.advance(2_000);
    expect(told.observations).toHaveLength(2);
  });

  test('a file is read only after it has not changed for a while', async () => {
    const tree = folderWith({ 'a.yaml': 'a' });
    const { told, clock } = await follow(tree);
    tree.write({ 'a.yaml': 'half' });
    await clock.advance(settleMs - 1);
    tree.write({ 'a.yaml': 'half and ' });
    await clock.advance(settleMs);
    tree.write({ 'a.yaml': 'half and half' });
    expect(told.observations).toHaveLength(1);
    await clock.advance(settleMs * 3);
    expect(told.observations).toHaveLength(2);
    expect(await read('half and half')).toBe(true);

    async function read(text: string): Promise<boolean> {
      const { revision } = told.observations[1] ?? { revision: '' };
      return (await follow(folderWith({ 'a.yaml': text }))).told.observations[0]?.revision === revision;
    }
  });

  test('other content with the same stamp is not read as the old content', async () => {
    const tree = folderWith({ 'a.yaml': 'a' });
    const { told, clock } = await follow(tree);
    const torn = ['torn', 'half', 'half'];
    const read = tree.read;
    tree.read = async (path, max) => {
      const text = torn.shift();
      return text === undefined ? read(path, max) : { type: 'read', bytes: Buffer.from(text) };
    };
    tree.write({ 'a.yaml': 'b' });
    await clock.advance(settleMs * 8);
    expect(told.observations).toHaveLength(2);
    const other = await follow(folderWith({ 'a.yaml': 'b' }));
    expect(told.observations[1]?.revision).toBe(other.told.observations[0]?.revision);
  });

  test('a file that never stops changing is unreadable, and the others are read', async () => {
    const tree = folderWith({ 'a.yaml': 'a', 'log.yaml': '0' });
    const { told, clock } = await follow(tree);
    let count = 0;
    tree.onList = () => {
      count += 1;
      tree.write({ 'log.yaml': `${count}` }, { hint: false });
    };
    tree.write({ 'a.yaml': 'a2' });
    await clock.advance(10_000);
    expect(told.observations[1]).toMatchObject({ state: 'partial', diagnostics: [{ at: { path: 'log.yaml' } }] });
    tree.onList = () => undefined;
    tree.write({ 'log.yaml': 'done' });
    await clock.advance(60_000);
    expect(told.lastCondition()).toMatchObject({ state: 'synced', reason: 'Synced' });
    expect(Object.fromEntries(told.files)).toEqual({ 'a.yaml': 'complete', 'log.yaml': 'complete' });
  });
});

describe('what cannot be read', () => {
  test('links that lead out, huge and forbidden files make the revision partial', async () => {
    const tree = folderWith({ 'l.yaml': 'link:/etc', 'big.yaml': 'x'.repeat(101), 'no.yaml': 'n', 'a.yaml': 'a' });
    tree.unreadable.add('no.yaml');
    const { told, settled } = await follow(tree);
    expect(Object.fromEntries(told.files)).toEqual({
      'l.yaml': 'unreadable',
      'big.yaml': 'unreadable',
      'no.yaml': 'unreadable',
      'a.yaml': 'complete',
    });
    expect(told.observations[0]?.diagnostics.map(({ reason }) => reason)).toEqual([
      'FileTooLarge',
      'SymbolicLink',
      'FileUnreadable',
    ]);
    tree.unreadable.clear();
    tree.write({ 'big.yaml': null, 'l.yaml': null });
    await settled();
    expect(told.observations[1]?.state).toBe('complete');
  });

  test('a missing folder makes the source failing, removes nothing, and is watched again when it returns', async () => {
    const tree = folderWith({ 'a.yaml': 'a' });
    const { told, clock, source } = await follow(tree);
    tree.failure = { type: 'failed', reason: 'FolderMissing', message: 'gone' };
    source.trigger();
    await clock.advance(1_000);
    expect(told.lastCondition()).toMatchObject({ state: 'failing', reason: 'FolderMissing' });
    expect(told.observations).toHaveLength(1);
    expect(tree.watches).toBe(0);
    tree.failure = undefined;
    await clock.advance(60_000);
    expect(told.lastCondition()).toMatchObject({ state: 'synced' });
    expect(told.observations).toHaveLength(1);
    expect(tree.watches).toBe(1);
    await source.stop();
    expect([tree.watches, clock.waiting()]).toEqual([0, 0]);
  });

  test('a folder that becomes empty waits for a person', async () => {
    const tree = folderWith({ 'a.yaml': 'a' });
    const { told, settled, source } = await follow(tree);
    tree.write({ 'a.yaml': null });
    await settled();
    const waiting = told.lastCondition()?.refusedRevision ?? '';
    expect(told.lastCondition()).toMatchObject({ state: 'refused', reason: 'EmptyTree' });
    expect(told.lastCondition()?.message).toContain(`fleetrelay source accept folder ${waiting}`);
    expect(told.files.size).toBe(1);
    expect(source.accept(waiting)).toBe(true);
    expect(told.files.size).toBe(0);
  });

  test('an empty folder waits after a restart, and is admitted on the first start', async () => {
    const { told } = await follow(createFakeFileTree(), 'f'.repeat(64));
    expect(told.lastCondition()).toMatchObject({ state: 'refused', reason: 'EmptyTree' });
    expect(told.observations).toEqual([]);
    const first = await follow(createFakeFileTree());
    expect(first.told.observations).toMatchObject([{ state: 'complete', changes: [] }]);
  });
});

test('reads the bytes of a file for finding lines, if they are still the same', async () => {
  const tree = folderWith({ 'a.yaml': 'hello' });
  const { source, told } = await follow(tree);
  const blob = told.observations[0]?.changes[0]?.file?.blob ?? '';
  expect(Buffer.from((await source.read('a.yaml', blob)) ?? []).toString()).toBe('hello');
  tree.write({ 'a.yaml': 'other' }, { hint: false });
  expect(await source.read('a.yaml', blob)).toBeUndefined();
});
