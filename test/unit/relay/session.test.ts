import { expect, test } from 'vitest';
import { healthDefaults } from '../../../src/domains/health/model/settings.ts';
import {
  type AgentHello,
  type ObjectResult,
  TAKES_DRIFT_MODE,
  TAKES_DRIFT_MODE_BOUND,
  TAKES_HEALTH_CHECKS,
  TAKES_LIVE_OPT_OUTS,
  TAKES_SETTINGS,
} from '../../../src/model/agent/agent.ts';
import { TAKES_INJECTOR } from '../../../src/model/agent/agent-members.ts';
import { type AgentSettings, NO_SETTINGS } from '../../../src/model/agent/agent-settings.ts';
import { parseFleetName } from '../../../src/model/fleet/ids.ts';
import type { SequencedDelta } from '../../../src/model/fleet/output.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { objectDigest } from '../../../src/model/text/digest.ts';
import { canonicalJson, type JsonObject } from '../../../src/model/text/json.ts';
import { PackedText } from '../../../src/model/values/packed-texts.ts';
import { must } from '../../../src/model/values/result.ts';
import type { Log, LogData } from '../../../src/ports/log.ts';
import { createRelayServer } from '../../../src/relay/server.ts';
import type { AgentSession } from '../../../src/relay/session.ts';
import { createStepTags } from '../../../src/relay/trust/step-tags.ts';
import { decodeFrame } from '../../../src/relay/wire/frames.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { createRelayHarness, EAST, type RelayHarness, SECRET } from '../../support/relay-harness.ts';
import {
  clusterId,
  clusterName,
  configMap,
  configMapKey,
  createFakeAgent,
  createFakeOwner,
  deltaOf,
  FLEET,
  inputOf,
  type Outputs,
  outputsDigest,
} from '../../support/relay-world.ts';
import { silentLog } from '../../support/silent-log.ts';

const NONE: Outputs = new Map();
const A: Outputs = new Map([['a', '1']]);
const AB: Outputs = new Map([
  ['a', '2'],
  ['b', '1'],
]);

function sessionOf({ owner }: RelayHarness): AgentSession {
  const connected = owner.sessions.get(EAST);
  if (connected === undefined) throw new Error('east is not connected');
  return connected.session;
}

function result(name: string, message = ''): ObjectResult {
  const digest = objectDigest(configMap(name, '1'));
  return { key: configMapKey(name), digest, state: 'applied', reason: 'Applied', message };
}

test('a delta arrives with all its parts', async () => {
  const world = await createRelayHarness();
  const { agent } = await world.connect();
  const delta = {
    ...deltaOf(NONE, AB, { epoch: 3, sequence: 1 }),
    keeps: [{ key: configMapKey('kept'), reason: 'its source cannot be read' }],
    admitted: { epoch: 1_700_000_000_000, sequence: 12 },
  };
  expect(await sessionOf(world).send(delta)).toEqual({ type: 'accepted' });
  const touched = {
    ...deltaOf(AB, AB, { epoch: 3, sequence: 2 }),
    touches: [{ key: configMapKey('a'), origins: [{ source: 'fleet' as never, path: 'new.yaml' }], scope: [EAST] }],
  };
  expect(await sessionOf(world).send(touched)).toEqual({ type: 'accepted' });
  const stopped = {
    ...deltaOf(AB, AB, { epoch: 3, sequence: 3 }),
    touches: [{ key: configMapKey('a'), origins: [], scope: [], stopped: true } as const],
  };
  expect(await sessionOf(world).send(stopped)).toEqual({ type: 'accepted' });
  const again = {
    ...deltaOf(AB, AB, { epoch: 3, sequence: 4 }),
    touches: [{ key: configMapKey('a'), origins: [], scope: [], attempt: 1_780_000_000_000 }],
  };
  expect(await sessionOf(world).send(again)).toEqual({ type: 'accepted' });
  const left = {
    ...deltaOf(AB, AB, { epoch: 3, sequence: 5 }),
    touches: [{ key: configMapKey('a'), origins: [], scope: [], driftMode: 'Report' } as const],
  };
  expect(await sessionOf(world).send(left)).toEqual({ type: 'accepted' });
  const received = agent.deltas.map(({ tag: _, upserts, ...sent }) => ({
    ...sent,
    // The value of a received object is no property of its own.
    upserts: upserts.map((object) => ({ ...object, value: object.value })),
  }));
  expect(received).toEqual([withContents(delta), touched, stopped, again, left]);
  expect(world.server.stats()).toMatchObject({ connectedClusters: 1, streams: 2, outputsAccepted: 5 });
});

