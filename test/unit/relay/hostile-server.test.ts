import { expect, test } from 'vitest';
import { type ObjectResult, TAKES_SETTINGS, TAKES_SUSPENDED } from '../../../src/model/agent/agent.ts';
import { NO_SETTINGS, settingsText } from '../../../src/model/agent/agent-settings.ts';
import { objectDigest, sha256, snapshotDigest } from '../../../src/model/text/digest.ts';
import type { IncomingStream } from '../../../src/ports/transport.ts';
import { createRelayClient } from '../../../src/relay/client.ts';
import { DEFAULT_LIMITS } from '../../../src/relay/limits.ts';
import { packChunks } from '../../../src/relay/transfer.ts';
import { decodeFrame, encodeFrame, type Frame, type FrameInit, limitsInit } from '../../../src/relay/wire/frames.ts';
import { outputHead, outputRecords } from '../../../src/relay/wire/output.ts';
import type { RecordInit } from '../../../src/relay/wire/records.ts';
import { digestBytes } from '../../../src/relay/wire/scalars.ts';
import { createMemoryNetwork } from '../../support/relay-transport.ts';
import {
  clusterId,
  clusterName,
  configMap,
  configMapKey,
  createFakeAgent,
  deltaOf,
  type FakeAgent,
  FLEET,
  inputOf,
} from '../../support/relay-world.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const EMPTY = snapshotDigest([]);
const welcomeValue = {
  protocol: 1,
  version: '1.0.0',
  fleet: FLEET,
  capabilities: [],
  limits: limitsInit(DEFAULT_LIMITS),
  inputDigest: digestBytes(EMPTY),
};
const welcome: FrameInit = { case: 'welcome', value: welcomeValue };
const delta = deltaOf(new Map(), new Map([['a', '1']]), { epoch: 1, sequence: 1 });

function chunksOf(records: Iterable<RecordInit>, transfer: bigint): FrameInit[] {
  return [...packChunks(records)].map((chunk, index) => ({ case: 'chunk', value: { transfer, index, ...chunk } }));
}

function output(sent: typeof delta, transfer = 1n): FrameInit[] {
  const begin: FrameInit = { case: 'begin', value: { transfer, subject: outputHead(sent) } };
  return [begin, ...chunksOf(outputRecords(sent, 1e9), transfer)];
}

/** An agent whose server says these frames on each stream, after the hello. */
async function meet(
  pull: readonly FrameInit[],
  push: readonly FrameInit[],
  agent: FakeAgent,
  capabilities: readonly string[] = [TAKES_SETTINGS],
  afterHolding?: FrameInit,
  results: readonly ObjectResult[] = [],
): Promise<Frame[]> {
  const network = createMemoryNetwork();
  const clock = createVirtualClock();
  const heard: Frame[] = [];
  const listen = async (stream: IncomingStream): Promise<void> => {
    for (let bytes = await stream.read(); bytes !== undefined; bytes = await stream.read()) {
      const frame = decodeFrame(bytes);
      heard.push(frame);
      if (frame.case === 'begin' && frame.value.subject.case === 'holding' && afterHolding !== undefined)
        await stream.write(encodeFrame(afterHolding));
      if (frame.case !== 'hello') continue;
      for (const answer of stream.method === 'Pull' ? pull : push) await stream.write(encodeFrame(answer));
    }
    stream.end({ code: 'done', reason: 'Closed', message: '' });
  };
  await network.server.start({
    stream: (stream) => void listen(stream),
    register: async () => ({ refused: { code: 'refused', reason: 'NotOffered', message: '' } }),
  });
  const client = createRelayClient(
    { transport: network.client, clock, random: { next: () => 0.5, id: () => 'x' }, log: silentLog },
    {
      cluster: clusterName('east'),
      clusterId: clusterId('east-id'),
      instance: 'instance-1',
      token: () => 'frt1_x',
      version: '1.0.0',
      capabilities,
    },
  );
  client.publishInput(inputOf({ live: '1' }));
  client.report(results);
  client.start(agent);
  await clock.settle();
  await Promise.all([client.stop(), clock.advance(2_000)]);
  return heard;
}

