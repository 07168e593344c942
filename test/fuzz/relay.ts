import { zstdCompressSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { PartSchema } from '../../generated/relay_pb.ts';
import { TAKES_SETTINGS } from '../../src/model/agent/agent.ts';
import { NO_SETTINGS, settingsText } from '../../src/model/agent/agent-settings.ts';
import { snapshotDigest } from '../../src/model/text/digest.ts';
import type { Log } from '../../src/ports/log.ts';
import type { IncomingStream, MessageStream } from '../../src/ports/transport.ts';
import { createRelayClient } from '../../src/relay/client.ts';
import { DEFAULT_LIMITS } from '../../src/relay/limits.ts';
import { connectionToken } from '../../src/relay/trust/tokens.ts';
import { decodeFrame, encodeFrame, type FrameInit, helloFrame, limitsInit } from '../../src/relay/wire/frames.ts';
import { inputHead, inputRecords, resultRecords } from '../../src/relay/wire/input.ts';
import { outputHead, outputRecords } from '../../src/relay/wire/output.ts';
import { ObjectTooLargeError, type RecordInit } from '../../src/relay/wire/records.ts';
import { digestBytes } from '../../src/relay/wire/scalars.ts';
import { createRelayHarness, EAST, SECRET } from '../support/relay-harness.ts';
import { createMemoryNetwork } from '../support/relay-transport.ts';
import {
  clusterId,
  clusterName,
  configMapKey,
  createFakeAgent,
  deltaOf,
  liveConfigMap,
  outputsDigest,
} from '../support/relay-world.ts';
import { silentLog } from '../support/silent-log.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { mutate, mutations } from './mutations.ts';
import { type FuzzTarget, require, requireReason } from './target.ts';

type Method = 'Push' | 'Pull';

/** What a hostile end sends, message by message, to the other end. Bytes are base64. */
interface Conversation {
  readonly to: 'server' | 'agent';
  readonly messages: readonly { readonly on: Method; readonly bytes: string }[];
}

interface Message {
  readonly on: Method;
  readonly bytes: Uint8Array;
}

const EMPTY = digestBytes(snapshotDigest([]));
const WEST = clusterName('west');
const OBJECTS = 32 * 1024 * 1024;
/** Restricts what one transfer may bring, so that a bound is a matter of few bytes. */
const LIMITS = { transferBytes: 64 * 1024, transferRecords: 500, transferItems: 500, sessionsBytes: 1024 * 1024 };

/** The frames of a transfer, its records in chunks of `size`. */
function transfer(
  subject: Extract<FrameInit, { case: 'begin' }>['value']['subject'],
  records: readonly RecordInit[],
  { number, size, compressed }: Shape,
): FrameInit[] {
  const groups: RecordInit[][] = [];
  for (let at = 0; at < Math.max(records.length, 1); at += size) groups.push(records.slice(at, at + size));
  const chunks = groups.map((group, index): FrameInit => {
    const part = toBinary(PartSchema, create(PartSchema, { records: group.map((record) => ({ record })) }));
    const data = compressed ? new Uint8Array(zstdCompressSync(part)) : part;
    const last = index === groups.length - 1;
    return { case: 'chunk', value: { transfer: BigInt(number), index, compressed, data, last } };
  });
  return [
    { case: 'begin', value: { transfer: BigInt(number), ...(subject === undefined ? {} : { subject }) } },
    ...chunks,
  ];
}

interface Shape {
  readonly number: number;
  readonly size: number;
  readonly compressed: boolean;
}

const shape: fc.Arbitrary<Shape> = fc.record({
  number: fc.oneof({ weight: 8, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.nat({ max: 3 }) }),
  size: fc.integer({ min: 1, max: 5 }),
  compressed: fc.boolean(),
});
const words = fc.oneof(fc.constantFrom('', 'x', 'Reason', '\u0000', 'held', '__proto__'), fc.string({ maxLength: 40 }));
const count = fc.oneof(fc.nat({ max: 3 }), fc.constantFrom(2 ** 31, 2 ** 32 - 1));
const long = fc.oneof(fc.nat({ max: 3 }).map(BigInt), fc.constantFrom(2n ** 53n, 2n ** 64n - 1n));
const names = fc.subarray(['a', 'b', 'c', 'd', 'e']);

const loneFrame: fc.Arbitrary<FrameInit> = fc.oneof(
  long.map((number): FrameInit => ({ case: 'ping', value: { number } })),
  long.map((number): FrameInit => ({ case: 'pong', value: { number } })),
  fc.record({ transfer: long }).map((value): FrameInit => ({ case: 'ack', value })),
  fc.record({ transfer: long, received: count }).map((value): FrameInit => ({ case: 'chunkAck', value })),
  fc.record({ transfer: long, reason: words, message: words }).map((value): FrameInit => ({ case: 'nack', value })),
  fc.record({ reason: words, message: words }).map((value): FrameInit => ({ case: 'goodbye', value })),
  fc.oneof(words, fc.json()).map((content): FrameInit => ({ case: 'settings', value: { content } })),
  words.map((roots): FrameInit => ({ case: 'roots', value: { roots } })),
  words.map((message): FrameInit => ({ case: 'drain', value: { message } })),
  fc.constant<FrameInit>({ case: 'inputDigestsRequest', value: {} }),
);

/** A record with known keys and words mixed with any. */
const loneRecord: fc.Arbitrary<RecordInit> = fc
  .record({ name: words, word: words, number: count, item: words })
  .chain(({ name, word, number, item }) => {
    const key = `/ConfigMap/web/${name}`;
    const origins = [{ source: item, path: word }];
    return fc.constantFrom<RecordInit>(
      { case: 'scope', value: { number, clusters: [name, item] } },
      { case: 'object', value: { key, digest: EMPTY, size: BigInt(number), origins, scope: number } },
      { case: 'more', value: { origins, content: EMPTY } },
      { case: 'touch', value: { key, origins, scope: number } },
      { case: 'removal', value: { key } },
      { case: 'keep', value: { key, reason: word } },
      { case: 'revision', value: { source: name, revision: word } },
      { case: 'entry', value: { key, digest: EMPTY, phase: word, origins, scope: number } },
      { case: 'result', value: { key, digest: EMPTY, state: word, reason: item, message: name } },
      { case: 'kind', value: { kind: name, state: word, unlisted: [{ namespace: item, message: word }] } },
      { case: 'digest', value: { key, digest: EMPTY } },
    );
  });
const extraRecords = seldom(fc.array(loneRecord, { maxLength: 4 }));

/** Mostly none, so that what follows in a conversation is reached. */
function seldom<Item>(items: fc.Arbitrary<readonly Item[]>): fc.Arbitrary<readonly Item[]> {
  return fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, items);
}