/** As it arrives: with the bytes that its digests cover. */
function withContents<Delta extends SequencedDelta>(delta: Delta): Delta {
  const encode = (value: JsonObject) => Uint8Array.from(Buffer.from(canonicalJson(value)));
  return { ...delta, upserts: delta.upserts.map((object) => ({ ...object, content: encode(object.value) })) };
}

test('an output that is accepted is one line at the agent', async () => {
  const lines: string[] = [];
  const world = await createRelayHarness({}, undefined, recordingLog(lines));
  await world.connect();
  const keeps = [{ key: configMapKey('kept'), reason: 'its source cannot be read' }];
  await sessionOf(world).send({ ...deltaOf(NONE, AB, { epoch: 3, sequence: 1 }), keeps });
  await sessionOf(world).send(deltaOf(AB, A, { epoch: 3, sequence: 2 }));
  const said = lines.filter((line) => line.includes('an output was accepted'));
  expect(said).toEqual([
    expect.stringMatching(/^info.*"epoch":3,"sequence":1.*"put":2,"touched":0,"kept":1,"removed":0/),
    expect.stringMatching(/^info.*"sequence":2.*"removed":1/),
  ]);
});

test('settings reach an agent that takes them, the newest at last, and no other agent', async () => {
  const world = await createRelayHarness();
  const other = clusterName('west');
  const east = await world.connect({ capabilities: [TAKES_SETTINGS] });
  const west = await world.connect({ cluster: other });
  const said = (name: string): AgentSettings => ({
    discovery: {
      excludedNamespaces: [name],
      excludedKinds: ['/Event'],
      objectSelector: { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'c', operator: 'In', values: ['d'] }] },
    },
    ignoredFields: [{ kind: 'apps/Deployment', fields: ['spec.replicas'] }],
  });
  for (let index = 0; index < 200; index += 1) {
    sessionOf(world).settings(said(`n${index}`));
    world.owner.sessions.get(other)?.session.settings(said(`n${index}`));
  }
  await world.clock.settle();
  expect(east.agent.settingsHeard.at(-1)).toEqual(said('n199'));
  expect(west.agent.settingsHeard).toEqual([]);
  expect(world.server.stats()).toMatchObject({ connectedClusters: 2, streams: 4 });
});

test('an agent reports its holding at each connect', async () => {
  const world = await createRelayHarness();
  const { agent } = await world.connect();
  await sessionOf(world).send(deltaOf(NONE, AB, { epoch: 1, sequence: 1 }));
  agent.entries.set('removing', { ...agent.entries.values().next().value!, key: configMapKey('z'), phase: 'removing' });
  const held = [...agent.entries.values()];
  agent.holding = () => ({
    position: { epoch: 1, sequence: 1 },
    digest: outputsDigest(AB),
    admitted: { epoch: 1_700_000_000_000, sequence: 3 },
    entries: held,
  });
  world.network.cut();
  await world.clock.advance(1_000);
  expect(world.owner.sessions.get(EAST)?.holding).toEqual({
    ...agent.holding(),
    ...{ isKnown: false, proof: { type: 'nothing' } },
  });
});

test('a delta from another digest is rejected with the holding, and the next one from the right digest is accepted', async () => {
  const world = await createRelayHarness();
  const { agent } = await world.connect();
  await sessionOf(world).send(deltaOf(NONE, A, { epoch: 2, sequence: 5 }));
  const cases = [
    [deltaOf(NONE, AB, { epoch: 2, sequence: 6 }), 'DifferentBase'],
    [deltaOf(A, AB, { epoch: 2, sequence: 5 }), 'OldPosition'],
    [deltaOf(A, AB, { epoch: 1, sequence: 9 }), 'OldPosition'],
    [{ ...deltaOf(A, AB, { epoch: 2, sequence: 6 }), to: outputsDigest(NONE) }, 'DigestMismatch'],
  ] as const;
  for (const [delta, reason] of cases) {
    expect(await sessionOf(world).send(delta)).toMatchObject({ type: 'rejected', reason, holding: agent.holding() });
  }
  agent.refusal = 'DiskFull';
  const good = deltaOf(A, AB, { epoch: 2, sequence: 6 });
  expect(await sessionOf(world).send(good)).toMatchObject({ type: 'rejected', reason: 'DiskFull' });
  agent.refusal = undefined;
  expect(await sessionOf(world).send(good)).toEqual({ type: 'accepted' });
  expect(agent.deltas).toHaveLength(2);
});

