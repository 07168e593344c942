import { expect, it } from 'vitest';
import { createMemoryStore } from '../../../../src/adapters/stores/memory.ts';
import type { JsonValue } from '../../../../src/model/text/json.ts';
import { decodeMap, listMaps } from '../../../../src/runtime/stored/read-map.ts';
import { createSharing } from '../../../../src/runtime/stored/sharing.ts';
import { codec, journalOn } from '../../../support/stored-maps.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

/** Writes maps, lets `spoil` change the store, and decodes all of them with one sharing. */
async function readShared(
  maps: Readonly<Record<string, readonly (readonly [string, JsonValue])[]>>,
  spoil: (key: string, value: Uint8Array) => Uint8Array | undefined = () => undefined,
) {
  const [store, clock] = [createMemoryStore(), createVirtualClock()];
  const group = journalOn(store, clock).group();
  for (const [name, values] of Object.entries(maps)) group.map(name, codec).replaceAll(values);
  await clock.advance(1_000);
  const records = [];
  for await (const record of store.list('')) records.push(record);
  for (const { key, value } of records) {
    const changed = spoil(key, value);
    if (changed !== undefined) await store.write([{ key, value: changed }]);
  }
  const sharing = createSharing<JsonValue>(new Map());
  const readings = [];
  for await (const raw of listMaps(store, '')) readings.push(decodeMap(raw, codec, { sharing }));
  return readings;
}

const entries = (count: number): [string, JsonValue][] =>
  Array.from({ length: count }, (_, at) => [`key-${at}`, { at, text: 'x'.repeat(200) }]);

it('equal maps that are read together have the same buckets', async () => {
  const [a, b] = await readShared({ a: entries(400), b: entries(400) });
  if (a?.type !== 'complete' || b?.type !== 'complete') throw new Error('a map is not complete');
  expect(a.map.width).toBeGreaterThan(1);
  for (const [number, bucket] of a.map.buckets) expect(b.map.buckets.get(number)).toBe(bucket);
  expect(Object.fromEntries(b.map.values)).toEqual(Object.fromEntries(entries(400)));
});

it('maps that differ share their equal values only', async () => {
  const [a, b] = await readShared({ a: entries(2), b: [...entries(1), ['key-1', 'other']] });
  if (a?.type !== 'complete' || b?.type !== 'complete') throw new Error('a map is not complete');
  expect(b.map.values.get('key-0')).toBe(a.map.values.get('key-0'));
  expect([a.map.values.get('key-1'), b.map.values.get('key-1')]).toEqual([entries(2)[1]?.[1], 'other']);
});

it('a damaged record is detected although an equal one was read before', async () => {
  const damaged = (key: string, value: Uint8Array): Uint8Array | undefined =>
    key.startsWith('b/') ? value.map((byte, at) => (at === value.length - 1 ? byte ^ 1 : byte)) : undefined;
  const readings = await readShared({ a: entries(40), b: entries(40) }, damaged);
  expect(readings.map(({ type }) => type)).toEqual(['complete', 'damaged']);
});
