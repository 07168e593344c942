import { Hash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createAgentDisk } from '../../../src/adapters/disk/agent-disk.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { objectDigest } from '../../../src/model/text/digest.ts';
import { canonicalJson, type JsonObject } from '../../../src/model/text/json.ts';
import type { OutputStep, StoredOutput } from '../../../src/ports/agent-disk.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { configMap, keyOf } from './suite.ts';

let folder: string;
let log: ReturnType<typeof createRecordingLog>;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fleetrelay-disk-'));
  log = createRecordingLog();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const MIB = 1024 * 1024;
const open = () => createAgentDisk({ log }, { folder });
const at = (sequence: number) => ({ epoch: 1, sequence });
const [a, b] = [configMap('a', { k: '1' }), configMap('b', { k: '1' })];
const put = (value: JsonObject) => ({ key: keyOf(value), digest: objectDigest(value), value });
const step = (sequence: number, values: readonly JsonObject[], drop: readonly ObjectKey[] = []): OutputStep => ({
  position: at(sequence),
  after: at(sequence - 1),
  digest: objectDigest(`${sequence}`),
  put: values.map(put),
  drop,
});
const valuesOf = (stored: StoredOutput | undefined): readonly JsonObject[] =>
  [...(stored?.objects.values() ?? [])].map(({ value }) => value);
const files = (): readonly string[] => readdirSync(join(folder, 'outputs')).sort();
const fileAt = (place: number): string => join(folder, 'outputs', files().at(place) ?? '');
const bytesInAll = (): number => files().reduce((sum, name) => sum + statSync(join(folder, 'outputs', name)).size, 0);

/** The only file. */
async function twoSteps(): Promise<string> {
  const disk = open();
  expect(await disk.load(at(0))).toBeUndefined();
  await disk.append(step(1, [a]));
  await disk.append(step(2, [b], [keyOf(a)]));
  await disk.close();
  return fileAt(0);
}

test('load returns the snapshot as of the given position', async () => {
  await twoSteps();
  expect(valuesOf(await open().load(at(2)))).toEqual([b]);
  const first = await open().load(at(1));
  expect(valuesOf(first)).toEqual([a]);
  expect(first?.digest).toBe(objectDigest('1'));
  expect(await open().load(at(3))).toBeUndefined();
});

test('contents are read from the disk, not from memory', async () => {
  const path = await twoSteps();
  const disk = open();
  const [content] = [...((await disk.load(at(2)))?.objects.values() ?? [])];
  expect(content?.value).toEqual(b);
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll('"k":"1"', '"k":"2"'));
  expect(() => content?.value).toThrow(/content of ConfigMap\/\w+\/b in .* is damaged/);
  await disk.close();
});

test('a snapshot that is written again because its files are gone is read from the new files', async () => {
  await twoSteps();
  const disk = open();
  await disk.load(at(2));
  rmSync(join(folder, 'outputs'), { recursive: true });
  const stored = await disk.append(step(3, [a]));
  expect(stored.get(keyOf(b))?.value).toEqual(b);
  expect(stored.get(keyOf(a))?.value).toEqual(a);
  await disk.close();
});

describe('a step with many small objects', () => {
  const many = Array.from({ length: 1_000 }, (_, number) => configMap(`many-${number}`, {}));
  const received = (value: JsonObject) => ({ ...put(value), content: new TextEncoder().encode(canonicalJson(value)) });
  const writeMany = async (): Promise<void> => {
    const disk = open();
    await disk.append({ ...step(1, []), put: many.map(received) });
    await disk.close();
  };

  test('makes one weak reference', async () => {
    let references = 0;
    const counted = class<Target extends WeakKey> extends WeakRef<Target> {
      constructor(target: Target) {
        super(target);
        references += 1;
      }
    };
    vi.stubGlobal('WeakRef', counted);
    await writeMany().finally(() => vi.unstubAllGlobals());
    expect(references).toBe(1);
  });

  test('makes no weak reference if it does not say how long its contents are: they are read from the disk', async () => {
    vi.stubGlobal('WeakRef', undefined);
    const disk = open();
    const stored = await disk.append(step(1, [a, b])).finally(() => vi.unstubAllGlobals());
    expect([...stored.values()].map(({ value }) => value)).toEqual([a, b]);
    await disk.close();
  });

  test('makes a call of the hash for about 500 lines, and two for its end', async () => {
    const values = step(1, many);
    const hashed = vi.spyOn(Hash.prototype, 'update');
    const disk = open();
    await disk.append(values);
    expect(hashed.mock.calls.length).toBeLessThanOrEqual(6);
    hashed.mockRestore();
    await disk.close();
    expect(valuesOf(await open().load(at(1)))).toEqual(many);
  });
});

