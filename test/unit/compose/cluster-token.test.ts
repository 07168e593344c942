import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { printedToken } from '../../../src/compose/cluster/token.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'token-'));
  await mkdir(join(folder, 'trust'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const token = () => printedToken({ subject: 'east', dataDir: folder, cwd: '/' });

test('no secret is made in the data directory of a server whose secret is given', async () => {
  await writeFile(join(folder, 'trust', 'ca.key'), '');
  await expect(token()).rejects.toThrow('--relay-secret-file');
  expect(await readdir(join(folder, 'trust'))).toEqual(['ca.key']);
});

test('before the first start of the server, its secret is made', async () => {
  const first = await token();
  await writeFile(join(folder, 'trust', 'ca.key'), '');
  expect(await token()).toBe(first);
});