test('two deltas at once are a programming error', async () => {
  const world = await createRelayHarness();
  await world.connect();
  const first = sessionOf(world).send(deltaOf(NONE, A, { epoch: 1, sequence: 1 }));
  expect(() => sessionOf(world).send(deltaOf(A, AB, { epoch: 1, sequence: 2 }))).toThrow(/already/);
  await first;
});

test('a lost Ack shows in the holding when the agent reconnects', async () => {
  const world = await createRelayHarness();
  const { agent } = await world.connect();
  const gate = Promise.withResolvers<void>();
  agent.gate = gate.promise;
  const sending = sessionOf(world).send(deltaOf(NONE, A, { epoch: 1, sequence: 1 }));
  await world.clock.settle();
  world.network.freeze({ up: true, down: false });
  gate.resolve();
  await world.clock.settle();
  world.network.cut();
  expect(await sending).toEqual({ type: 'disconnected' });
  await world.clock.advance(1_000);
  expect(world.owner.sessions.get(EAST)?.holding).toMatchObject({
    position: { epoch: 1, sequence: 1 },
    digest: outputsDigest(A),
  });
  expect(await sessionOf(world).send(deltaOf(A, AB, { epoch: 1, sequence: 2 }))).toEqual({ type: 'accepted' });
  expect(agent.deltas).toHaveLength(2);
});

test('while a delta is being taken the agent reports no holding, also on a new link', async () => {
  const world = await createRelayHarness();
  const { agent } = await world.connect();
  const gate = Promise.withResolvers<void>();
  agent.gate = gate.promise;
  const sending = sessionOf(world).send(deltaOf(NONE, A, { epoch: 1, sequence: 1 }));
  await world.clock.settle();
  world.network.cut();
  expect(await sending).toEqual({ type: 'disconnected' });
  await world.clock.advance(5_000);
  expect(world.owner.sessions.has(EAST)).toBe(false);
  gate.resolve();
  await world.clock.settle();
  expect(world.owner.sessions.get(EAST)?.holding.digest).toBe(outputsDigest(A));
});

test('a refusal is in both logs, and a token in none', async () => {
  const lines: string[] = [];
  const log = recordingLog(lines);
  const world = await createRelayHarness({}, undefined, log);
  world.owner.admission = () => ({ type: 'refused', reason: 'UnknownCluster', message: 'no KubernetesCluster east' });
  await world.connect();
  await world.connect({ token: () => 'frt1_this-is-the-wrong-one' });
  await world.clock.advance(1_000);
  expect(lines.filter((line) => line.includes('UnknownCluster'))).toEqual([
    expect.stringContaining('warn relay: a stream has ended'),
    expect.stringContaining('warn relay: no link to the server'),
  ]);
  expect(lines.filter((line) => line.includes('WrongToken'))).toHaveLength(2);
  expect(lines.join('\n')).not.toMatch(/frt1_/);
  await world.clock.advance(50_000);
  expect(lines.filter((line) => line.includes('warn') && line.includes('UnknownCluster'))).toHaveLength(2);
});

test('results are not lost over a reconnect, and the newest of a key wins', async () => {
  const world = await createRelayHarness();
  const { client } = await world.connect();
  world.network.freeze({ up: true, down: true });
  client.report([result('a', 'old'), result('b')]);
  await world.clock.settle();
  client.report([result('a', 'new')]);
  world.network.cut();
  await world.clock.settle();
  client.report([result('c')]);
  await world.clock.advance(1_000);
  const said = world.owner.received.map(({ key, message }) => [key, message]);
  expect(said).toEqual([
    [configMapKey('b'), ''],
    [configMapKey('a'), 'new'],
    [configMapKey('c'), ''],
  ]);
  world.network.cut();
  await world.clock.advance(1_000);
  expect(world.owner.received).toHaveLength(3);
});

test('a result that is newer than the one on its way is sent after it', async () => {
  const world = await createRelayHarness();
  const { client } = await world.connect();
  client.report([result('a', 'old')]);
  client.report([result('a', 'new')]);
  await world.clock.settle();
  expect(world.owner.received.map(({ message }) => message)).toEqual(['old', 'new']);
});

