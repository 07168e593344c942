import {
  appendFileSync,
  existsSync,
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
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAuditFile } from '../../../src/adapters/audit/audit-file.ts';
import type { AuditEntry, AuditLog } from '../../../src/ports/audit-log.ts';

const LARGE = { fileBytes: 1 << 30, files: 8 };
/** Three entries of one letter fill a file. */
const SMALL = { fileBytes: 3 * Buffer.byteLength(line(entry('a'))), files: 4 };
let folder = '';
let log: AuditLog;
const path = (): string => join(folder, 'deep', 'audit.log');
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-'));
  log = createAuditFile({ ...LARGE, file: path() });
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
function line(one: AuditEntry): string {
  return `${JSON.stringify(one)}\n`;
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
  const other = createAuditFile({ ...LARGE, file: path() });
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
  expect(await acts()).toEqual(['a', 'b']);
  rmSync(path());
  await log.append(entry('c'));
  expect(await acts()).toEqual(['a', 'c']);
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

describe('a log whose file is full', () => {
  const noted = async (names: string, into: AuditLog = log): Promise<void> => {
    for (const name of names) await into.append(entry(name));
  };
  /** The acts in each file, the newest file first; undefined: it is not there. */
  const files = (): readonly (string | undefined)[] =>
    ['', '.1', '.2', '.3', '.4'].map((suffix) => {
      if (!existsSync(`${path()}${suffix}`)) return undefined;
      const lines = readFileSync(`${path()}${suffix}`, 'utf8').trimEnd().split('\n');
      return lines.map((text) => (JSON.parse(text) as AuditEntry).act).join('');
    });
  beforeEach(() => {
    log = createAuditFile({ ...SMALL, file: path() });
  });

  it('goes on in a new one, and removes the oldest of too many', async () => {
    await noted('abc');
    expect(files()).toEqual(['abc', undefined, undefined, undefined, undefined]);
    await noted('defghij');
    expect(files()).toEqual(['j', 'ghi', 'def', 'abc', undefined]);
    await noted('klm');
    expect(files()).toEqual(['m', 'jkl', 'ghi', 'def', undefined]);
    for (const suffix of ['', '.1', '.2', '.3']) expect(statSync(`${path()}${suffix}`).mode & 0o777).toBe(0o600);
  });

  it('is read over its files, the newest entries last', async () => {
    await noted('abcdefgh');
    expect(await acts()).toEqual([...'abcdefgh']);
    expect(await acts(5)).toEqual([...'defgh']);
    expect(await acts(2)).toEqual([...'gh']);
  });

  it('has room for an entry that is larger than a file, in one of its own', async () => {
    await noted('a');
    await log.append({ ...entry('large'), details: { x: 'y'.repeat(SMALL.fileBytes) } });
    await noted('b');
    expect(files()).toEqual(['b', 'large', 'a', undefined, undefined]);
  });

  it.each([
    ['the last file was moved', ['.2', '.3']],
    ['another file was moved', ['.1', '.2']],
    ['the current file was moved', ['', '.1']],
  ] as const)('loses nothing by a crash after %s', async (_, [from, to]) => {
    await noted('abcdefghi');
    await log.close();
    for (const [last, next] of MOVES) {
      renameSync(`${path()}${last}`, `${path()}${next}`);
      if (last === from && next === to) break;
    }
    const next = createAuditFile({ ...SMALL, file: path() });
    await noted('xyz', next);
    expect((await next.tail(100)).map(({ act }) => act).join('')).toBe('abcdefghixyz');
    await next.close();
  });

  it('that another program moved away begins again, and is rotated after that', async () => {
    await noted('ab');
    renameSync(path(), `${path()}.moved`);
    await noted('cdef');
    expect(files()).toEqual(['f', 'cde', undefined, undefined, undefined]);
  });
});

/** The steps of a rotation of three files. */
const MOVES = [
  ['.2', '.3'],
  ['.1', '.2'],
  ['', '.1'],
] as const;
