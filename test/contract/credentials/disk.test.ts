import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createDiskCredentials } from '../../../src/adapters/disk/credentials.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { silentLog as log } from '../../support/silent-log.ts';
import { credentials, credentialsContract } from './suite.ts';

const root = mkdtempSync(join(tmpdir(), 'credentials-'));
let made = 0;

function newFolder(): string {
  made += 1;
  return join(root, String(made), 'agent');
}

afterAll(() => rmSync(root, { recursive: true }));

credentialsContract(
  'disk',
  async () => {
    const folder = newFolder();
    return () => createDiskCredentials({ log }, { folder });
  },
  { shared: false },
);

describe('credentials on a disk', () => {
  test('are readable for their owner alone, also when they replace an older file', async () => {
    const folder = newFolder();
    mkdirSync(folder, { recursive: true });
    const store = createDiskCredentials({ log }, { folder });
    await store.save(credentials('a'));
    await store.save(credentials('b'));
    expect(statSync(store.place).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['credentials']);
  });

  test('are in a folder that only their owner can enter', async () => {
    const folder = newFolder();
    await createDiskCredentials({ log }, { folder }).save(credentials('a'));
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  test.each([
    ['a byte that has changed', (text: string) => text.replace('PRIVATE', 'PRIVATF')],
    ['a file that was cut', (text: string) => text.slice(0, text.length / 2)],
    ['an empty file', () => ''],
    ['another file', () => 'hello\n'],
  ])('%s: it is logged without the key and moved aside, and new credentials replace it', async (_what, damage) => {
    const folder = newFolder();
    const lines = createRecordingLog();
    const store = createDiskCredentials({ log: lines }, { folder });
    await store.save(credentials('a'));
    const damaged = damage(readFileSync(store.place, 'utf8'));
    writeFileSync(store.place, damaged);
    expect(await store.load()).toBeUndefined();
    expect(lines.lines).toHaveLength(1);
    expect(JSON.stringify(lines.lines)).toContain('damaged');
    expect(JSON.stringify(lines.lines)).not.toContain('BEGIN');
    await store.save(credentials('b'));
    expect(await store.load()).toEqual(credentials('b'));
    expect(readFileSync(`${store.place}.corrupt-1`, 'utf8')).toBe(damaged);
    expect(statSync(`${store.place}.corrupt-1`).mode & 0o777).toBe(0o600);
  });

  test('a file that a crash left half written is ignored and does not prevent the next save', async () => {
    const folder = newFolder();
    const store = createDiskCredentials({ log }, { folder });
    await store.save(credentials('a'));
    writeFileSync(`${store.place}.tmp`, readFileSync(store.place).subarray(0, 300));
    expect(await store.load()).toEqual(credentials('a'));
    await store.save(credentials('b'));
    expect(await store.load()).toEqual(credentials('b'));
  });

  test('a symbolic link is not followed', async () => {
    const folder = newFolder();
    const elsewhere = newFolder();
    await createDiskCredentials({ log }, { folder: elsewhere }).save(credentials('a'));
    mkdirSync(folder, { recursive: true });
    symlinkSync(join(elsewhere, 'credentials'), join(folder, 'credentials'));
    await expect(createDiskCredentials({ log }, { folder }).load()).rejects.toThrow(/ELOOP/);
  });
});