test('many results arrive in batches, and an odd reason spoils nothing', { timeout: 60_000 }, async () => {
  const world = await createRelayHarness();
  const { client } = await world.connect();
  const many = Array.from({ length: 1200 }, (_, index) => result(`r${index}`, 'x'.repeat(9_000)));
  client.report([...many, { ...result('odd'), reason: 'not a word' }]);
  await world.clock.settle();
  await world.clock.settle();
  expect(world.owner.received).toHaveLength(1201);
  expect(world.owner.received.at(-1)?.reason).toBe('Unknown');
  expect(world.owner.received[0]?.message).toMatch(/^x{4092}\.\.\.$/);
});

test('what others have done to an object arrives with its result, within bounds', async () => {
  const world = await createRelayHarness();
  const { client } = await world.connect();
  const drift = { drift: 'changed', fields: ['data.k'], managers: ['kubectl-edit'] } as const;
  const many = Array.from({ length: 30 }, (_, index) => `${index}${'x'.repeat(5_000)}`);
  client.report([{ ...result('a'), drift }, result('b'), { ...result('c'), drift: { ...drift, fields: many } }]);
  await world.clock.settle();
  const [a, b, c] = world.owner.received;
  expect([a?.drift, b?.drift]).toEqual([drift, undefined]);
  expect(c?.drift?.fields.map((field) => field.length)).toEqual(Array(10).fill(300));
});

test('only the difference of the input travels, also after a reconnect', async () => {
  const world = await createRelayHarness();
  const { client, agent } = await world.connect();
  client.publishInput(inputOf({ a: '1', b: '1' }));
  await world.clock.settle();
  client.publishInput(inputOf({ a: '2', b: '1', c: '1' }));
  await world.clock.settle();
  world.network.cut();
  await world.clock.settle();
  client.publishInput(inputOf({ a: '2', c: '1' }));
  await world.clock.advance(1_000);
  const names = world.owner.inputs.map(({ delta }) => [delta.upserts.map(({ key }) => key), delta.removals]);
  expect(names).toEqual([
    [[configMapKey('a'), configMapKey('b')], []],
    [[configMapKey('a'), configMapKey('c')], []],
    [[], [configMapKey('b')]],
  ]);
  expect(agent.acknowledged).toEqual(world.owner.inputs.map(({ delta }) => delta.to));
});

test('a new agent process asks for the list and sends only the difference', async () => {
  const world = await createRelayHarness();
  const first = await world.connect();
  first.client.publishInput(inputOf({ a: '1', b: '1' }));
  await world.clock.settle();
  await Promise.all([first.client.stop(), world.clock.advance(2_000)]);
  const requests: string[] = [];
  world.network.onMessage = (_, bytes) => requests.push(decodeFrame(bytes).case);
  const second = await world.connect();
  second.client.publishInput(inputOf({ a: '1', b: '2' }));
  await world.clock.settle();
  expect(requests).toContain('inputDigestsRequest');
  expect(world.owner.inputs.at(-1)?.delta).toMatchObject({ upserts: [{ key: configMapKey('b') }], removals: [] });
  expect(world.owner.inputs).toHaveLength(2);
});

test('the texts of a large input are packed as they arrive, and are as they were sent', async () => {
  const world = await createRelayHarness();
  const { client } = await world.connect();
  const data = Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`c${at}`, `${at} ß`.repeat(4_000)]));
  const input = inputOf(data);
  client.publishInput(input);
  await world.clock.advance(1_000);
  const { upserts = [] } = world.owner.inputs.at(-1)?.delta ?? {};
  expect(upserts).toHaveLength(600);
  for (const { key, digest, text = '', value, bytes } of upserts) {
    const sent = input.objects.get(key);
    expect([digest, value, text]).toEqual([sent?.digest, sent?.value, canonicalJson(sent?.value ?? {})]);
    if (bytes !== undefined) expect(bytes).toBe(Buffer.byteLength(text));
  }
  const packed = upserts.filter((object) => object instanceof PackedText);
  expect(packed.length).toBeGreaterThan(200);
  expect(packed.length).toBeLessThan(600);
});

test('an unchanged input is stated once per link, without content', async () => {
  const world = await createRelayHarness();
  const { client } = await world.connect();
  client.publishInput(inputOf({ a: '1' }));
  await world.clock.settle();
  client.publishInput(inputOf({ a: '1' }));
  await world.clock.settle();
  expect(world.owner.inputs).toHaveLength(1);
  world.network.cut();
  await world.clock.advance(1_000);
  expect(world.owner.inputs).toHaveLength(2);
  expect(world.owner.inputs[1]?.delta).toMatchObject({
    upserts: [],
    removals: [],
    kinds: [{ kind: '/ConfigMap', state: 'complete' }],
  });
});