function on(method: Method, frames: readonly FrameInit[]): Message[] {
  return frames.map((frame) => ({ on: method, bytes: encodeFrame(frame) }));
}

/** What a regular agent says: its holding, its input and results. */
const fromAgent = fc
  .record({ names, shape, extra: extraRecords, extraHeld: extraRecords, extraResults: extraRecords })
  .map((about) => {
    const { value } = helloFrame(
      { cluster: EAST, clusterId: clusterId('east-id'), instance: 'hostile-1', version: '1.0.0', capabilities: [] },
      DEFAULT_LIMITS,
    );
    const hello: FrameInit = { case: 'hello', value };
    const first = { ...about.shape, number: 1 };
    const holding = { position: { epoch: 0n, sequence: 0n }, digest: EMPTY };
    const objects = about.names.map((name) => liveConfigMap(name, 'datum'));
    const to = snapshotDigest(objects.map(({ key, digest }) => [key, digest]));
    const kinds = [{ kind: '/ConfigMap', state: 'complete' as const, message: '' }];
    const delta = { from: snapshotDigest([]), to, upserts: objects, removals: [], kinds };
    const results = objects.map(({ key, digest }) => ({
      key,
      digest,
      state: 'applied' as never,
      reason: '',
      message: '',
    }));
    const reported = [...resultRecords(results, []), ...about.extraResults];
    return [
      ...on('Pull', [hello, ...transfer({ case: 'holding', value: holding }, about.extraHeld, first)]),
      ...on('Push', [hello]),
      ...on('Push', transfer(inputHead(delta), [...inputRecords(delta, OBJECTS), ...about.extra], about.shape)),
      ...on('Pull', transfer({ case: 'results', value: {} }, reported, { ...about.shape, number: 2 })),
    ];
  });

