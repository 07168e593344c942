import { zstdCompressSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { PartSchema } from '../../generated/relay_pb.ts';
import { objectLimits } from '../../src/model/objects/object-size.ts';
import { sha256, snapshotDigest } from '../../src/model/text/digest.ts';
import { OBJECT_ORIGINS, RECORD_ITEMS, type RelayLimits } from '../../src/relay/limits.ts';
import { packChunks } from '../../src/relay/transfer.ts';
import type { FrameInit } from '../../src/relay/wire/frames.ts';
import type { RecordInit } from '../../src/relay/wire/records.ts';
import { digestBytes } from '../../src/relay/wire/scalars.ts';
import { createRelayHarness, type RelayHarness, type Stranger } from '../support/relay-harness.ts';
import { configMapKey } from '../support/relay-world.ts';

const EMPTY = digestBytes(snapshotDigest([]));
const MIB = 1024 * 1024;

const holding: FrameInit = {
  case: 'begin',
  value: {
    transfer: 1n,
    subject: { case: 'holding', value: { position: { epoch: 0n, sequence: 0n }, digest: EMPTY } },
  },
};

function compressed(records: readonly RecordInit[], index: number, last = false): FrameInit {
  const part = toBinary(PartSchema, create(PartSchema, { records: records.map((record) => ({ record })) }));
  return { case: 'chunk', value: { transfer: 1n, index, compressed: true, data: zstdCompressSync(part), last } };
}

const origins = (count: number) => Array.from({ length: count }, () => ({ source: 'a', path: '' }));
const more = (count: number): RecordInit => ({ case: 'more', value: { origins: origins(count) } });
const entry = (name: string, count = 0): RecordInit => ({
  case: 'entry',
  value: { key: `/Pod/web/${name}`, digest: EMPTY, phase: 'held', origins: origins(count), scope: 0 },
});

async function welcomed(limits: Partial<RelayLimits> = {}): Promise<{ world: RelayHarness; stranger: Stranger }> {
  const world = await createRelayHarness(limits);
  const stranger = world.stranger('Pull');
  await stranger.hello();
  expect((await stranger.hear())?.case).toBe('welcome');
  return { world, stranger };
}

/** The stream of an agent with an empty holding, on which it may send its input. */
async function pushing(limits: Partial<RelayLimits> = {}): Promise<{ world: RelayHarness; push: Stranger }> {
  const { world, stranger } = await welcomed(limits);
  await stranger.say(holding);
  await stranger.say(compressed([], 0, true));
  const push = world.stranger('Push');
  await push.hello();
  expect((await push.hear())?.case).toBe('welcome');
  const [from, to] = [digestBytes(snapshotDigest([])), digestBytes(snapshotDigest([]))];
  await push.say({ case: 'begin', value: { transfer: 1n, subject: { case: 'input', value: { from, to } } } });
  return { world, push };
}

/** Says the frames until the stream ends; returns the reason and by how much the heap has grown. */
async function sayAll(world: RelayHarness, stranger: Stranger, frames: Iterable<FrameInit>) {
  const before = process.memoryUsage().heapUsed;
  let sent = 0;
  let grown = 0;
  let over = false;
  void stranger.ended.then(() => {
    over = true;
  });
  for (const frame of frames) {
    await stranger.say(frame);
    await world.clock.settle();
    sent += 1;
    grown = Math.max(grown, process.memoryUsage().heapUsed - before);
    if (over) break;
  }
  if (!over) return { reason: 'StillOpen', sent, grown };
  return { reason: (await stranger.ended).reason, sent, grown };
}

const numbered = (at: number): string => `a${String(at).padStart(6, '0')}`;

function* repeated(count: number, frame: (index: number) => FrameInit): Generator<FrameInit, void, void> {
  for (let index = 0; index < count; index += 1) yield frame(index);
}

describe('a holding', () => {
  test('of 2,064 chunks of 45 bytes with 52,000 origins each ends the stream at the first one', async () => {
    const { world, stranger } = await welcomed();
    const bomb = compressed([more(52_000)], 1);
    if (bomb.case === 'chunk') expect(bomb.value.data?.length).toBeLessThan(64);
    await stranger.say(holding);
    await stranger.say(compressed([entry('x')], 0));
    const chunks = repeated(2_063, (index) => ({ ...bomb, value: { ...bomb.value, index: index + 1 } }) as FrameInit);
    const { reason, sent, grown } = await sayAll(world, stranger, chunks);
    expect(reason).toBe('TransferTooLarge');
    expect(sent).toBe(1);
    expect(grown).toBeLessThan(50 * MIB);
    expect(world.owner.events).toEqual([]);
  });

  test('whose object has more origins than any, in records of the usual size, ends the stream', async () => {
    const { world, stranger } = await welcomed();
    await stranger.say(holding);
    await stranger.say(compressed([entry('x')], 0));
    const chunks = repeated(2_063, (index) => compressed([more(RECORD_ITEMS)], index + 1));
    const { reason, sent } = await sayAll(world, stranger, chunks);
    expect(reason).toBe('TransferTooLarge');
    expect(sent).toBe(Math.floor(OBJECT_ORIGINS / RECORD_ITEMS) + 1);
  });

  test('of many objects with many origins each ends the stream', async () => {
    const { world, stranger } = await welcomed({ transferItems: 50_000 });
    await stranger.say(holding);
    const chunks = repeated(2_063, (index) => compressed([entry(`x${index}`, 4_000)], index));
    expect(await sayAll(world, stranger, chunks)).toMatchObject({ reason: 'TransferTooLarge', sent: 13 });
  });

  test('of scopes of many clusters ends the stream', async () => {
    const { world, stranger } = await welcomed({ transferItems: 50_000 });
    await stranger.say(holding);
    const clusters = Array.from({ length: 4_000 }, () => 'a');
    const chunks = repeated(2_063, (index) =>
      compressed([{ case: 'scope', value: { number: index + 1, clusters } }], index),
    );
    expect(await sayAll(world, stranger, chunks)).toMatchObject({ reason: 'TransferTooLarge', sent: 13 });
  });

  test('with one scope of more clusters than a fleet has ends the stream', async () => {
    const { world, stranger } = await welcomed();
    await stranger.say(holding);
    const clusters = Array.from({ length: 4_000 }, () => 'a');
    const chunks = repeated(2_063, (index) => compressed([{ case: 'scope', value: { number: 1, clusters } }], index));
    expect(await sayAll(world, stranger, chunks)).toMatchObject({ reason: 'TransferTooLarge', sent: 6 });
  });
});

describe('an input', () => {
  /** The records of an object with this text as its content. */
  function* contentOf(text: string): Generator<RecordInit, void, void> {
    const bytes = new TextEncoder().encode(text);
    const piece = 200 * 1024;
    const value = { key: configMapKey('a'), digest: digestBytes(sha256(bytes)), size: BigInt(bytes.length), scope: 0 };
    yield { case: 'object', value: { ...value, content: bytes.subarray(0, piece) } };
    for (let at = piece; at < bytes.length; at += piece) {
      yield { case: 'more', value: { content: bytes.subarray(at, at + piece) } };
    }
  }
  const send = async (text: string) => {
    const { world, push } = await pushing();
    const records = [...contentOf(text), { case: 'removal', value: { key: configMapKey('b') } } as const];
    const chunks = repeated(records.length, (index) =>
      compressed(records.slice(index, index + 1), index, index === records.length - 1),
    );
    return sayAll(world, push, chunks);
  };

  test.each([
    ['empty arrays', '[],'],
    ['numbers', '1,'],
    ['objects', '{"":0},'],
  ])('of 8 MiB of %s is refused before it is parsed', async (_what, item) => {
    const text = `{"a":[${item.repeat((8 * MIB) / item.length)}0]}`;
    const { reason, grown } = await send(text);
    expect(reason).toBe('MalformedContent');
    // The text, which the test holds as well, and nothing that is parsed.
    expect(grown).toBeLessThan(50 * MIB);
  });

  test('with as many commas and brackets inside of a text is taken', async () => {
    const text = `{"a":"${'[],\\"'.repeat(2 * objectLimits.elements)}"}`;
    expect(await send(text)).toMatchObject({ reason: 'UnknownKey' });
  });

  test.each([
    ['as many elements as allowed', objectLimits.elements - 2, 'UnknownKey'],
    ['one more', objectLimits.elements - 1, 'MalformedContent'],
  ])('of %s gets its answer', async (_what, items, reason) => {
    expect(await send(`{"a":[${Array.from({ length: items }, () => '{}').join(', ')}]}`)).toMatchObject({ reason });
  });

  test('of a kind whose Namespaces come one by one costs what they are', async () => {
    const { world, push } = await pushing();
    const kinds = Array.from({ length: 10 }, (_, kind): RecordInit[] => [
      { case: 'kind', value: { kind: `/K${kind}`, state: 'complete', message: '', scope: 'Namespaced' } },
      ...Array.from(
        { length: 1_000 },
        (_, at): RecordInit => ({
          case: 'kind',
          value: { kind: `/K${kind}`, unlisted: [{ namespace: `n${at}`, message: '' }] },
        }),
      ),
    ]);
    const chunks = repeated(kinds.length, (index) => compressed(kinds[index] ?? [], index, index === kinds.length - 1));
    expect((await sayAll(world, push, chunks)).reason).toBe('StillOpen');
    expect(world.owner.inputs).toHaveLength(1);
  });
});

describe('a chunk that becomes more than it is', () => {
  /** Empty `more` records: four bytes each, and a few dozen bytes once compressed. */
  const emptyRecords = (count: number, index: number): FrameInit => {
    const part = Buffer.from('0a021a00'.repeat(count), 'hex');
    return {
      case: 'chunk',
      value: { transfer: 1n, index, compressed: true, data: zstdCompressSync(part), last: false },
    };
  };
  const decoded = (world: RelayHarness): number => world.server.stats().ofClusters.decoded.east ?? 0;

  test('of 36 bytes with 65,536 records without content ends the stream at the first one, and builds none', async () => {
    const { world, stranger } = await welcomed();
    const bomb = emptyRecords(65_536, 1);
    if (bomb.case === 'chunk') expect(bomb.value.data?.length).toBeLessThan(64);
    await stranger.say(holding);
    await stranger.say(compressed([entry('x')], 0));
    await world.clock.settle();
    const before = decoded(world);
    const { reason, sent } = await sayAll(
      world,
      stranger,
      repeated(15, (index) => emptyRecords(65_536, index + 1)),
    );
    expect({ reason, sent }).toEqual({ reason: 'TransferTooLarge', sent: 1 });
    // The frame that carries the chunk.
    expect(decoded(world) - before).toBe(1);
  });

  test.each([
    ['records without a kind', '0a00', 10, 'MalformedChunk'],
    ['one record that has its kind again and again', `0a${'80a003'}${'1a00'.repeat(26_624)}`, 1, 'TransferTooLarge'],
    ['one record of very many fields', `0a84800c3280800c${'0a00'.repeat(98_304)}`, 1, 'TransferTooLarge'],
    ['fields that no part has', '1200', 100_000, 'TransferTooLarge'],
    ['a length behind its end', '0a7f00', 1, 'MalformedChunk'],
    ['groups in groups', '0b', 100_000, 'MalformedChunk'],
  ])('with %s is refused before it is decoded', async (_what, hex, count, reason) => {
    const { world, stranger } = await welcomed();
    await stranger.say(holding);
    await world.clock.settle();
    const before = decoded(world);
    const data = zstdCompressSync(Buffer.from(hex.repeat(count), 'hex'));
    const chunk: FrameInit = { case: 'chunk', value: { transfer: 1n, index: 0, compressed: true, data, last: false } };
    expect(await sayAll(world, stranger, [chunk])).toMatchObject({ reason, sent: 1 });
    expect(decoded(world) - before).toBe(1);
  });

  test('of as many small records as a sender puts into one is taken', async () => {
    const { world, push } = await pushing();
    const removals = Array.from(
      { length: 20_000 },
      (_, at): RecordInit => ({ case: 'removal', value: { key: configMapKey(numbered(at)) } }),
    );
    const chunks = [...packChunks(removals)].map(
      (chunk, index): FrameInit => ({ case: 'chunk', value: { transfer: 1n, index, ...chunk } }),
    );
    expect(chunks.length).toBe(3);
    expect(await sayAll(world, push, chunks)).toMatchObject({ reason: 'UnknownKey', sent: 3 });
  });
});

describe('a frame that becomes more than it is', () => {
  const hex = (text: string): Uint8Array => Buffer.from(text, 'hex');

  test.each([
    ['a hello of 100,000 capabilities', `0ac09a0c${'2200'.repeat(100_000)}`],
    ['100,000 pings in one', '4200'.repeat(100_000)],
    ['a hello whose limits come again and again', `0ac09a0c${'4200'.repeat(100_000)}`],
    ['fields that are not known', '9a0100'.repeat(50_000)],
  ])('is refused before it is decoded: %s', async (_what, bytes) => {
    const world = await createRelayHarness();
    const stranger = world.stranger('Pull');
    await stranger.sayBytes(hex(bytes));
    expect((await stranger.ended).reason).toBe('MalformedFrame');
    expect(world.server.stats().ofClusters.decoded.east).toBe(undefined);
  });
});

describe('the budget of a cluster', () => {
  test('holds back its streams when it is spent, and nothing is lost', async () => {
    const { world, push } = await pushing({ decoding: { burst: 100_000, perSecond: 100_000 } });
    const say = async (): Promise<void> => {
      for (let index = 0; index < 10; index += 1) {
        const removals = Array.from(
          { length: 200 },
          (_, at): RecordInit => ({ case: 'removal', value: { key: configMapKey(numbered(200 * index + at)) } }),
        );
        await push.say(compressed(removals, index, index === 9));
      }
    };
    void say();
    await world.clock.settle();
    const acknowledged = world.server.stats().ofClusters.decoded.east ?? 0;
    expect(acknowledged).toBeLessThan(1_000);
    await world.clock.advance(8_000);
    expect((await push.ended).reason).toBe('UnknownKey');
    expect(world.server.stats().ofClusters.decoded.east).toBeGreaterThan(2_000);
  });

  test('counts what a frame costs that holds nothing', async () => {
    const { world, stranger } = await welcomed({ decoding: { burst: 100 * 1024, perSecond: 1024 } });
    const say = async (): Promise<void> => {
      for (let number = 0n; number < 1_000n; number += 1n) await stranger.say({ case: 'pong', value: { number } });
    };
    void say();
    await world.clock.settle();
    // With the hello: each frame counts as 1 KiB and its own bytes.
    expect(world.server.stats().ofClusters.decoded.east).toBeLessThan(101);
    expect(world.server.stats().ofClusters.decoded.east).toBeGreaterThan(90);
  });

  test('makes a stream wait that is opened too often, and ends one that would wait long', async () => {
    const world = await createRelayHarness({ streams: { burst: 3, perSecond: 1 }, streamWaitMs: 2_000 });
    const open = async (): Promise<Stranger> => {
      const stranger = world.stranger('Pull');
      await stranger.hello({ instance: 'stranger-1' });
      await world.clock.settle();
      return stranger;
    };
    const admitted = () => world.server.stats().ofClusters.decoded.east ?? 0;
    for (let index = 0; index < 3; index += 1) await open();
    expect(admitted()).toBe(3);
    const waiting = await open();
    expect(admitted()).toBe(3);
    await open();
    expect((await (await open()).ended).reason).toBe('TooManyStreams');
    await world.clock.advance(500);
    expect(admitted()).toBe(4);
    expect((await waiting.hear())?.case).toBe('welcome');
  });
});