function firstProblem(agent: FakeAgent): string | undefined {
  return agent.states.flatMap((state) => (state.type === 'waiting' ? [state.reason] : []))[0];
}

test('a server that keeps to the protocol is heard', async () => {
  const agent = createFakeAgent();
  const heard = await meet([welcome, ...output(delta)], [welcome], agent);
  expect(agent.deltas).toMatchObject([delta]);
  expect(heard).toContainEqual(expect.objectContaining({ case: 'ack' }));
});

test.each([
  ['an earlier server is told the state that it knows', [], 'current'],
  ['a server that knows the state is told it', [TAKES_SUSPENDED], 'suspended'],
])('of an object that a person has suspended %s, with the message', async (_what, capabilities, state) => {
  const said: FrameInit = { case: 'welcome', value: { ...welcomeValue, capabilities } };
  const health = { state: 'suspended', message: 'its rollout is paused' } as const;
  const digest = objectDigest(configMap('a', '1'));
  const result = { key: configMapKey('a'), digest, state: 'applied', reason: 'Applied', message: '', health } as const;
  const heard = await meet([said], [said], createFakeAgent(), [], undefined, [result]);
  const texts = heard.flatMap((frame) => (frame.case === 'chunk' ? [Buffer.from(frame.value.data).toString()] : []));
  const reported = texts.find((text) => text.includes(health.message));
  expect(reported).toContain(state);
  expect(reported?.includes('suspended')).toBe(state === 'suspended');
});

const settings = (content: string = settingsText(NO_SETTINGS)): FrameInit => ({ case: 'settings', value: { content } });

const value = configMap('a', '1');
const content = new TextEncoder().encode(JSON.stringify(value));
const object = (key: string, changes: object = {}): RecordInit => ({
  case: 'object',
  value: {
    key,
    digest: digestBytes(sha256(content)),
    size: BigInt(content.length),
    origins: [],
    scope: 0,
    content,
    ...changes,
  },
});
const raw = (...records: RecordInit[]): FrameInit[] => {
  const head = outputHead({ ...delta, to: snapshotDigest([[configMapKey('a'), objectDigest(value)]]) });
  return [{ case: 'begin', value: { transfer: 1n, subject: head } }, ...chunksOf(records, 1n)];
};

const wrongs: [string, FrameInit[], string][] = [
  [
    'chooses a protocol that was not offered',
    [{ case: 'welcome', value: { ...welcomeValue, protocol: 9 } }],
    'WrongProtocol',
  ],
  ['names no limits', [{ case: 'welcome', value: { protocol: 1, version: '1' } }], 'BadHello'],
  ['names no fleet', [{ case: 'welcome', value: { ...welcomeValue, fleet: '' } }], 'BadHello'],
  ['sends before its welcome', output(delta), 'OutOfTurn'],
  ['welcomes twice', [welcome, welcome], 'OutOfTurn'],
  ['sends a hello', [welcome, { case: 'hello', value: {} }], 'OutOfTurn'],
  [
    'sends an input',
    [welcome, { case: 'begin', value: { transfer: 1n, subject: { case: 'input', value: {} } } }],
    'OutOfTurn',
  ],
  [
    'sends a list that the agent did not request',
    [welcome, { case: 'begin', value: { transfer: 1n, subject: { case: 'inputDigests', value: {} } } }],
    'OutOfTurn',
  ],
  ['answers nothing', [welcome, { case: 'ack', value: { transfer: 1n } }], 'OutOfTurn'],
  [
    'sends another content than it says',
    [welcome, ...raw(object(configMapKey('a'), { digest: digestBytes(EMPTY) }))],
    'DigestMismatch',
  ],
  ['sends a key that leads out of a folder', [welcome, ...raw(object('/ConfigMap/../../etc/passwd'))], 'BadKey'],
  ['sends a name that leads out of a folder', [welcome, ...raw(object('/ConfigMap/web/..'))], 'BadKey'],
  ['sends keys out of order', [welcome, ...raw(object(configMapKey('b')), object(configMapKey('a')))], 'OutOfTurn'],
  ['sends settings before its welcome', [settings()], 'OutOfTurn'],
  ['sends settings before the holding of the agent', [welcome, settings()], 'OutOfTurn'],
  [
    'changes and removes the same',
    [welcome, ...raw(object(configMapKey('a')), { case: 'removal', value: { key: configMapKey('a') } })],
    'OutOfTurn',
  ],
];
test.each(wrongs)('a server that %s is left, and nothing is taken', async (_what, frames, reason) => {
  const agent = createFakeAgent();
  const heard = await meet(frames, [welcome], agent);
  expect(firstProblem(agent)).toBe(reason);
  expect(agent.deltas).toEqual([]);
  expect(heard).toContainEqual(
    expect.objectContaining({ case: 'goodbye', value: expect.objectContaining({ reason }) }),
  );
});

