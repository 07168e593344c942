import { expect, test } from 'vitest';
import type { LiveObject } from '../../../../src/model/agent/agent.ts';
import type { Digest } from '../../../../src/model/fleet/ids.ts';
import { packedObjectOf } from '../../../../src/model/objects/live-object.ts';
import { objectKey } from '../../../../src/model/objects/object-key.ts';
import { createTextPacker, releaseTexts } from '../../../../src/model/values/packed-texts.ts';
import { noise, reachableMemory } from '../../../support/reachable-memory.ts';

const MIB = 1024 * 1024;

const keyOf = (at: number) => objectKey({ group: '', kind: 'Service', namespace: 'web', name: `s${at}` });

function packed(texts: Iterable<string>): LiveObject[] {
  const packer = createTextPacker();
  const objects: LiveObject[] = [];
  for (const text of texts)
    objects.push(packedObjectOf(keyOf(objects.length), 'digest' as Digest, packer.place(Buffer.from(text))));
  packer.finish();
  return objects;
}

function* made(count: number, text: (at: number) => string): Generator<string> {
  for (let at = 0; at < count; at += 1) yield text(at);
}

test('packed texts and their values are as they were', () => {
  const texts = Array.from({ length: 1_000 }, (_, at) =>
    JSON.stringify({ at, note: `ß€😀 ${at}`, filler: 'x'.repeat(at % 7 === 0 ? 40_000 : at) }),
  );
  const objects = packed(texts);
  expect(objects.map(({ text }) => text)).toEqual(texts);
  expect(objects.map(({ value }) => value)).toEqual(texts.map((text) => JSON.parse(text)));
  expect(objects.map(({ bytes }) => bytes)).toEqual(texts.map((text) => Buffer.byteLength(text)));
});

test('a text that does not become shorter by compression is kept as it is', () => {
  const texts = Array.from({ length: 100 }, (_, at) => noise(at, 5_000));
  expect(packed(texts).map(({ text }) => text)).toEqual(texts);
});

test('packed texts are outside of the heap, and shorter', () => {
  const before = reachableMemory();
  const objects = packed(made(10_000, (at) => JSON.stringify({ at, filler: 'x'.repeat(3_000) })));
  const after = reachableMemory();
  expect(objects).toHaveLength(10_000);
  expect(after.heap - before.heap).toBeLessThan(8 * MIB);
  expect(after.buffers - before.buffers).toBeLessThan(4 * MIB);
});

test('the memory of a block ends with the larger part of its objects', () => {
  const count = 4_000;
  const isKept = (at: number): boolean => at % 20 === 0;
  const before = reachableMemory();
  const objects = packed(made(count, (at) => noise(at, 2_000)));
  expect(reachableMemory().buffers - before.buffers).toBeGreaterThan(6 * MIB);
  releaseTexts(objects.filter((_, at) => !isKept(at)));
  const kept = objects.filter((_, at) => isKept(at));
  objects.length = 0;
  expect(reachableMemory().buffers - before.buffers).toBeLessThan(2 * MIB);
  expect(kept.map(({ text }) => text)).toEqual(
    [...made(count, (at) => noise(at, 2_000))].filter((_, at) => isKept(at)),
  );
});

test('a released object can still be read, and counts once', () => {
  const texts = Array.from({ length: 20 }, (_, at) => noise(at, 2_000));
  const objects = packed(texts);
  for (let round = 0; round < 3; round += 1) releaseTexts(objects);
  expect(objects.map(({ text }) => text)).toEqual(texts);
});