test('while an input delta is under way, newer snapshots replace the one that waits', async () => {
  const world = await createRelayHarness();
  const { client } = await world.connect();
  world.network.freeze({ up: true, down: true });
  for (const datum of ['1', '2', '3', '4']) client.publishInput(inputOf({ a: datum }));
  await world.clock.settle();
  world.network.freeze({ up: false, down: false });
  await world.clock.settle();
  const values = world.owner.inputs.map(({ delta }) => delta.upserts[0]?.value.data);
  expect(values).toEqual([{ datum: '1' }, { datum: '4' }]);
});

test('changes while a step of the input is being sent are the next step, and a step contains the kinds if they changed', async () => {
  const world = await createRelayHarness();
  const { client } = await world.connect();
  const live = new Map(inputOf({ a: '1', b: '1', c: '1' }).objects);
  let kinds = inputOf({}).kinds;
  const change = (name: string, datum: string): void => {
    const [object] = inputOf({ [name]: datum }).objects.values();
    if (object !== undefined) live.set(object.key, object);
    client.publishInput({ objects: live, kinds }, new Set([configMapKey(name)]));
  };
  client.publishInput({ objects: live, kinds });
  await world.clock.settle();
  world.network.freeze({ up: true, down: false });
  for (const name of ['a', 'b', 'c']) change(name, '2');
  world.network.freeze({ up: false, down: false });
  await world.clock.settle();
  const digests = [...live].map(([key, { digest }]) => [key, digest]);
  expect([...(world.owner.held.get(EAST) ?? [])].sort()).toEqual(digests.sort());
  expect(world.owner.inputs.map(({ delta }) => delta.upserts.length)).toEqual([3, 1, 2]);
  expect(world.owner.inputs.map(({ delta }) => delta.kinds?.length)).toEqual([1, undefined, undefined]);
  kinds = [{ kind: '/ConfigMap', state: 'offered', message: '', scope: 'Namespaced' }];
  change('a', '2');
  await world.clock.settle();
  expect(world.owner.inputs.at(-1)?.delta).toMatchObject({ upserts: [], kinds });
});

test('a kind arrives with the Namespaces that cannot be listed, up to a thousand', async () => {
  const world = await createRelayHarness();
  const { client } = await world.connect();
  const why = 'the agent may not list secrets '.repeat(20);
  const unlisted = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`shoot-${at}`, `${why}${at}`]));
  const { objects } = inputOf({ a: '1' });
  const kind = { kind: '/Secret', state: 'complete', message: '', scope: 'Namespaced' } as const;
  const others = inputOf({}).kinds;
  client.publishInput({ objects, kinds: [...others, { ...kind, unlisted }] });
  await world.clock.settle();
  expect(world.owner.inputs.at(-1)?.delta.kinds).toEqual([...others, { ...kind, unlisted }]);
  // A change of them alone is a step.
  client.publishInput({ objects, kinds: [...others, { ...kind, unlisted: { 'shoot-1': 'no right' } }] });
  await world.clock.settle();
  expect(world.owner.inputs.at(-1)?.delta.kinds?.at(-1)?.unlisted).toEqual({ 'shoot-1': 'no right' });
  client.publishInput({ objects, kinds: [...others, kind] });
  await world.clock.settle();
  expect(world.owner.inputs.at(-1)?.delta.kinds?.at(-1)).toEqual(kind);
});

test('an input object that the server does not take makes its kind unknown, and the rest arrives', async () => {
  const world = await createRelayHarness({ objectBytes: 2 ** 20 });
  const { client } = await world.connect();
  client.publishInput(inputOf({ big: 'x'.repeat(2 ** 20), small: '1' }));
  await world.clock.advance(2_000);
  expect(world.owner.held.get(EAST)?.has(configMapKey('small'))).toBe(true);
  expect(world.owner.held.get(EAST)?.has(configMapKey('big'))).toBe(false);
  expect(world.owner.inputs.at(-1)?.delta.kinds?.[0]).toMatchObject({ kind: '/ConfigMap', state: 'unknown' });
});

