import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createAgentDisk } from '../../../src/adapters/disk/agent-disk.ts';
import { objectDigest } from '../../../src/model/digest.ts';
import type { ObjectKey } from '../../../src/model/object-key.ts';
import type { OutputStep } from '../../../src/ports/agent-disk.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { configMap, keyOf } from './suite.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fleetrelay-disk-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const log = createRecordingLog();
const open = () => createAgentDisk({ log }, { folder });
const at = (sequence: number) => ({ epoch: 1, sequence });
const [a, b] = [configMap('a', { k: '1' }), configMap('b', { k: '1' })];
const step = (sequence: number, put: readonly (typeof a)[], drop: readonly ObjectKey[] = []): OutputStep => ({
  position: at(sequence),
  digest: objectDigest(`${sequence}`),
  put: put.map((value) => ({ key: keyOf(value), digest: objectDigest(value), value })),
  drop,
});

async function twoSteps(): Promise<string> {
  const disk = open();
  expect(await disk.load(at(0))).toBeUndefined();
  await disk.append(step(1, [a]));
  await disk.append(step(2, [b], [keyOf(a)]));
  await disk.close();
  return join(folder, 'output');
}

test('load returns the snapshot as of the given position', async () => {
  await twoSteps();
  const second = await open().load(at(2));
  expect([...(second?.objects ?? [])]).toEqual([[keyOf(b), { digest: objectDigest(b), value: b }]]);
  const first = await open().load(at(1));
  expect([...(first?.objects.keys() ?? [])]).toEqual([keyOf(a)]);
  expect(first?.digest).toBe(objectDigest('1'));
  expect(await open().load(at(3))).toBeUndefined();
});

test('a step whose inventory was never saved is dropped by the next one', async () => {
  await twoSteps();
  const disk = open();
  await disk.load(at(1));
  await disk.append({ ...step(2, []), digest: objectDigest('other') });
  await disk.close();
  const loaded = await open().load(at(2));
  expect([...(loaded?.objects.keys() ?? [])]).toEqual([keyOf(a)]);
});

test('a torn step is dropped, and the next step is appended', async () => {
  const path = await twoSteps();
  writeFileSync(path, readFileSync(path, 'utf8').slice(0, -9));
  const disk = open();
  expect([...((await disk.load(at(1)))?.objects.keys() ?? [])]).toEqual([keyOf(a)]);
  await disk.append(step(2, [b]));
  await disk.close();
  expect((await open().load(at(2)))?.objects.size).toBe(2);
});

test('a damaged snapshot is ignored, logged, and moved aside', async () => {
  const path = await twoSteps();
  writeFileSync(path, readFileSync(path, 'utf8').replace('"k":"1"', '"k":"2"'));
  const disk = open();
  expect(await disk.load(at(2))).toBeUndefined();
  expect(log.lines.map(({ text }) => text)).toEqual(['error: the stored output snapshot is damaged and is ignored']);
  await disk.replace({ position: at(5), digest: objectDigest('5'), objects: new Map() });
  await disk.close();
  expect(readdirSync(folder).sort()).toEqual(['output', 'output.corrupt-1']);
  expect(await open().load(at(5))).toMatchObject({ position: at(5) });
});

test('only the owner can read it, and it does not grow without bound', async () => {
  const disk = open();
  const big = configMap('big', { k: 'x'.repeat(1024 * 1024) });
  for (let sequence = 1; sequence <= 12; sequence += 1) await disk.append(step(sequence, [big]));
  await disk.close();
  const { mode, size } = statSync(join(folder, 'output'));
  expect(mode & 0o077).toBe(0);
  expect(size).toBeLessThan(6 * 1024 * 1024);
  expect((await open().load(at(12)))?.objects.size).toBe(1);
});
