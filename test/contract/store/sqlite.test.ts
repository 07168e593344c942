import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { createSqliteStore } from '../../../src/adapters/stores/sqlite.ts';
import { storeContract } from './suite.ts';

const root = mkdtempSync(join(tmpdir(), 'fleetrelay-store-'));
let count = 0;
function freshPath(): string {
  count += 1;
  return join(root, `${count}`, 'store.sqlite');
}
afterAll(() => rmSync(root, { recursive: true, force: true }));

storeContract('sqlite', () => createSqliteStore(freshPath()));

test('records remain after reopening, and versions continue', async () => {
  const path = freshPath();
  const first = await createSqliteStore(path);
  await first.write([{ key: 'k', value: Buffer.from('1') }]);
  const before = (await first.get('k'))?.version;
  await first.close();
  const second = await createSqliteStore(path);
  expect(await second.write([{ key: 'k', value: Buffer.from('2'), ifVersion: before ?? '' }])).toBe('written');
  expect((await second.get('k'))?.version).not.toBe(before);
  await second.close();
});

test('only the owner can read any of its files', async () => {
  const path = freshPath();
  const store = await createSqliteStore(path);
  await store.write([{ key: 'k', value: Buffer.from('1') }]);
  const folder = join(path, '..');
  for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).mode & 0o077).toBe(0);
  await store.close();
});

test('a damaged file is moved aside with an error in the log, and the store starts empty', async () => {
  const path = freshPath();
  const first = await createSqliteStore(path);
  await first.close();
  writeFileSync(path, 'this is no database at all, and long enough to be looked at as one\n'.repeat(20));
  const logged: string[] = [];
  const log = { debug() {}, info() {}, warn() {}, error: (message: string) => logged.push(message), child: () => log };
  const second = await createSqliteStore(path, { log });
  expect(await second.get('k')).toBeUndefined();
  expect(logged).toHaveLength(1);
  expect(readdirSync(join(path, '..'))).toContain('store.sqlite.corrupt-1');
  await second.close();
});

test("another program's database is refused and stays as it is", async () => {
  const path = freshPath();
  await (await createSqliteStore(path)).close();
  const foreign = join(path, '..', 'foreign.sqlite');
  const database = new DatabaseSync(foreign);
  database.exec('CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)');
  database.close();
  await expect(createSqliteStore(foreign)).rejects.toThrow('database of another program');
  const again = new DatabaseSync(foreign);
  expect(again.prepare('SELECT count(*) AS n FROM theirs').get()).toEqual({ n: 1 });
  again.close();
});

test('a second process is refused while the first one uses the file', async () => {
  const path = freshPath();
  const first = await createSqliteStore(path);
  await expect(createSqliteStore(path)).rejects.toThrow('in use by another process');
  await first.close();
  await (await createSqliteStore(path)).close();
});

test('a long list yields to other tasks', async () => {
  const store = await createSqliteStore(freshPath());
  await store.write(Array.from({ length: 1_000 }, (_, index) => ({ key: `k${index}`, value: Buffer.from('v') })));
  let turns = 0;
  let listing = true;
  const others = async (): Promise<void> => {
    while (listing) {
      await setImmediate();
      turns += 1;
    }
  };
  const counting = others();
  let records = 0;
  for await (const _record of store.list('')) records += 1;
  listing = false;
  await counting;
  expect(records).toBe(1_000);
  expect(turns).toBeGreaterThan(5);
  await store.close();
});