test('an input object that a server did not take arrives at one that takes it, although it has not changed', async () => {
  const world = await createRelayHarness({ objectBytes: 2 ** 20 });
  const { client } = await world.connect();
  client.publishInput(inputOf({ big: 'x'.repeat(2 ** 20), small: '1' }));
  await world.clock.advance(2_000);
  expect(world.owner.held.get(EAST)?.has(configMapKey('big'))).toBe(false);
  await Promise.all([world.server.drain(), world.clock.advance(1_000)]);
  const later = createRelayServer(
    { transport: world.network.server, clock: world.clock, log: silentLog, tags: createStepTags([SECRET]) },
    { fleet: FLEET, tokens: [SECRET], version: '2.0.0' },
  );
  await later.start(world.owner);
  await world.clock.advance(60_000);
  expect(world.owner.held.get(EAST)?.has(configMapKey('big'))).toBe(true);
  expect(world.owner.inputs.at(-1)?.delta.kinds?.[0]).toMatchObject({ kind: '/ConfigMap', state: 'complete' });
});

test.each([
  ['is too deep', JSON.parse(`${'{"a":'.repeat(300)}1${'}'.repeat(300)}`)],
  ['has a member of a name that is refused', JSON.parse('{"__proto__":1}')],
])('an input object that %s is left out, and the rest arrives', async (_what, spec) => {
  const world = await createRelayHarness();
  const { client } = await world.connect();
  const { objects, kinds } = inputOf({ odd: '1', small: '1' });
  const key = configMapKey('odd');
  const value = { ...configMap('odd', '1'), spec };
  client.publishInput({ objects: new Map([...objects, [key, { key, value, digest: objectDigest(value) }]]), kinds });
  await world.clock.advance(2_000);
  expect([...(world.owner.held.get(EAST)?.keys() ?? [])]).toEqual([configMapKey('small')]);
  expect(world.owner.inputs.at(-1)?.delta.kinds?.[0]).toMatchObject({ kind: '/ConfigMap', state: 'unknown' });
});

test('a session that an agent ends because it takes no such delta is told to the owner; one that it only leaves is not', async () => {
  const world = await createRelayHarness();
  const { client } = await world.connect({ limits: { transferBytes: 10_000 } });
  const large: Outputs = new Map([['large', 'x'.repeat(20_000)]]);
  expect(await sessionOf(world).send(deltaOf(NONE, large, { epoch: 1, sequence: 1 }))).toEqual({
    type: 'disconnected',
  });
  const message = expect.stringMatching(/^TransferTooLarge: a transfer of more than 10000 /);
  const refusal = { cluster: 'east', reason: 'EndedByAgent', message, isProven: true, wasConnected: true };
  expect(world.owner.refusals).toEqual([expect.objectContaining(refusal)]);
  await world.clock.advance(10_000);
  expect(world.owner.sessions.size).toBe(1);
  await Promise.all([client.stop(), world.clock.advance(2_000)]);
  expect(world.owner.sessions.size).toBe(0);
  expect(world.owner.refusals).toHaveLength(1);
});

test.each(['a\\b', 'a\nb', 'x'.repeat(254)])(
  'an input object of a name that no key can have is left out: %j',
  async (name) => {
    const world = await createRelayHarness();
    const { client } = await world.connect();
    const { objects, kinds } = inputOf({ small: '1' });
    const value = configMap('odd', '1');
    const key = `/ConfigMap/web/${name}` as ObjectKey;
    client.publishInput({ objects: new Map([...objects, [key, { key, value, digest: objectDigest(value) }]]), kinds });
    await world.clock.advance(2_000);
    expect([...(world.owner.held.get(EAST)?.keys() ?? [])]).toEqual([configMapKey('small')]);
    // Nothing can depend on it, so its kind is complete.
    expect(world.owner.inputs.at(-1)?.delta.kinds?.[0]).toMatchObject({ kind: '/ConfigMap', state: 'complete' });
  },
);

test('an output object that the agent does not take is rejected with that reason', async () => {
  const world = await createRelayHarness();
  await world.connect({ limits: { objectBytes: 2 ** 20 } });
  const big: Outputs = new Map([['big', 'x'.repeat(2 ** 20)]]);
  const outcome = await sessionOf(world).send(deltaOf(NONE, big, { epoch: 1, sequence: 1 }));
  expect(outcome).toMatchObject({ type: 'rejected', reason: 'ObjectTooLarge' });
  await world.clock.advance(1_000);
  expect(await sessionOf(world).send(deltaOf(NONE, A, { epoch: 1, sequence: 2 }))).toEqual({ type: 'accepted' });
});