test('a step whose inventory was never saved is dropped by the next one', async () => {
  await twoSteps();
  const disk = open();
  await disk.load(at(1));
  await disk.append({ ...step(2, []), digest: objectDigest('other') });
  await disk.close();
  expect(valuesOf(await open().load(at(2)))).toEqual([a]);
});

test('a step whose inventory could not be saved is undone by the next one, and stays undone', async () => {
  const [changed, c] = [configMap('a', { k: '2' }), configMap('c', {})];
  const disk = open();
  await disk.append(step(1, [a]));
  await disk.append(step(2, [changed, b]));
  await disk.append({ ...step(3, [c]), after: at(1) });
  await disk.append(step(4, []));
  await disk.close();
  expect(valuesOf(await open().load(at(4)))).toEqual([a, c]);
});

test('the value of an object that has its bytes is not read', async () => {
  const unread = (value: JsonObject) => ({
    ...{ key: keyOf(value), digest: objectDigest(value), content: new TextEncoder().encode(canonicalJson(value)) },
    get value(): JsonObject {
      throw new Error('its bytes are parsed');
    },
  });
  const disk = open();
  await disk.append({ ...step(1, []), put: [unread(a)] });
  await disk.append({ ...step(2, []), put: [unread(b)] });
  await disk.close();
  expect(valuesOf(await open().load(at(2)))).toEqual([a, b]);
});

test('the first step of all is undone by another one, if its inventory could not be saved', async () => {
  const disk = open();
  await disk.load(at(0));
  await disk.append(step(1, [a]));
  await disk.append({ ...step(2, [b]), after: at(0) });
  await disk.append(step(3, []));
  await disk.close();
  expect(valuesOf(await open().load(at(3)))).toEqual([b]);
});

test('a step that starts from nothing that the disk has is refused', async () => {
  const disk = open();
  await disk.append(step(1, [a]));
  await expect(disk.append(step(5, [b]))).rejects.toThrow('starts from another output snapshot');
  await disk.close();
  expect(valuesOf(await open().load(at(1)))).toEqual([a]);
});

describe('a crash', () => {
  test.each([
    ['in the last line', -9],
    ['after the last content', -200],
    ['in the last content', -330],
  ])('%s drops the step, and the next step is appended', async (_where, end) => {
    const path = await twoSteps();
    writeFileSync(path, readFileSync(path, 'utf8').slice(0, end));
    const disk = open();
    expect(valuesOf(await disk.load(at(1)))).toEqual([a]);
    await disk.append(step(2, [b]));
    await disk.close();
    expect(valuesOf(await open().load(at(2)))).toEqual([a, b]);
    expect(log.lines).toEqual([]);
  });

  test('at any byte leaves one of the two snapshots', async () => {
    const path = await twoSteps();
    const bytes = readFileSync(path);
    for (let length = 0; length < bytes.byteLength; length += 7) {
      writeFileSync(path, bytes.subarray(0, length));
      const disk = open();
      const second = await disk.load(at(2));
      await disk.close();
      writeFileSync(path, bytes.subarray(0, length));
      const again = open();
      const first = await again.load(at(1));
      await again.close();
      expect(second).toBeUndefined();
      expect([undefined, '1'].map((text) => text && objectDigest(text))).toContain(first?.digest);
    }
    expect(log.lines).toEqual([]);
  });

  test('that leaves zeros where the last step was drops it', async () => {
    const path = await twoSteps();
    const bytes = readFileSync(path);
    writeFileSync(path, Buffer.concat([bytes.subarray(0, -100), Buffer.alloc(100)]));
    expect(valuesOf(await open().load(at(1)))).toEqual([a]);
  });
});

test('a damaged snapshot is ignored, logged, and set aside; of several the last one is kept', async () => {
  for (const round of [1, 2]) {
    const path = await twoSteps();
    writeFileSync(path, readFileSync(path, 'utf8').replace('"k":"1"', `"k":"${round + 1}"`));
    const disk = open();
    expect(await disk.load(at(2))).toBeUndefined();
    expect(log.lines.map(({ text }) => text)).toHaveLength(round);
    expect(log.lines.at(-1)?.text).toBe('error: the stored output snapshot is damaged and is ignored');
    await disk.replace({ position: at(5), digest: objectDigest('5'), objects: new Map() });
    await disk.close();
    expect(readdirSync(folder).sort()).toEqual(['outputs', 'outputs.corrupt']);
    expect(await open().load(at(5))).toMatchObject({ position: at(5) });
    rmSync(join(folder, 'outputs'), { recursive: true });
  }
});

