import { zstdCompressSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { PartSchema } from '../../../generated/relay_pb.ts';
import type { Digest } from '../../../src/model/fleet/ids.ts';
import { objectDigest, sha256, snapshotDigest } from '../../../src/model/text/digest.ts';
import { packChunks } from '../../../src/relay/transfer.ts';
import { connectionToken } from '../../../src/relay/trust/tokens.ts';
import type { FrameInit } from '../../../src/relay/wire/frames.ts';
import { PROTOCOL } from '../../../src/relay/wire/frames.ts';
import type { RecordInit } from '../../../src/relay/wire/records.ts';
import { digestBytes } from '../../../src/relay/wire/scalars.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { createRelayHarness, EAST, type RelayHarness, type Stranger } from '../../support/relay-harness.ts';
import {
  clusterName,
  configMap,
  configMapKey,
  createFakeAgent,
  createFakeOwner,
  deltaOf,
  inputOf,
} from '../../support/relay-world.ts';
import { silentLog } from '../../support/silent-log.ts';

const EMPTY = snapshotDigest([]);
const NO_INPUT = snapshotDigest([]);

/** The end that a stranger meets, after everything before it was read. */
async function endOf({ clock }: RelayHarness, stranger: Stranger): Promise<{ code: string; reason: string }> {
  let over = false;
  void stranger.ended.then(() => {
    over = true;
  });
  await clock.settle();
  if (!over) await clock.advance(60_000);
  if (!over) return { code: 'open', reason: 'StillOpen' };
  const { code, reason } = await stranger.ended;
  return { code, reason };
}

function begin(subject: Extract<FrameInit, { case: 'begin' }>['value']['subject'], transfer = 1n): FrameInit {
  return { case: 'begin', value: { transfer, ...(subject === undefined ? {} : { subject }) } };
}

function chunk(records: readonly RecordInit[], changes: object = {}): FrameInit {
  const [packed] = packChunks(records);
  return { case: 'chunk', value: { transfer: 1n, index: 0, ...packed, ...changes } };
}

function holdingBegin(digest: Digest = EMPTY): FrameInit {
  return begin({ case: 'holding', value: { position: { epoch: 0n, sequence: 0n }, digest: digestBytes(digest) } });
}

describe('at a door that demands no token', () => {
  const open = () => createRelayHarness({}, createFakeOwner(), silentLog, { mode: 'insecure' });

  test('a caller without a token is admitted for the cluster that it names', async () => {
    const world = await open();
    const { agent } = await world.connect({ token: () => '' });
    expect(agent.states.at(-1)).toMatchObject({ type: 'connected' });
    const stranger = world.stranger('Pull', { cluster: 'west', token: null });
    await stranger.hello();
    expect(await endOf(world, stranger)).toMatchObject({ reason: 'ClusterMismatch' });
  });

  test.each([
    ['a wrong one', { token: 'frt1_AAAA' }],
    ['an empty one', { token: '' }],
    ["another cluster's", { cluster: 'west', token: connectionToken(new Uint8Array(32).fill(7), 'east') }],
    ['none, and a cluster name that is none', { cluster: '../etc', token: null }],
  ])('who shows %s is refused', async (_what, options) => {
    const world = await open();
    expect(await endOf(world, world.stranger('Pull', options))).toMatchObject({ reason: 'WrongToken' });
  });
});

describe('at the door', () => {
  test.each([
    ['a wrong token', { token: 'frt1_AAAA' }],
    ['an empty token', { token: '' }],
    ['no token', { token: null }],
    ['an unknown cluster', { cluster: 'nowhere', token: 'frt1_AAAA' }],
    ['a cluster name that is none', { cluster: '../etc' }],
    ["another cluster's token", { cluster: 'west', token: 'frt1_BBBB' }],
  ])('%s: the same answer', async (_what, options) => {
    const world = await createRelayHarness();
    const stranger = world.stranger('Pull', options);
    await world.clock.advance(1_000);
    expect(await stranger.ended).toEqual({
      code: 'unauthenticated',
      reason: 'WrongToken',
      message: 'the token does not belong to this cluster name',
    });
    expect(world.server.stats()).toMatchObject({ ended: { WrongToken: 1 }, streams: 0 });
  });

  test.each<[string, object, string]>([
    ["another cluster's name in the hello", { cluster: 'west' }, 'ClusterMismatch'],
    ['a cluster name that is none', { cluster: 'a/b' }, 'BadHello'],
    ['a cluster id that is none', { clusterId: '../../x' }, 'BadHello'],
    ['an instance that is none', { instance: 'x\ny' }, 'BadHello'],
    ['a version that is none', { version: '1\u001b[31m' }, 'BadHello'],
    ['a version of Kubernetes that is none', { kubernetesVersion: 'v1.36\u001b[31m' }, 'BadHello'],
    ['a namespace that is none', { ownNamespace: '../fleetrelay' }, 'BadHello'],
    ['a thousand capabilities', { capabilities: Array.from({ length: 1000 }, () => 'a') }, 'BadHello'],
    ['no limits', { limits: undefined }, 'BadHello'],
    ['a protocol of the past', { protocolMin: 0, protocolMax: 0 }, 'BadHello'],
    ['a protocol of the future', { protocolMin: PROTOCOL.max + 1, protocolMax: 99 }, 'ProtocolTooNew'],
  ])('%s is refused', async (_what, changes, reason) => {
    const world = await createRelayHarness();
    const stranger = world.stranger('Pull');
    await stranger.hello(changes);
    expect((await endOf(world, stranger)).reason).toBe(reason);
    expect(world.owner.events).toEqual([]);
  });

  test('a newer agent and this server settle on the highest protocol that both speak', async () => {
    const world = await createRelayHarness();
    const stranger = world.stranger('Pull');
    await stranger.hello({ protocolMin: 1, protocolMax: 99 });
    expect(await stranger.hear()).toMatchObject({ case: 'welcome', value: { protocol: PROTOCOL.max } });
  });

  test('a huge hello is refused', async () => {
    const world = await createRelayHarness();
    const stranger = world.stranger('Pull');
    await stranger.hello({ version: 'x'.repeat(300_000) });
    expect((await endOf(world, stranger)).reason).toBe('FrameTooLarge');
  });

  test('a stream without a hello is ended, which is no refusal of its cluster', async () => {
    const world = await createRelayHarness();
    expect((await endOf(world, world.stranger('Pull'))).reason).toBe('NoHello');
    // Its agent may have ended before: nothing that a person has to do something about.
    expect(world.owner.refusals).toEqual([]);
  });

  test('too many streams of one cluster are refused, of another are not', async () => {
    const world = await createRelayHarness({ streamsPerCluster: 3 });
    const strangers = Array.from({ length: 4 }, () => world.stranger('Pull'));
    expect(await strangers[3]?.ended).toMatchObject({ code: 'exhausted', reason: 'TooManyStreams' });
    const other = world.stranger('Pull', { cluster: 'west' });
    await other.hello({ cluster: clusterName('west') });
    expect((await other.hear())?.case).toBe('welcome');
    expect(world.server.stats().streams).toBe(4);
  });

  test('streams that a cluster opens too often are told when to come again', async () => {
    const world = await createRelayHarness({ streams: { burst: 1, perSecond: 0.1 }, streamWaitMs: 2_000 });
    // The second one waits.
    const [, , third] = [1, 2, 3].map(() => world.stranger('Pull').ended);
    expect(await third).toMatchObject({ reason: 'TooManyStreams', retryAfterMs: 10_001 });
  });

  test('Push without a Pull stream of the same instance is told to retry', async () => {
    const world = await createRelayHarness();
    await world.connect();
    const push = world.stranger('Push');
    await push.hello({ instance: 'another-instance' });
    expect(await endOf(world, push)).toEqual({ code: 'unavailable', reason: 'NoPullStream' });
    expect(world.owner.inputs).toEqual([]);
  });

  test.each([
    ['refused', 'refused'],
    ['retry', 'unavailable'],
  ] as const)('the decision of the owner (%s) reaches the agent', async (type, code) => {
    const owner = createFakeOwner();
    owner.admission = () => ({ type, reason: 'UnknownCluster', message: 'no such cluster' });
    const world = await createRelayHarness({}, owner);
    const stranger = world.stranger('Pull');
    await stranger.hello();
    expect(await stranger.ended).toEqual({ code, reason: 'UnknownCluster', message: 'no such cluster' });
  });

  test('a Pull stream is admitted once the owner has caught up', async () => {
    const owner = createFakeOwner();
    const caughtUp = Promise.withResolvers<boolean>();
    owner.caughtUp = () => caughtUp.promise;
    let asked = 0;
    owner.admission = () => {
      asked += 1;
      return { type: 'admitted' };
    };
    const world = await createRelayHarness({}, owner);
    const stranger = world.stranger('Pull');
    await stranger.hello();
    await world.clock.settle();
    expect(asked).toBe(0);
    caughtUp.resolve(true);
    expect((await stranger.hear())?.case).toBe('welcome');
  });

  test('an owner that has not caught up in time lets the agent connect again', async () => {
    const owner = createFakeOwner();
    owner.caughtUp = async () => false;
    const world = await createRelayHarness({}, owner);
    const stranger = world.stranger('Pull');
    await stranger.hello();
    expect(await stranger.ended).toMatchObject({ code: 'unavailable', reason: 'CatchingUp' });
  });
});

describe('on an open Pull stream', () => {
  async function welcomed(limits = {}): Promise<{ world: RelayHarness; stranger: Stranger }> {
    const world = await createRelayHarness(limits);
    const stranger = world.stranger('Pull');
    await stranger.hello();
    expect((await stranger.hear())?.case).toBe('welcome');
    return { world, stranger };
  }

  const garbage: [string, Uint8Array, string][] = [
    ['bytes that are no frame', Uint8Array.of(0xff, 0xff, 0xff), 'MalformedFrame'],
    ['an empty frame', new Uint8Array(0), 'MalformedFrame'],
    ['a frame of an unknown kind', Uint8Array.of(0xfa, 0x07, 0x00), 'MalformedFrame'],
    ['an oversized frame', new Uint8Array(300_000), 'FrameTooLarge'],
  ];
  test.each(garbage)('%s ends it', async (_what, bytes, reason) => {
    const { world, stranger } = await welcomed();
    await stranger.sayBytes(bytes);
    expect((await endOf(world, stranger)).reason).toBe(reason);
  });

  const entry = (key: string, more: object = {}): RecordInit => ({
    case: 'entry',
    value: { key, digest: digestBytes(EMPTY), phase: 'held', origins: [], scope: 0, ...more },
  });
  const bomb = { transfer: 1n, index: 0, compressed: true, last: true };
  const wrongs: [string, FrameInit[], string][] = [
    ['a second hello', [{ case: 'hello', value: {} }], 'OutOfTurn'],
    ['a chunk of nothing', [chunk([])], 'OutOfTurn'],
    ['an ack of nothing', [{ case: 'ack', value: { transfer: 1n } }], 'OutOfTurn'],
    ['an acknowledgement of nothing', [{ case: 'chunkAck', value: { transfer: 1n, received: 1 } }], 'OutOfTurn'],
    ['results before the holding', [begin({ case: 'results', value: {} })], 'OutOfTurn'],
    [
      'an input on Pull',
      [begin({ case: 'input', value: { from: digestBytes(EMPTY), to: digestBytes(EMPTY) } })],
      'OutOfTurn',
    ],
    ['a transfer of nothing', [begin(undefined)], 'MalformedFrame'],
    [
      'a transfer number out of order',
      [{ ...holdingBegin(), value: { ...(holdingBegin().value as object), transfer: 7n } } as FrameInit],
      'OutOfTurn',
    ],
    ['a transfer inside another', [holdingBegin(), holdingBegin()], 'OutOfTurn'],
    ['a chunk out of order', [holdingBegin(), chunk([], { index: 1 })], 'OutOfTurn'],
    ['a chunk twice', [holdingBegin(), chunk([], { last: false }), chunk([], { last: false })], 'OutOfTurn'],
    ['a chunk of another transfer', [holdingBegin(), chunk([], { transfer: 2n })], 'OutOfTurn'],
    [
      'a zstd bomb',
      [holdingBegin(), { case: 'chunk', value: { ...bomb, data: zstdCompressSync(new Uint8Array(200_000_000)) } }],
      'ChunkTooLarge',
    ],
    [
      'a chunk that is no zstd',
      [holdingBegin(), { case: 'chunk', value: { ...bomb, data: Uint8Array.of(1, 2, 3) } }],
      'MalformedChunk',
    ],
    [
      'a chunk that is no part',
      [holdingBegin(), { case: 'chunk', value: { ...bomb, compressed: false, data: Uint8Array.of(0x0a, 0x7f) } }],
      'MalformedChunk',
    ],
    [
      'a record of an unknown kind',
      [
        holdingBegin(),
        {
          case: 'chunk',
          value: { ...bomb, compressed: false, data: toBinary(PartSchema, create(PartSchema, { records: [{}] })) },
        },
      ],
      'MalformedChunk',
    ],
    ['a key that leads elsewhere', [holdingBegin(), chunk([entry('/Pod/../x')])], 'BadKey'],
    ['a key that is none', [holdingBegin(), chunk([entry('a\u0000b')])], 'BadKey'],
    [
      'a digest of three bytes',
      [holdingBegin(), chunk([entry('/Pod/web/x', { digest: Uint8Array.of(1, 2, 3) })])],
      'BadDigest',
    ],
    ['a phase that is none', [holdingBegin(), chunk([entry('/Pod/web/x', { phase: 'stolen' })])], 'BadWord'],
    ['a scope that was not defined', [holdingBegin(), chunk([entry('/Pod/web/x', { scope: 9 })])], 'UnknownScope'],
    [
      'an origin that is none',
      [holdingBegin(), chunk([entry('/Pod/web/x', { origins: [{ source: '..', path: '' }] })])],
      'BadOrigin',
    ],
    ['a key twice', [holdingBegin(), chunk([entry('/Pod/web/x'), entry('/Pod/web/x')])], 'OutOfTurn'],
    ['an object in a holding', [holdingBegin(), chunk([{ case: 'object', value: {} }])], 'OutOfTurn'],
    ['a holding with another digest', [holdingBegin(), chunk([entry('/Pod/web/x')])], 'DigestMismatch'],
    [
      'a position out of range',
      [begin({ case: 'holding', value: { position: { epoch: 2n ** 60n, sequence: 0n }, digest: digestBytes(EMPTY) } })],
      'BadNumber',
    ],
    [
      'a goodbye with a reason that is none',
      [{ case: 'goodbye', value: { reason: 'no word', message: '' } }],
      'BadReason',
    ],
  ];
  test.each(wrongs)('%s ends it', async (_what, frames, reason) => {
    const { world, stranger } = await welcomed();
    for (const frame of frames) await stranger.say(frame);
    expect((await endOf(world, stranger)).reason).toBe(reason);
    expect(world.owner.events).toEqual([]);
    const after = world.stranger('Pull');
    await after.hello();
    expect((await after.hear())?.case).toBe('welcome');
  });

  const START = Date.UTC(2026, 0, 1);
  const DAY = 24 * 60 * 60 * 1000;
  type Claim = { readonly epoch: bigint; readonly sequence: bigint };
  const claimOf = (epoch: number, sequence: number): Claim => ({ epoch: BigInt(epoch), sequence: BigInt(sequence) });
  /** A holding of nothing that states the claim as its position, or as its admission. */
  const claiming = (part: 'position' | 'admission', claim: Claim, transfer = 1n): FrameInit => {
    const position = part === 'position' ? claim : { epoch: 0n, sequence: 0n };
    const admitted = part === 'admission' ? { admitted: claim } : {};
    return begin({ case: 'holding', value: { position, digest: digestBytes(EMPTY), ...admitted } }, transfer);
  };
  const implausible: [string, Claim][] = [
    ['the last of all numbers', claimOf(2 ** 53 - 1, 2 ** 53 - 1)],
    ['the last number but one', claimOf(2 ** 53 - 1, 2 ** 53 - 2)],
    ['an epoch more than a day ahead', claimOf(START + DAY + 1, 1)],
    ['a sequence that no fleet reaches', claimOf(START, 2 ** 40 + 1)],
  ];
  describe.each(['position', 'admission'] as const)('as %s', (part) => {
    test.each(implausible)('%s ends it, and the owner is told why', async (_what, claim) => {
      const { world, stranger } = await welcomed();
      await stranger.say(claiming(part, claim));
      expect(await endOf(world, stranger)).toEqual({ code: 'invalid', reason: 'ImplausiblePosition' });
      expect((await stranger.ended).message).toContain(`the ${part} (${claim.epoch}, ${claim.sequence})`);
      expect(world.owner.events).toEqual([]);
      const caller = { cluster: 'east', isProven: true, wasConnected: false };
      expect(world.owner.refusals).toEqual([expect.objectContaining({ ...caller, reason: 'ImplausiblePosition' })]);
      expect(world.server.stats()).toMatchObject({ ended: { ImplausiblePosition: 1 } });
    });

    test.each(implausible)('%s ends it also after a delta was rejected', async (_what, claim) => {
      const { world, stranger } = await welcomed();
      await stranger.say(holdingBegin());
      await stranger.say(chunk([]));
      await world.clock.settle();
      const delta = deltaOf(new Map(), new Map([['a', '1']]), { epoch: 1, sequence: 1 });
      const sending = world.owner.sessions.get(EAST)?.session.send(delta);
      await world.clock.settle();
      await stranger.say({
        case: 'nack',
        value: { transfer: 1n, reason: 'DifferentBase', message: '' },
      });
      await stranger.say(claiming(part, claim, 2n));
      expect(await endOf(world, stranger)).toEqual({ code: 'invalid', reason: 'ImplausiblePosition' });
      expect(await sending).toEqual({ type: 'disconnected' });
      expect(world.owner.events.at(-1)).toBe('disconnected east stranger-1 ImplausiblePosition');
    });

    test('a position that a fleet can have reached does not, nor one that this fleet has reached', async () => {
      const claims = [claimOf(START + DAY, 2 ** 40), claimOf(START + 900 * DAY, 5)];
      for (const claim of claims) {
        const { world, stranger } = await welcomed();
        world.owner.epoch = START + 900 * DAY;
        await stranger.say(claiming(part, claim));
        await stranger.say(chunk([]));
        await world.clock.settle();
        expect(world.owner.events).toEqual(['connected east stranger-1']);
        expect(world.owner.breaches).toEqual([]);
      }
    });
  });

  test('an agent with an implausible position is told why, and so is the log', async () => {
    const log = createRecordingLog();
    const world = await createRelayHarness({}, undefined, log);
    const agent = createFakeAgent();
    const { holding } = agent;
    agent.holding = () => ({ ...holding(), admitted: { epoch: 2 ** 53 - 1, sequence: 2 ** 53 - 1 } });
    await world.connect({}, agent);
    const message = expect.stringContaining('more than a day ahead of the clock of the server');
    expect(agent.states.at(-1)).toMatchObject({ type: 'waiting', reason: 'ImplausiblePosition', message });
    const text = 'warn: relay: a stream has ended';
    const data = expect.objectContaining({ reason: 'ImplausiblePosition', cluster: 'east', detail: message });
    expect(log.lines).toContainEqual({ text, data });
  });

  test('a transfer of too many records, or too many bytes, ends it', async () => {
    for (const limits of [{ transferRecords: 10 }, { transferBytes: 500 }]) {
      const { world, stranger } = await welcomed(limits);
      await stranger.say(holdingBegin());
      await stranger.say(chunk(Array.from({ length: 11 }, (_, index) => entry(`/Pod/web/x${index}`))));
      expect(await endOf(world, stranger)).toEqual({ code: 'exhausted', reason: 'TransferTooLarge' });
    }
  });

  test('an agent that asks and never reads costs a bounded amount', async () => {
    const { world, stranger } = await welcomed();
    await stranger.say(holdingBegin());
    await stranger.say(chunk([]));
    let transfer = 1n;
    for (let round = 0; round < 500; round += 1) {
      transfer += 1n;
      if (!(await stranger.say(begin({ case: 'results', value: {} }, transfer)))) break;
      await stranger.say(chunk([], { transfer }));
    }
    expect(transfer).toBeLessThan(200n);
    expect((await stranger.ended).reason).toBe('NotReading');
    expect(world.owner.events.at(-1)).toBe('disconnected east stranger-1 NotReading');
  });

  test('a missing holding ends the stream', async () => {
    const { world, stranger } = await welcomed();
    const answering = (async () => {
      for (let frame = await stranger.hear(); frame !== undefined; frame = await stranger.hear()) {
        if (frame.case === 'ping') await stranger.say({ case: 'pong', value: { number: frame.value.number } });
      }
    })();
    await world.clock.advance(130_000);
    await answering;
    expect((await stranger.ended).reason).toBe('NoHolding');
  });
});

describe('on an open Push stream', () => {
  async function pushing(): Promise<{ world: RelayHarness; push: Stranger }> {
    const world = await createRelayHarness({ objectBytes: 5_000 });
    const pull = world.stranger('Pull');
    await pull.hello();
    await pull.hear();
    await pull.say(holdingBegin());
    await pull.say(chunk([]));
    const push = world.stranger('Push');
    await push.hello();
    expect((await push.hear())?.case).toBe('welcome');
    return { world, push };
  }

  const value = configMap('a', '1');
  const bytes = (json: unknown): Uint8Array<ArrayBuffer> => new TextEncoder().encode(JSON.stringify(json));
  const key = configMapKey('a');
  const object = (content: Uint8Array, changes: object = {}): RecordInit => {
    const digest = digestBytes(sha256(content));
    return {
      case: 'object',
      value: { key, digest, size: BigInt(content.length), origins: [], scope: 0, content, ...changes },
    };
  };
  const to = snapshotDigest([[key, objectDigest(value)]]);
  const kindOf = (value: object): RecordInit => ({ case: 'kind', value: { kind: '/Pod', ...value } });
  const inside = (namespace: string) => ({ namespace, message: 'no right' });
  const input = (target: Digest = to, from: Digest = NO_INPUT): FrameInit =>
    begin({ case: 'input', value: { from: digestBytes(from), to: digestBytes(target) } });
  const deep = `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`;
  const wrongs: [string, FrameInit[], string][] = [
    ['a delta from something else', [input(to, to), chunk([object(bytes(value))])], 'DifferentBase'],
    ['a delta to something else', [input(EMPTY), chunk([object(bytes(value))])], 'DigestMismatch'],
    [
      'content with another digest',
      [input(snapshotDigest([[key, EMPTY]])), chunk([object(bytes(value), { digest: digestBytes(EMPTY) })])],
      'DigestMismatch',
    ],
    ['content that is not JSON', [input(), chunk([object(Buffer.from('{'))])], 'MalformedContent'],
    ['content that is not UTF-8', [input(), chunk([object(Buffer.from([0x22, 0xff, 0x22]))])], 'MalformedContent'],
    ['content that is no object', [input(), chunk([object(bytes([1]))])], 'MalformedContent'],
    [
      'content with __proto__',
      [input(), chunk([object(Buffer.from('{"a":[{"__proto__":{"x":1}}]}'))])],
      'MalformedContent',
    ],
    ['content that lacks a piece', [input(), chunk([object(bytes(value), { size: 4_000n })])], 'OutOfTurn'],
    ['content that has a piece too many', [input(), chunk([object(bytes(value), { size: 3n })])], 'OutOfTurn'],
    ['content that is too large', [input(), chunk([object(bytes(value), { size: 5_001n })])], 'ObjectTooLarge'],
    ['a piece of nothing', [input(), chunk([{ case: 'more', value: { content: bytes(1) } }])], 'OutOfTurn'],
    ['keys out of order', [input(), chunk([object(bytes(value)), object(bytes(value))])], 'OutOfTurn'],
    [
      'a key that comes and goes',
      [input(), chunk([object(bytes(value)), { case: 'removal', value: { key } }])],
      'OutOfTurn',
    ],
    ['a removal of an unknown key', [input(EMPTY), chunk([{ case: 'removal', value: { key } }])], 'UnknownKey'],
    [
      'a kind that is none',
      [input(EMPTY), chunk([{ case: 'kind', value: { kind: 'Pod', state: 'complete', message: '' } }])],
      'BadKind',
    ],
    [
      'a state that is none',
      [input(EMPTY), chunk([{ case: 'kind', value: { kind: '/Pod', state: 'maybe', message: '' } }])],
      'BadWord',
    ],
    [
      'a text without end',
      [
        input(EMPTY),
        chunk([{ case: 'kind', value: { kind: '/Pod', state: 'complete', message: 'x'.repeat(100_000) } }]),
      ],
      'TextTooLong',
    ],
    [
      'a kind that comes twice',
      [input(EMPTY), chunk([kindOf({ state: 'complete' }), kindOf({ state: 'unknown' })])],
      'OutOfTurn',
    ],
    [
      'Namespaces that are added to another kind than the last',
      [input(EMPTY), chunk([kindOf({ state: 'complete' }), kindOf({ kind: '/Node', unlisted: [inside('a')] })])],
      'BadWord',
    ],
    [
      'Namespaces of a kind that is unknown everywhere',
      [input(EMPTY), chunk([kindOf({ state: 'unknown', unlisted: [inside('a')] })])],
      'BadKind',
    ],
    [
      'a Namespace that is none',
      [input(EMPTY), chunk([kindOf({ state: 'complete', unlisted: [inside('a/b')] })])],
      'BadKind',
    ],
    [
      'a Namespace that is unlisted twice',
      [
        input(EMPTY),
        chunk([kindOf({ state: 'complete', unlisted: [inside('a')] }), kindOf({ unlisted: [inside('a')] })]),
      ],
      'OutOfTurn',
    ],
    [
      'Namespaces without end',
      [
        input(EMPTY),
        chunk([kindOf({ state: 'complete', unlisted: Array.from({ length: 1_001 }, (_, at) => inside(`n${at}`)) })]),
      ],
      'BadKind',
    ],
    ['results on Push', [begin({ case: 'results', value: {} })], 'OutOfTurn'],
    [
      'the list twice',
      [
        { case: 'inputDigestsRequest', value: {} },
        { case: 'inputDigestsRequest', value: {} },
      ],
      'OutOfTurn',
    ],
  ];
  test.each(wrongs)('%s ends it', async (_what, frames, reason) => {
    const { world, push } = await pushing();
    for (const frame of frames) await push.say(frame);
    expect((await endOf(world, push)).reason).toBe(reason);
    expect(world.owner.inputs).toEqual([]);
  });

  test('content that is too deep ends it', async () => {
    const world = await createRelayHarness();
    const pull = world.stranger('Pull');
    await pull.hello();
    await pull.hear();
    await pull.say(holdingBegin());
    await pull.say(chunk([]));
    const push = world.stranger('Push');
    await push.hello();
    await push.hear();
    await push.say(input());
    await push.say(chunk([object(Buffer.from(deep))]));
    expect((await endOf(world, push)).reason).toBe('MalformedContent');
  });

  test('a cluster writes nothing but its own', async () => {
    const world = await createRelayHarness();
    const { client } = await world.connect();
    client.publishInput(inputOf({ a: '1' }));
    await world.clock.settle();
    expect([...world.owner.held.keys()]).toEqual([EAST]);
  });
});

describe('an owner that fails', () => {
  test('ends that stream only', async () => {
    const owner = createFakeOwner();
    const input = owner.input;
    owner.input = () => {
      owner.input = input;
      throw new Error('a bug');
    };
    const world = await createRelayHarness({}, owner);
    const { client, agent } = await world.connect();
    client.publishInput(inputOf({ a: '1' }));
    await world.clock.settle();
    expect(agent.states.at(-1)).toMatchObject({ type: 'waiting', reason: 'Internal' });
    await world.clock.advance(500);
    expect(owner.sessions.has(EAST)).toBe(true);
    expect(owner.held.get(EAST)?.size).toBe(1);
  });
});
