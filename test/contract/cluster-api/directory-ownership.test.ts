import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDirectoryCluster } from '../../../src/adapters/directory/cluster.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import type { ClusterApi } from '../../../src/ports/cluster-api.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { configMap, fleet, keyOf, nonce, request } from './suite.ts';

let home: string;
let directory: string;
let cluster: ClusterApi;
const a = configMap('a', { k: '1' });
const a2 = configMap('a', { k: '2' });
const pathOfA = 'namespaces/web/configmap/a.yaml';

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'fleetrelay-ownership-'));
  directory = join(home, 'cluster');
  cluster = await open();
});
afterEach(async () => {
  await cluster.close();
  rmSync(home, { recursive: true, force: true });
});

const open = (): Promise<ClusterApi> =>
  createDirectoryCluster(
    { clock: createSystemClock(), random: createSystemRandom(), log: createRecordingLog() },
    { directory },
  );
const at = (path: string): string => join(directory, path);
const read = (path: string): string => readFileSync(at(path), 'utf8');
const put = (path: string, text: string): void => {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
};

test("a person's copy of our file does not change who owns ours: ours is changed and removed, the copy stays", async () => {
  await cluster.apply(request(a));
  const text = read(pathOfA);
  put('backup/a.yaml', text);
  await cluster.list('complete');
  expect(await cluster.apply(request(a2))).toMatchObject({ type: 'applied' });
  expect((await cluster.list('complete')).objects.get(keyOf(a))?.value).toEqual(a2);
  expect(await cluster.remove({ key: keyOf(a), fleet, nonce })).toEqual({ type: 'gone' });
  expect([existsSync(at(pathOfA)), read('backup/a.yaml')]).toEqual([false, text]);
});

test('a hard link to our file keeps what it had', async () => {
  await cluster.apply(request(a));
  const text = read(pathOfA);
  linkSync(at(pathOfA), join(home, 'linked'));
  expect(await cluster.apply(request(a2))).toMatchObject({ type: 'applied' });
  expect(readFileSync(join(home, 'linked'), 'utf8')).toBe(text);
});

test('a file of comments is not ours, an empty file is free to write', async () => {
  for (const text of ['# to be written\n', '---\n# later\n', 'null\n']) {
    put(pathOfA, text);
    expect(await cluster.apply(request(a))).toMatchObject({ type: 'conflict', owner: pathOfA });
    expect(await cluster.remove({ key: keyOf(a), fleet, nonce })).toMatchObject({ type: 'notOwned' });
    expect(read(pathOfA)).toBe(text);
  }
  put(pathOfA, '\n \n');
  expect(await cluster.apply(request(a))).toMatchObject({ type: 'applied' });
});

test('a second object that is partly typed into our file is not lost', async () => {
  await cluster.apply(request(a));
  const typed = `${read(pathOfA)}---\nkind: ConfigMap\nmetadata: {name: hal`;
  put(pathOfA, typed);
  expect(await cluster.apply(request(a))).toMatchObject({ type: 'conflict', owner: pathOfA });
  expect(await cluster.remove({ key: keyOf(a), fleet, nonce })).toMatchObject({ type: 'notOwned' });
  expect(read(pathOfA)).toBe(typed);
});

test('an unreadable path in place of our file is neither reported as applied nor as removed', async () => {
  await cluster.apply(request(a));
  await cluster.list('complete');
  put(pathOfA, 'a large file of a person');
  truncateSync(at(pathOfA), 65 * 1024 * 1024);
  expect(await cluster.apply(request(a))).toMatchObject({ type: 'conflict', owner: pathOfA });
  expect(await cluster.remove({ key: keyOf(a), fleet, nonce })).toMatchObject({ type: 'notOwned' });
  expect(existsSync(at(pathOfA))).toBe(true);
  const seen = (await cluster.list('complete')).objects.get(keyOf(a));
  expect(seen === undefined || cluster.matches(request(a), seen)).toBe(false);
  await cluster.apply(request(a));
  rmSync(at(pathOfA));
  expect(await cluster.apply(request(a))).toMatchObject({ type: 'applied' });
  const again = (await cluster.list('complete')).objects.get(keyOf(a));
  expect(again !== undefined && cluster.matches(request(a), again)).toBe(true);
});

test('a file behind a link is never ours, even if its content is as declared', async () => {
  await cluster.apply(request(a));
  renameSync(at('namespaces'), join(home, 'moved'));
  symlinkSync(join(home, 'moved'), at('namespaces'));
  expect(await cluster.apply(request(a))).toMatchObject({ type: 'failed', reason: 'BlockedPath' });
  expect(await cluster.remove({ key: keyOf(a), fleet, nonce })).toMatchObject({
    type: 'failed',
    reason: 'BlockedPath',
  });
  expect((await cluster.list('complete')).objects.has(keyOf(a))).toBe(false);
  expect(existsSync(join(home, 'moved/web/configmap/a.yaml'))).toBe(true);
});