test('objects of 5 MB go both ways', { timeout: 60_000 }, async () => {
  const world = await createRelayHarness();
  const { client, agent } = await world.connect();
  const big: Outputs = new Map([['big', noise(5_000_000)]]);
  expect(await sessionOf(world).send(deltaOf(NONE, big, { epoch: 1, sequence: 1 }))).toEqual({ type: 'accepted' });
  expect(agent.holding().digest).toBe(outputsDigest(big));
  client.publishInput(inputOf({ big: noise(5_000_000) }));
  for (let turn = 0; turn < 20; turn += 1) await world.clock.settle();
  expect(world.owner.inputs[0]?.delta.upserts[0]?.value.data).toEqual({ datum: noise(5_000_000) });
});

test('a session can be ended, and the agent is told why', async () => {
  const world = await createRelayHarness();
  const { agent } = await world.connect();
  sessionOf(world).close('refused', 'ClusterReplaced', 'the name belongs to another cluster now');
  await world.clock.settle();
  expect(agent.states.at(-1)).toMatchObject({ type: 'waiting', reason: 'ClusterReplaced', retryInMs: 1_500 });
  expect(world.owner.events.at(-1)).toBe('disconnected east instance-1 ClusterReplaced');
});

test('draining waits for deltas in flight, and then asks every agent to reconnect', async () => {
  const world = await createRelayHarness();
  const agent = createFakeAgent();
  await world.connect({}, agent);
  const gate = Promise.withResolvers<void>();
  agent.gate = gate.promise;
  const sending = sessionOf(world).send(deltaOf(NONE, A, { epoch: 1, sequence: 1 }));
  await world.clock.settle();
  let drained = false;
  const draining = world.server.drain().then(() => {
    drained = true;
  });
  await world.clock.advance(1_000);
  expect(drained).toBe(false);
  gate.resolve();
  expect(await sending).toEqual({ type: 'accepted' });
  await draining;
  await world.clock.settle();
  expect(agent.states.at(-1)).toMatchObject({ type: 'waiting', reason: 'Draining' });
  expect(world.network.open()).toBe(0);
});

test('draining does not wait for ever', async () => {
  const world = await createRelayHarness({ drainMs: 5_000 });
  const { agent } = await world.connect();
  agent.gate = new Promise(() => undefined);
  const sending = sessionOf(world).send(deltaOf(NONE, A, { epoch: 1, sequence: 1 }));
  const draining = world.server.drain();
  await world.clock.advance(5_000);
  await draining;
  expect(await sending).toEqual({ type: 'disconnected' });
});

test('an agent that connects again says a new hello on a new link, and that is no refusal', async () => {
  const { owner, connect, clock } = await createRelayHarness();
  const { client } = await connect();
  client.reconnect();
  await clock.advance(2_000);
  expect(owner.events).toEqual([
    'connected east instance-1',
    'disconnected east instance-1 Reconnecting',
    'connected east instance-1',
  ]);
  expect(owner.refusals).toEqual([]);
});

test('an agent that stops sends a goodbye', async () => {
  const world = await createRelayHarness();
  const { client } = await world.connect({ clusterId: clusterId('other') });
  await Promise.all([client.stop(), world.clock.advance(2_000)]);
  expect(world.owner.events.at(-1)).toBe('disconnected east instance-1 Stopping');
  expect(world.network.open()).toBe(0);
});

/** A log whose lines are kept. */
function recordingLog(lines: string[]): Log {
  const write = (level: string) => (message: string, data?: LogData) => {
    lines.push(`${level} ${message} ${JSON.stringify(data)}`);
  };
  const log: Log = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: () => log,
  };
  return log;
}

/** Text that does not compress away. */
function noise(length: number): string {
  let state = 12345;
  const parts: string[] = [];
  while (parts.length * 8 < length) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    parts.push(state.toString(36).padStart(8, '0'));
  }
  return parts.join('').slice(0, length);
}

test('the agent gets the fleet of the server with each delta, and states it from then on', async () => {
  const world = await createRelayHarness();
  const hellos: AgentHello[] = [];
  world.owner.admission = (hello) => {
    hellos.push(hello);
    return { type: 'admitted' };
  };
  const { agent } = await world.connect();
  expect(hellos.map(({ fleet }) => fleet)).toEqual([undefined, undefined]);
  await sessionOf(world).send(deltaOf(NONE, A, { epoch: 1, sequence: 1 }));
  expect(agent.fleets).toEqual([FLEET]);
  world.network.cut();
  await world.clock.advance(1_000);
  expect(hellos.slice(2).map(({ fleet }) => fleet)).toEqual([FLEET, FLEET]);
});

