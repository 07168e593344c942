import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFileTree } from '../../../src/adapters/files/file-tree.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { parseSourceName } from '../../../src/model/fleet/ids.ts';
import { must } from '../../../src/model/values/result.ts';
import type { FileTree } from '../../../src/ports/file-tree.ts';
import { createFilesSource } from '../../../src/sources/files/files-source.ts';
import { createKeptLog } from '../../support/git-quiet-log.ts';
import { writeFiles } from '../../support/git-sandbox.ts';
import { createSourceRecorder, createTestDecoder } from '../../support/source-recorder.ts';

let base: string;
let folder: string;
let tree: FileTree;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'fleetrelay-files-'));
  folder = join(base, 'desired');
  mkdirSync(folder);
  tree = createFileTree({ log: createKeptLog() }, { folder });
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

async function listed(): Promise<Record<string, string>> {
  const listing = await tree.list(() => true);
  if (listing.type === 'failed') throw new Error(listing.message);
  return Object.fromEntries(listing.entries.map(({ path, kind }) => [path, kind]).sort());
}

async function text(path: string): Promise<string> {
  const content = await tree.read(path, 100);
  return content.type === 'read' ? Buffer.from(content.bytes).toString() : content.type;
}

describe('a real folder', () => {
  test('lists files at any depth, without git and without what people did not ask for', async () => {
    writeFiles(folder, { 'a.yaml': 'a', 'x/y/z.yaml': 'z', '.git/config': 'g', '..data/b.yaml': 'b', 'c.txt': 'c' });
    expect(await listed()).toEqual({ 'a.yaml': 'file', 'c.txt': 'file', 'x/y/z.yaml': 'file' });
    expect(await text('x/y/z.yaml')).toBe('z');
    expect(await text('none.yaml')).toBe('missing');
  });

  test('follows links to files inside, and nothing else', async () => {
    writeFiles(base, { 'secret.yaml': 'secret' });
    writeFiles(folder, { '..2026/a.yaml': 'a' });
    symlinkSync('..2026', join(folder, '..data'));
    symlinkSync('..data/a.yaml', join(folder, 'a.yaml'));
    symlinkSync('../secret.yaml', join(folder, 'out.yaml'));
    symlinkSync('/etc/passwd', join(folder, 'abs.yaml'));
    symlinkSync('nowhere', join(folder, 'dangling.yaml'));
    symlinkSync('.', join(folder, 'loop'));
    expect(await listed()).toEqual({
      'a.yaml': 'file',
      'out.yaml': 'symlink',
      'abs.yaml': 'symlink',
      'dangling.yaml': 'symlink',
      loop: 'symlink',
    });
    expect(await text('a.yaml')).toBe('a');
    for (const path of ['out.yaml', 'abs.yaml', '../secret.yaml', 'dangling.yaml', 'loop/out.yaml']) {
      expect(await text(path)).toBe('unreadable');
    }
  });

  test('a link to the folder that was served before is not followed after the folder has changed', async () => {
    writeFiles(base, { 'v1/a.yaml': 'old', 'v2/b.yaml': 'new' });
    symlinkSync(join(base, 'v1/a.yaml'), join(base, 'v2/a.yaml'));
    rmSync(folder, { recursive: true });
    symlinkSync('v1', folder);
    expect(await listed()).toEqual({ 'a.yaml': 'file' });
    expect(await text('a.yaml')).toBe('old');
    rmSync(folder);
    symlinkSync('v2', folder);
    expect(await listed()).toEqual({ 'a.yaml': 'symlink', 'b.yaml': 'file' });
    expect(await text('a.yaml')).toBe('unreadable');
    expect(await text('b.yaml')).toBe('new');
  });

  test('a stamp changes with the content, and when another file takes the name', async () => {
    const stampOf = async (): Promise<string | undefined> => {
      const listing = await tree.list(() => true);
      return listing.type === 'listed' ? listing.entries[0]?.stamp : undefined;
    };
    writeFiles(folder, { 'a.yaml': 'one' });
    const first = await stampOf();
    expect(await stampOf()).toBe(first);
    writeFileSync(join(base, 'tmp'), 'two');
    renameSync(join(base, 'tmp'), join(folder, 'a.yaml'));
    expect(await stampOf()).not.toBe(first);
  });

  test('a file that is too large is not read', async () => {
    writeFiles(folder, { 'a.yaml': 'x'.repeat(101) });
    expect(await text('a.yaml')).toBe('oversized');
  });

  test('a folder that is gone, is a file, or holds too much is not listed', async () => {
    writeFiles(folder, { 'a.yaml': 'a', 'b.yaml': 'b' });
    const small = createFileTree({ log: createKeptLog() }, { folder, limits: { entries: 1, depth: 10 } });
    expect(await small.list(() => true)).toMatchObject({ type: 'failed', reason: 'TooManyFiles' });
    const file = createFileTree({ log: createKeptLog() }, { folder: join(folder, 'a.yaml') });
    expect(await file.list(() => true)).toMatchObject({ type: 'failed', reason: 'FolderMissing' });
    rmSync(folder, { recursive: true });
    expect(await tree.list(() => true)).toMatchObject({ type: 'failed', reason: 'FolderMissing' });
  });

  test.skipIf(process.getuid?.() === 0)('a part that cannot be listed spoils the complete listing', async () => {
    writeFiles(folder, { 'a.yaml': 'a', 'closed/b.yaml': 'b' });
    chmodSync(join(folder, 'closed'), 0);
    expect(await tree.list(() => true)).toMatchObject({ type: 'failed', reason: 'FolderUnreadable' });
    chmodSync(join(folder, 'closed'), 0o700);
  });
});

test('the files source over a real folder notices changes by events', async () => {
  const clock = createSystemClock();
  writeFiles(folder, { 'a.yaml': 'a' });
  const { decode } = createTestDecoder();
  const source = createFilesSource(
    { tree, decode, clock, random: { next: () => 0.5, id: () => 'id' }, log: createKeptLog() },
    { name: must(parseSourceName('folder')), rescanSeconds: 3600, settleMs: 30 },
  );
  const told = createSourceRecorder();
  source.start(told, undefined, []);
  const until = (check: () => boolean): Promise<void> => expect.poll(check, { interval: 10 }).toBe(true);
  await until(() => told.files.has('a.yaml'));
  writeFiles(folder, { 'clusters/east/web.yaml': 'w' });
  await until(() => told.files.has('clusters/east/web.yaml'));
  writeFiles(folder, { 'a.yaml': null });
  await until(() => !told.files.has('a.yaml'));
  rmSync(folder, { recursive: true });
  await until(() => told.lastCondition()?.state !== 'synced');
  expect(told.files.size).toBe(1);
  mkdirSync(folder);
  writeFiles(folder, { 'b.yaml': 'b' });
  source.trigger();
  await until(() => told.files.has('b.yaml'));
  await source.stop();
});