test('a server that sends the next delta before the answer to the last is left', async () => {
  const agent = createFakeAgent();
  agent.gate = new Promise(() => undefined);
  await meet(
    [welcome, ...output(delta), ...output({ ...delta, position: { epoch: 1, sequence: 2 } }, 2n)],
    [welcome],
    agent,
  );
  expect(firstProblem(agent)).toBe('OutOfTurn');
});

async function hearSettings(content: string, agent: FakeAgent, capabilities?: readonly string[]): Promise<Frame[]> {
  return meet([welcome], [welcome], agent, capabilities, settings(content));
}

const long = JSON.stringify({
  ...NO_SETTINGS,
  ignoredFields: [
    { kind: '/Service', fields: Array.from({ length: 950 }, (_, index) => `a${'x'.repeat(258)}${index}`) },
  ],
});
test.each<[string, string, string]>([
  ['are no JSON', '{', 'MalformedSettings'],
  ['are a list', '[]', 'MalformedSettings'],
  ['lack a part', '{"discovery":{"excludedNamespaces":[],"excludedKinds":[]}}', 'MalformedSettings'],
  ['have an unknown member', JSON.stringify({ ...NO_SETTINGS, more: 1 }), 'MalformedSettings'],
  ['have a member __proto__', '{"__proto__":{},"discovery":{},"ignoredFields":[]}', 'MalformedSettings'],
  [
    'name a field that is none',
    JSON.stringify({ ...NO_SETTINGS, ignoredFields: [{ kind: '/A', fields: ['a..b'] }] }),
    'MalformedSettings',
  ],
  ['are too large', long, 'SettingsTooLarge'],
])('settings that %s end the stream', async (_what, content, reason) => {
  const agent = createFakeAgent();
  const heard = await hearSettings(content, agent);
  expect(firstProblem(agent)).toBe(reason);
  expect(agent.settingsHeard).toEqual([]);
  expect(heard).toContainEqual(
    expect.objectContaining({ case: 'goodbye', value: expect.objectContaining({ reason }) }),
  );
});

test('settings for an agent without the capability end the stream', async () => {
  const agent = createFakeAgent();
  await hearSettings(settingsText(NO_SETTINGS), agent, []);
  expect(firstProblem(agent)).toBe('OutOfTurn');
});

test('settings are heard', async () => {
  const agent = createFakeAgent();
  await hearSettings(settingsText(NO_SETTINGS), agent);
  expect(agent.settingsHeard).toEqual([NO_SETTINGS]);
});

test.each<[string, FrameInit[], string]>([
  [
    'has no digest',
    [{ case: 'welcome', value: { ...welcomeValue, inputDigest: new Uint8Array(0) } }],
    'MalformedFrame',
  ],
  [
    'has another digest than its list',
    [
      { case: 'welcome', value: { ...welcomeValue, inputDigest: new Uint8Array(32) } },
      { case: 'begin', value: { transfer: 1n, subject: { case: 'inputDigests', value: {} } } },
      ...chunksOf([], 1n),
    ],
    'DigestMismatch',
  ],
])('a Push welcome that %s is not believed', async (_what, frames, reason) => {
  const agent = createFakeAgent();
  await meet([welcome], frames, agent);
  expect(firstProblem(agent)).toBe(reason);
});
