import { zstdCompressSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { PartSchema } from '../../generated/relay_pb.ts';
import { sha256, snapshotDigest } from '../../src/model/digest.ts';
import { objectLimits } from '../../src/model/object-size.ts';
import { OBJECT_ORIGINS, RECORD_ITEMS, type RelayLimits } from '../../src/relay/limits.ts';
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