test('the agent reports the version of its API server with each hello, as it is then', async () => {
  const world = await createRelayHarness();
  const versions: (string | undefined)[] = [];
  world.owner.admission = ({ kubernetesVersion }) => {
    versions.push(kubernetesVersion);
    return { type: 'admitted' };
  };
  const { agent } = await world.connect();
  agent.kubernetesVersion = () => undefined;
  world.network.cut();
  await world.clock.advance(1_000);
  // Two streams for each link.
  expect(versions).toEqual(['v1.36.3', 'v1.36.3', undefined, undefined]);
});

test('the agent names the namespace in which it refuses objects, or none', async () => {
  const world = await createRelayHarness();
  const named: (string | undefined)[] = [];
  world.owner.admission = ({ ownNamespace }) => {
    named.push(ownNamespace);
    return { type: 'admitted' };
  };
  await world.connect({ ownNamespace: 'fleetrelay' });
  await world.connect({ cluster: clusterName('west') });
  expect([...new Set(named)]).toEqual(['fleetrelay', undefined]);
});

test('an agent leaves a server of another fleet before it reports its holding, and both logs contain the reason', async () => {
  const log = createRecordingLog();
  const world = await createRelayHarness({}, createFakeOwner(), log);
  const agent = createFakeAgent();
  agent.fleet = () => must(parseFleetName('another'));
  await world.connect({}, agent);
  expect(agent.states.at(-1)).toMatchObject({ type: 'waiting', reason: 'OtherFleet' });
  expect(world.owner.events).toEqual([]);
  const said = log.lines.filter(({ data }) => data.reason === 'OtherFleet');
  expect(said.map(({ text }) => text).sort()).toEqual([
    'info: relay: a stream has ended',
    'warn: relay: no link to the server',
  ]);
  expect(said.every(({ data }) => /another.*the fleet fleet/.test(String(data.detail)))).toBe(true);
});

test('only an agent that takes them is sent the settings of the injector, of opt-outs on live objects, and of health', async () => {
  const world = await createRelayHarness();
  const other = clusterName('west');
  const capabilities = [TAKES_SETTINGS, TAKES_INJECTOR, TAKES_LIVE_OPT_OUTS, TAKES_HEALTH_CHECKS];
  const east = await world.connect({ capabilities });
  const west = await world.connect({ cluster: other, capabilities: [TAKES_SETTINGS] });
  const { injector } = healthDefaults;
  const healthChecks = [{ apiVersion: 'example.com/v1', kind: 'Database', current: 'status.ready' }];
  const settings: AgentSettings = { ...NO_SETTINGS, injector, ignoreLiveOptOuts: true, healthChecks };
  sessionOf(world).settings(settings);
  world.owner.sessions.get(other)?.session.settings(settings);
  await world.clock.settle();
  expect(east.agent.settingsHeard).toEqual([settings]);
  expect(west.agent.settingsHeard).toEqual([NO_SETTINGS]);
});

test('an agent that takes the mode of drift, and not its bound, is sent the mode alone', async () => {
  const world = await createRelayHarness();
  const west = clusterName('west');
  const first = await world.connect({ capabilities: [TAKES_SETTINGS, TAKES_DRIFT_MODE] });
  const second = await world.connect({
    cluster: west,
    capabilities: [TAKES_SETTINGS, TAKES_DRIFT_MODE, TAKES_DRIFT_MODE_BOUND],
  });
  const settings: AgentSettings = { ...NO_SETTINGS, driftMode: 'Report', driftModeBound: true };
  sessionOf(world).settings(settings);
  world.owner.sessions.get(west)?.session.settings(settings);
  await world.clock.settle();
  expect(first.agent.settingsHeard).toEqual([{ ...NO_SETTINGS, driftMode: 'Report' }]);
  expect(second.agent.settingsHeard).toEqual([settings]);
});

test('settings that agents refuse are not sent, and end no link', async () => {
  const world = await createRelayHarness();
  const { agent } = await world.connect({ capabilities: [TAKES_SETTINGS] });
  const { discovery } = NO_SETTINGS;
  sessionOf(world).settings({ ...NO_SETTINGS, discovery: { ...discovery, excludedKinds: ['example.com./Thing'] } });
  await world.clock.settle();
  sessionOf(world).settings(NO_SETTINGS);
  await world.clock.settle();
  expect(agent.settingsHeard).toEqual([NO_SETTINGS]);
});
