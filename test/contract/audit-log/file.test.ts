import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createAuditFile } from '../../../src/adapters/audit/audit-file.ts';
import type { AuditEntry, AuditLog } from '../../../src/ports/audit-log.ts';

let folder = '';
let log: AuditLog;
const path = (): string => join(folder, 'deep', 'audit.log');
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-'));
  log = createAuditFile(path());
});
afterEach(async () => {
  await log.close();
  rmSync(folder, { recursive: true });
});

function entry(act: string): AuditEntry {
  const who = { who: 'Ann\n{"', role: 'operate', proof: 'token', from: '::1' } as const;
  return {
    id: 'i',
    at: '2026-01-02T03:04:05.006Z',
    stage: 'asked',
    ...who,
    act,
    details: { a: '\u2028' },
    message: '',
  };
}
const acts = async (limit = 100): Promise<readonly string[]> => (await log.tail(limit)).map(({ act }) => act);

it('keeps what was noted, a line each, for its owner alone', async () => {
  expect(await log.tail(5)).toEqual([]);
  const entries = ['a', 'b', 'c'].map(entry);
  await Promise.all(entries.map((each) => log.append(each)));
  expect(await log.tail(5)).toEqual(entries);
  expect(await acts(2)).toEqual(['b', 'c']);
  expect(await acts(0)).toEqual([]);
  expect(readFileSync(path(), 'utf8').split('\n')).toHaveLength(4);
  expect(statSync(path()).mode & 0o777).toBe(0o600);
});

it('goes on after another process, and after its own end', async () => {
  await log.append(entry('a'));
  const other = createAuditFile(path());
  await other.append(entry('b'));
  await other.close();
  await log.close();
  await log.append(entry('c'));
  expect(await acts()).toEqual(['a', 'b', 'c']);
});

it('begins a new file when the old one was moved away, or removed', async () => {
  await log.append(entry('a'));
  renameSync(path(), `${path()}.1`);
  await log.append(entry('b'));
  expect(await acts()).toEqual(['b']);
  rmSync(path());
  await log.append(entry('c'));
  expect(await acts()).toEqual(['c']);
  expect(readFileSync(`${path()}.1`, 'utf8')).toContain('"act":"a"');
});

it('a torn line spoils no other', async () => {
  await log.append(entry('a'));
  await log.append(entry('b'));
  await log.close();
  truncateSync(path(), statSync(path()).size - 7);
  await log.append(entry('c'));
  appendFileSync(path(), '[]\nnull\n{"act":1}\n');
  await log.append(entry('d'));
  expect(await acts()).toEqual(['a', 'c', 'd']);
});

it('reads the end of a long file only, and no half entry', async () => {
  mkdirSync(join(folder, 'deep'));
  const line = JSON.stringify({ ...entry('old'), details: { x: 'y'.repeat(1_000) } });
  appendFileSync(path(), `${line}\n`.repeat(6_000));
  await log.append(entry('new'));
  const all = await acts(10_000);
  expect(all.length).toBeGreaterThan(1_000);
  expect(all.length).toBeLessThan(6_000);
  expect(all.at(-1)).toBe('new');
});

it('says that it cannot be written, and can again', async () => {
  expect(await log.problem()).toBeUndefined();
  await log.close();
  rmSync(path());
  mkdirSync(path());
  expect(await log.problem()).toContain('EISDIR');
  await expect(log.append(entry('a'))).rejects.toThrow('EISDIR');
  rmSync(path(), { recursive: true });
  await log.append(entry('b'));
  expect(await acts()).toEqual(['b']);
});