test('only the owner can read it', async () => {
  const path = await twoSteps();
  expect(statSync(path).mode & 0o077).toBe(0);
  expect(statSync(join(folder, 'outputs')).mode & 0o077).toBe(0);
});

describe('the contents that nothing needs any more', () => {
  const big = (name: string, letter: string): JsonObject => configMap(name, { k: letter.repeat(MIB) });

  test('are removed, so that the files do not grow without bound', async () => {
    const disk = open();
    await disk.append(step(1, [big('big', 'x')]));
    for (let sequence = 2; sequence <= 12; sequence += 1) await disk.append(step(sequence, [big('big', 'x')]));
    await disk.close();
    expect(bytesInAll()).toBeLessThan(8 * MIB);
    expect((await open().load(at(12)))?.objects.size).toBe(1);
  });

  test('take the others with them to another file, from which they are read then', async () => {
    const disk = open();
    const [stays] = (await disk.append(step(1, [a, big('big', '0')]))).values();
    const [first] = files();
    for (let sequence = 2; sequence <= 20; sequence += 1) {
      await disk.append(step(sequence, [big('big', String(sequence % 10))]));
    }
    expect(files()).not.toContain(first);
    expect(stays?.value).toEqual(a);
    await disk.close();
    const again = open();
    expect(valuesOf(await again.load(at(20)))).toEqual([a, big('big', '0')]);
    // The step before is still there: the inventory of the last one may not have been saved.
    expect(valuesOf(await again.load(at(19)))).toEqual([a, big('big', '9')]);
    await again.close();
  });

  test('stay while they may be needed because the inventory was not saved', async () => {
    const disk = open();
    await disk.append(step(1, [a, big('big', 'a')]));
    for (let sequence = 2; sequence <= 20; sequence += 1) {
      await disk.append({ ...step(sequence, [big('big', 'b')]), after: at(1) });
    }
    await disk.close();
    expect(valuesOf(await open().load(at(1)))).toEqual([a, big('big', 'a')]);
  });

  test('go file by file from the oldest one on: what is in the others outlasts a restart', async () => {
    const disk = open();
    const cold = Array.from({ length: 70 }, (_, number) => big(`cold-${number}`, 'c'));
    await disk.append(step(1, cold));
    const changes = 2 * 70;
    for (let sequence = 2; sequence <= changes; sequence += 1) await disk.append(step(sequence, [big('hot', 'h')]));
    await disk.close();
    const again = open();
    expect((await again.load(at(changes)))?.objects.size).toBe(71);
    await again.close();
    expect(bytesInAll()).toBeLessThan(3 * 71 * MIB);
  });

  test('do not come back because the file that has their removal is gone', async () => {
    const disk = open();
    await disk.append(step(1, [a, ...Array.from({ length: 65 }, (_, number) => big(`cold-${number}`, 'c'))]));
    await disk.append(step(2, [], [keyOf(a)]));
    for (let sequence = 3; sequence <= 140; sequence += 1) await disk.append(step(sequence, [big('hot', 'h')]));
    await disk.close();
    const again = open();
    expect((await again.load(at(140)))?.objects.has(keyOf(a))).toBe(false);
    await again.close();
  });

  test('go although one of the others is damaged: that one is lost, and may be put again', async () => {
    const disk = open();
    const [stays] = (await disk.append(step(1, [a, b, big('big', '0')]))).values();
    const path = fileAt(0);
    const damaged = readFileSync(path);
    damaged.write('"k":"2"', damaged.indexOf('"k":"1"'));
    writeFileSync(path, damaged);
    for (let sequence = 2; sequence <= 20; sequence += 1) {
      await disk.append(step(sequence, [big('big', String(sequence % 10))]));
    }
    expect(existsSync(path)).toBe(false);
    expect(() => stays?.value).toThrow(/content of ConfigMap\/\w+\/a is lost/);
    expect(log.lines).toEqual([
      expect.objectContaining({ text: 'error: a stored output is lost; the server sends it again' }),
    ]);
    await disk.append(step(21, [a]));
    await disk.close();
    const again = open();
    expect(new Set(valuesOf(await again.load(at(21))))).toEqual(new Set([a, b, big('big', '0')]));
    await again.close();
  });

  test('of a snapshot that is replaced go at once', async () => {
    const path = await twoSteps();
    const disk = open();
    await disk.replace({ position: at(9), digest: objectDigest('9'), objects: new Map([[keyOf(a), put(a)]]) });
    await disk.close();
    expect(existsSync(path)).toBe(false);
    expect(valuesOf(await open().load(at(9)))).toEqual([a]);
  });
});