/** What a regular server says: its welcomes, settings, and a delta of outputs. */
const fromServer = fc.record({ names, shape, extra: extraRecords }).map((about) => {
  const limits = limitsInit(DEFAULT_LIMITS);
  const value = { protocol: 1, version: '1.0.0', capabilities: [], limits, fleet: 'fleet', inputDigest: EMPTY };
  const welcome: FrameInit = { case: 'welcome', value };
  const outputs = new Map(about.names.map((name) => [name, 'datum']));
  const delta = deltaOf(new Map(), outputs, { epoch: 1, sequence: 1 });
  const records = [...outputRecords(delta, OBJECTS), ...about.extra];
  return [
    // The agent sends its holding and its input after these.
    ...on('Pull', [welcome]),
    ...on('Push', [welcome]),
    ...on('Pull', [{ case: 'settings', value: { content: settingsText(NO_SETTINGS) } }]),
    ...on('Pull', transfer(outputHead(delta), records, about.shape)),
  ];
});

function conversationTo(to: Conversation['to'], valid: fc.Arbitrary<Message[]>): fc.Arbitrary<Conversation> {
  const inserted = fc.record({
    at: fc.nat({ max: 30 }),
    on: fc.constantFrom<Method>('Pull', 'Push'),
    frame: loneFrame,
  });
  return fc
    .record({ valid, inserted: seldom(fc.array(inserted, { maxLength: 2 })), changes: seldom(mutations(3)) })
    .map(({ valid: messages, inserted: frames, changes }) => {
      const longer = frames.reduce<readonly Message[]>(
        (all, { at, on: method, frame }) => all.toSpliced(at % (all.length + 1), 0, ...on(method, [frame])),
        messages,
      );
      const sent = changes.reduce<readonly Message[]>(mutate, longer);
      return { to, messages: sent.map(({ on: method, bytes }) => ({ on: method, bytes: toBase64(bytes) })) };
    });
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

/** Keeps what the relay logs as an error: a failure of its own, but for an object above the limit that the peer states. */
function failingLog(failures: unknown[]): Log {
  const error: Log['error'] = (message, data) => {
    if (!(data?.error instanceof ObjectTooLargeError)) failures.push([message, data]);
  };
  const log: Log = { ...silentLog, error, child: () => log };
  return log;
}

function requireNoFailures(failures: readonly unknown[]): void {
  const [first] = failures;
  const [message, data] = (first ?? []) as [string?, { error?: unknown }?];
  if (first !== undefined) throw new Error(`${message}: ${String((data?.error as Error)?.stack ?? data?.error)}`);
}

/** Reads until the stream ends, so that the other end never waits. */
async function readAll(stream: MessageStream): Promise<void> {
  while ((await stream.read()) !== undefined);
}

/** A hostile agent of `east`; the session of `west` must go on. */
async function attackServer(messages: Conversation['messages']): Promise<void> {
  const failures: unknown[] = [];
  const world = await createRelayHarness(LIMITS, undefined, failingLog(failures));
  const west = await world.connect({ cluster: WEST });
  const streams = new Map<Method, ReturnType<typeof world.stranger>>();
  for (const { on: method, bytes } of messages) {
    let stranger = streams.get(method);
    if (stranger === undefined) {
      stranger = world.stranger(method);
      streams.set(method, stranger);
      void stranger.ended.then(({ reason }) => checkLater(failures, reason));
      void readAll(stranger.stream);
    }
    void stranger.sayBytes(Buffer.from(bytes, 'base64'));
    await world.clock.settle();
    require(world.server.stats().memory.held <= LIMITS.sessionsBytes, 'transfers hold more memory than is allowed');
  }
  requireNoFailures(failures);
  await requireWest(world, west);
  world.network.cut();
  await world.clock.settle();
  require(world.server.stats().memory.held === 0, 'memory is held for a stream that is gone');
  await west.client.stop();
  await world.clock.settle();
  requireNoFailures(failures);
}

/** The session of the other cluster is the one that it was, and works. */
async function requireWest(
  world: Awaited<ReturnType<typeof createRelayHarness>>,
  west: Awaited<ReturnType<(typeof world)['connect']>>,
): Promise<void> {
  require(west.agent.states.map(({ type }) => type).join() ===
    'connecting,connected', 'the other session is disturbed');
  const object = liveConfigMap('of-west', 'datum');
  west.client.publishInput({ objects: new Map([[object.key, object]]), kinds: [] });
  await world.clock.settle();
  await world.clock.settle();
  require(world.owner.held.get(WEST)?.has(configMapKey('of-west')) === true, 'the other cluster is not heard');
}

function checkLater(failures: unknown[], reason: string): void {
  try {
    requireReason(reason);
    require(reason !== 'Internal', 'a stream ended as Internal');
  } catch (error) {
    failures.push(['the end of a stream', { error }]);
  }
}

/** Acknowledges inputs until the agent ends the stream, whose reason is a constant word; then the server's end is over too. */
async function readAnswers(stream: IncomingStream, failures: unknown[]): Promise<void> {
  for (let bytes = await stream.read(); bytes !== undefined; bytes = await stream.read()) {
    const frame = decodeFrame(bytes);
    if (frame.case === 'goodbye') checkLater(failures, frame.value.reason);
    // A holding has no answer.
    if (stream.method !== 'Push' || frame.case !== 'chunk' || !frame.value.last) continue;
    void stream.write(encodeFrame({ case: 'ack', value: { transfer: frame.value.transfer } }));
  }
  stream.end({ code: 'done', reason: 'Closed', message: 'the agent has left' });
}

/** A hostile server; the agent keeps only what a complete delta brought. */
async function attackAgent(messages: Conversation['messages']): Promise<void> {
  const failures: unknown[] = [];
  const [clock, network, agent] = [createVirtualClock(), createMemoryNetwork(), createFakeAgent()];
  const streams = new Map<Method, IncomingStream>();
  await network.server.start({
    stream(stream) {
      // The conversation is of the first link alone.
      if (!streams.has(stream.method)) streams.set(stream.method, stream);
      void readAnswers(stream, failures);
    },
    register: async () => ({ refused: { code: 'refused', reason: 'None', message: 'none' } }),
  });
  const client = createRelayClient(
    { transport: network.client, clock, random: { next: () => 0.5, id: () => 'x' }, log: failingLog(failures) },
    {
      cluster: EAST,
      clusterId: clusterId('east-id'),
      instance: 'instance-1',
      token: () => connectionToken(SECRET, EAST),
      version: '1.0.0',
      capabilities: [TAKES_SETTINGS],
    },
  );
  client.start(agent);
  const object = liveConfigMap('of-east', 'datum');
  client.publishInput({ objects: new Map([[object.key, object]]), kinds: [] });
  await clock.settle();
  for (const { on: method, bytes } of messages) {
    void streams.get(method)?.write(Buffer.from(bytes, 'base64'));
    await clock.settle();
  }
  for (const state of agent.states) if (state.type === 'waiting') requireReason(state.reason);
  const last = agent.deltas.at(-1);
  const digest = agent.holding().digest;
  require(digest === (last?.to ?? outputsDigest(new Map())), 'the agent holds what no delta brought');
  await client.stop();
  await clock.settle();
  requireNoFailures(failures);
}

/** Both ends of the relay, each against a peer that breaks the protocol. */
export const relay: FuzzTarget<Conversation> = {
  name: 'relay',
  inputs: fc.oneof(conversationTo('server', fromAgent), conversationTo('agent', fromServer)),
  check: ({ to, messages }) => (to === 'server' ? attackServer(messages) : attackAgent(messages)),
};
