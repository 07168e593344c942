import { expect, test } from 'vitest';
import { snapshotDigest } from '../../src/model/text/digest.ts';
import { packChunks } from '../../src/relay/transfer.ts';
import { createTransferMemory } from '../../src/relay/transfer-memory.ts';
import type { FrameInit } from '../../src/relay/wire/frames.ts';
import type { RecordInit } from '../../src/relay/wire/records.ts';
import { digestBytes } from '../../src/relay/wire/scalars.ts';
import { createRelayHarness, type RelayHarness, type Stranger } from '../support/relay-harness.ts';
import { clusterId, clusterName, configMapKey, inputOf } from '../support/relay-world.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const MIB = 1024 * 1024;
const NONE = digestBytes(snapshotDigest([]));
const small = inputOf({ a: '1' });
const large = inputOf(Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`m${at}`, `${at}`.repeat(50_000)])));

const world = () => createRelayHarness({ sessionsBytes: 4 * MIB });

/** Begins an input of the cluster `east`. */
async function hostile(harness: RelayHarness): Promise<Stranger> {
  const pull = harness.stranger('Pull');
  await pull.hello({ cluster: clusterName('east'), clusterId: clusterId('east-id') });
  await pull.hear();
  const position = { epoch: 0n, sequence: 0n };
  await pull.say({
    case: 'begin',
    value: { transfer: 1n, subject: { case: 'holding', value: { position, digest: NONE } } },
  });
  const [nothing] = packChunks([]);
  if (nothing !== undefined) await pull.say({ case: 'chunk', value: { transfer: 1n, index: 0, ...nothing } });
  await harness.clock.settle();
  const push = harness.stranger('Push');
  await push.hello();
  await push.hear();
  await push.say({
    case: 'begin',
    value: { transfer: 1n, subject: { case: 'input', value: { from: NONE, to: NONE } } },
  });
  // The link must hear something, or the stream of before counts as silent.
  void (async () => {
    for (let frame = await pull.hear(); frame !== undefined; frame = await pull.hear()) {
      if (frame.case === 'ping') await pull.say({ case: 'pong', value: { number: frame.value.number } });
    }
  })();
  return push;
}

/** A chunk of 250 KiB. */
function chunk(index: number): FrameInit {
  const piece = new Uint8Array(125 * 1024);
  const size = BigInt(40 * MIB);
  const object: RecordInit = {
    case: 'object',
    value: { key: configMapKey('a'), digest: NONE, size, scope: 0, content: piece },
  };
  const more: RecordInit = { case: 'more', value: { content: piece } };
  const [packed] = packChunks(index === 0 ? [object, more] : [more, more]);
  return { case: 'chunk', value: { transfer: 1n, index, ...packed, last: false } };
}

test('a transfer without room waits, its sender too, and small ones of others go on', async () => {
  const harness = await world();
  const east = await hostile(harness);
  for (let index = 0; index < 12; index += 1) await east.say(chunk(index));
  await harness.clock.settle();
  expect(harness.server.stats().memory).toMatchObject({ waiting: 0 });
  const west = await harness.connect({ cluster: clusterName('west') });
  west.client.publishInput(large);
  await harness.clock.advance(1_000);
  expect(harness.server.stats().memory.waiting).toBe(1);
  expect(harness.server.stats().memory.held).toBeLessThanOrEqual(4 * MIB);
  expect(harness.owner.inputs).toEqual([]);
  const north = await harness.connect({ cluster: clusterName('north') });
  north.client.publishInput(small);
  await harness.clock.advance(1_000);
  expect(harness.owner.inputs.map(({ cluster }) => cluster)).toEqual(['north']);
  east.stream.end({ code: 'done', reason: 'Closed', message: '' });
  await harness.clock.advance(1_000);
  expect(harness.owner.inputs.map(({ cluster }) => cluster)).toEqual(['north', 'west']);
  expect(west.agent.states.map(({ type }) => type)).toEqual(['connecting', 'connected']);
  expect(harness.server.stats().memory).toEqual({ held: 0, queued: 0, waiting: 0 });
});

test('a session that holds memory and sends slowly ends after a minute, and the one that waits goes on', async () => {
  const harness = await world();
  const east = await hostile(harness);
  for (let index = 0; index < 12; index += 1) await east.say(chunk(index));
  const west = await harness.connect({ cluster: clusterName('west') });
  west.client.publishInput(large);
  let over = '';
  void east.ended.then(({ reason }) => {
    over = reason;
  });
  for (let index = 12; index < 20 && over === ''; index += 1) {
    await harness.clock.advance(20_000);
    await east.say(chunk(index));
  }
  await harness.clock.advance(1_000);
  expect(over).toBe('MemoryNeeded');
  expect(harness.owner.inputs.map(({ cluster }) => cluster)).toEqual(['west']);
  expect(west.agent.states.map(({ type }) => type)).toEqual(['connecting', 'connected']);
});

test('a session whose transfer stops ends after a minute, also when no other waits', async () => {
  const harness = await world();
  const east = await hostile(harness);
  await east.say(chunk(0));
  await harness.clock.advance(61_000);
  expect(await east.ended).toMatchObject({ reason: 'TransferStalled' });
  expect(harness.server.stats().memory.held).toBe(0);
});

test('a session that sends more than its window while it waits ends', async () => {
  const harness = await world();
  const east = await hostile(harness);
  for (let index = 0; index < 12; index += 1) await east.say(chunk(index));
  const west = await hostileWest(harness);
  for (let index = 0; index < 40; index += 1) await west.say(chunk(index));
  expect(await west.ended).toMatchObject({ reason: 'WindowExceeded' });
});

async function hostileWest(harness: RelayHarness): Promise<Stranger> {
  const options = { cluster: 'west' };
  const hello = { cluster: clusterName('west'), clusterId: clusterId('west-id') };
  const pull = harness.stranger('Pull', options);
  await pull.hello(hello);
  await pull.hear();
  const position = { epoch: 0n, sequence: 0n };
  await pull.say({
    case: 'begin',
    value: { transfer: 1n, subject: { case: 'holding', value: { position, digest: NONE } } },
  });
  const [nothing] = packChunks([]);
  if (nothing !== undefined) await pull.say({ case: 'chunk', value: { transfer: 1n, index: 0, ...nothing } });
  await harness.clock.settle();
  const push = harness.stranger('Push', options);
  await push.hello(hello);
  await push.hear();
  await push.say({
    case: 'begin',
    value: { transfer: 1n, subject: { case: 'input', value: { from: NONE, to: NONE } } },
  });
  return push;
}

test('transfers that all wait for each other: the newest ends, the oldest goes on', async () => {
  const clock = createVirtualClock();
  const memory = createTransferMemory({ clock, bytes: 16 * MIB, patienceMs: 60_000 });
  const ended: string[] = [];
  const granted: string[] = [];
  const accounts = ['first', 'second', 'third'].map((name) => {
    const account = memory.open(() => {
      ended.push(name);
      account.close();
    });
    return { name, account };
  });
  for (const { account } of accounts) expect(account.reserve(4 * MIB, () => undefined)).toBe(true);
  for (const { name, account } of accounts) {
    expect(account.reserve(4 * MIB, () => granted.push(name))).toBe(false);
  }
  await clock.advance(60_000);
  expect({ ended, granted }).toEqual({ ended: ['third'], granted: ['first'] });
  accounts[0]?.account.close();
  expect(granted).toEqual(['first', 'second']);
  accounts[1]?.account.close();
  expect(memory.stats()).toEqual({ held: 0, queued: 0, waiting: 0 });
});
