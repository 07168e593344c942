import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { type ClusterSize, type Excess, excessText } from '../../src/model/limits/quotas.ts';
import { objectDigest, snapshotDigest } from '../../src/model/text/digest.ts';
import { packChunks } from '../../src/relay/transfer.ts';
import type { FrameInit } from '../../src/relay/wire/frames.ts';
import { objectRecords, type RecordInit } from '../../src/relay/wire/records.ts';
import { digestBytes } from '../../src/relay/wire/scalars.ts';
import { createRecordingLog } from '../support/agent-log.ts';
import { createFleetWorld, type FleetWorld } from '../support/fleet-world.ts';
import { createRelayHarness } from '../support/relay-harness.ts';
import {
  clusterName,
  configMap,
  configMapKey,
  createFakeOwner,
  deltaOf,
  inputOf,
  liveConfigMap,
} from '../support/relay-world.ts';
import { base } from '../support/started-world.ts';

const QUOTAS: ClusterSize = { objects: 3, bytes: 10_000, kinds: 2 };
const MIB = 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes of the heap that are in use after the garbage was collected. */
function retained(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

const data = (count: number, datum = '1'): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${at}`, datum]));

describe('the server of the fleet', () => {
  async function started(log = createRecordingLog()) {
    const world = await createFleetWorld({ quotas: QUOTAS, log });
    world.source.push(base);
    world.agent('west').connect();
    world.agent('east').connect();
    await world.settle();
    return { world, log };
  }
  const kinds = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ kind: `/K${at}`, state: 'complete', message: '' }) as const);
  /** As the relay does with a verified step. */
  async function steps(
    world: FleetWorld,
    step: { upserts?: readonly string[]; removals?: readonly string[]; datum?: string; kinds?: number },
  ) {
    const { upserts = [], removals = [], datum = '1' } = step;
    const delta = {
      from: snapshotDigest([]),
      to: snapshotDigest([]),
      upserts: upserts.map((name) => liveConfigMap(name, datum)),
      removals: removals.map(configMapKey),
      ...(step.kinds === undefined ? {} : { kinds: kinds(step.kinds) }),
    };
    const listener = world.agent('west').at();
    const cluster = world.agent('west').hello().cluster;
    let above: Excess | undefined;
    listener?.input(cluster, delta, (excess) => {
      above = excess;
    });
    if (above !== undefined) listener?.aboveQuota(cluster, above);
    await world.settle();
    return above === undefined ? undefined : excessText(above);
  }
  const condition = (world: FleetWorld, cluster = 'west') =>
    world.server.api
      .clusters()
      .find(({ name }) => name === cluster)
      ?.conditions.find(({ type }) => type === 'WithinLimits');

  test('takes what fits, and counts what a step replaces and removes', async () => {
    const { world } = await started();
    expect(await steps(world, { upserts: ['a', 'b', 'c'], kinds: 2 })).toBeUndefined();
    expect(await steps(world, { upserts: ['a', 'c'], datum: '2' })).toBeUndefined();
    expect(await steps(world, { upserts: ['d'], removals: ['a'] })).toBeUndefined();
    expect(await steps(world, { upserts: ['e'] })).toBe('the cluster has 4 live objects, and 3 are allowed');
    expect(await steps(world, { removals: ['b'] })).toBeUndefined();
    expect(await steps(world, { upserts: ['e'] })).toBeUndefined();
    expect(await steps(world, { upserts: ['a'] })).toBe('the cluster has 4 live objects, and 3 are allowed');
  });

  test('counts what it has when a new session begins, and two steps in one turn', async () => {
    const { world } = await started();
    await steps(world, { upserts: ['a', 'b'], kinds: 1 });
    world.agent('west').disconnect();
    world.agent('west').connect();
    const [first, second] = await Promise.all([steps(world, { upserts: ['c'] }), steps(world, { upserts: ['d'] })]);
    expect([first, second]).toEqual([undefined, 'the cluster has 4 live objects, and 3 are allowed']);
  });

  test.each([
    [
      'bytes',
      { upserts: ['a'], datum: 'x'.repeat(10_000) },
      /has 10\d\d\d bytes of live objects, and 10000 are allowed/,
    ],
    ['kinds', { kinds: 3 }, /has 3 kinds, and 2 are allowed/],
  ] as const)('refuses %s above the quota', async (what, step, message) => {
    const { world } = await started();
    expect(await steps(world, step)).toMatch(message);
    expect(condition(world)?.message).toContain(`raise limits.cluster.${what} in the RelayConfig`);
  });

  test('shows the number, the limit and the way out, on the culprit alone, until the input fits', async () => {
    const { world, log } = await started();
    await steps(world, { upserts: ['a'], kinds: 1 });
    expect(condition(world)).toBeUndefined();
    await steps(world, { upserts: ['b', 'c', 'd'] });
    const above = condition(world);
    expect(above).toMatchObject({ status: 'False', reason: 'AboveQuota' });
    expect(above?.message).toMatch(
      /4 live objects, and 3 are allowed: its input snapshot stays as of 2026-.*limits\.cluster\.objects/,
    );
    expect(condition(world, 'east')).toBeUndefined();
    expect(world.statusFiles.get('clusters/west.yaml')).toContain('WithinLimits');
    await steps(world, { upserts: ['b', 'c', 'd'] });
    expect(log.lines.filter(({ text }) => text.includes('above a quota'))).toHaveLength(1);
    expect(log.lines.find(({ text }) => text.includes('above a quota'))).toMatchObject({
      data: { cluster: 'west', number: 4, limit: 3 },
    });
    await steps(world, { upserts: ['b'] });
    expect(condition(world)).toBeUndefined();
    expect(world.statusFiles.get('clusters/west.yaml')).not.toContain('WithinLimits');
  });

  test('shows it also after a restart, and while the agent is away', async () => {
    const { world } = await started();
    await steps(world, { upserts: ['a', 'b', 'c', 'd'], kinds: 1 });
    world.agent('west').disconnect();
    await world.settle();
    expect(condition(world)?.status).toBe('False');
    const again = await createFleetWorld({ quotas: QUOTAS, store: world.store, agents: world.agents });
    again.source.push(base);
    again.agent('west').connect();
    await again.settle();
    expect(condition(again)?.status).toBe('False');
  });

  test('goes on with the outputs of the cluster', async () => {
    const { world } = await started();
    await steps(world, { upserts: ['a', 'b', 'c', 'd'], kinds: 1 });
    const before = world.agent('west').deltas.length;
    world.source.push({ ...base, 'apps/a.yaml': base['apps/a.yaml'].replace('"1"', '"2"').replace(/1/g, '2') });
    await world.settle();
    expect(world.agent('west').deltas.length).toBe(before + 1);
  });
});

describe('an agent whose cluster is above its quota', () => {
  test('keeps its link, backs off, and goes on when the input fits', async () => {
    const world = await createRelayHarness({ quotas: QUOTAS });
    const { client, agent } = await world.connect();
    client.publishInput(inputOf(data(4)));
    await world.clock.settle();
    expect(world.owner.breaches).toEqual(['east the cluster has 4 live objects, and 3 are allowed']);
    await world.clock.advance(29_000);
    expect(world.server.stats()).toMatchObject({ inputDeltasRefused: 1, connectedClusters: 1 });
    // 30, 60, 120, 240, 480 and then 600 seconds after one another.
    await world.clock.advance(3_600_000);
    expect(world.server.stats().inputDeltasRefused).toBeLessThan(12);
    expect(world.server.stats().inputDeltasRefused).toBeGreaterThan(5);
    client.publishInput(inputOf(data(3)));
    await world.clock.advance(600_000);
    expect(world.owner.inputs.at(-1)?.delta.upserts).toHaveLength(3);
    expect(agent.states.filter(({ type }) => type === 'connected')).toHaveLength(1);
    client.publishInput(inputOf(data(2)));
    await world.clock.settle();
    expect(world.owner.inputs.at(-1)?.delta.removals).toHaveLength(1);
  });

  test('that does not back off loses its link', async () => {
    const world = await createRelayHarness({ quotas: QUOTAS });
    const push = await pushing(world);
    await push.say(inputBegin(1n));
    for (const chunk of chunksOf(4, '1', 1n)) await push.say(chunk);
    await world.clock.settle();
    await push.say(inputBegin(2n));
    expect(await push.ended).toMatchObject({ code: 'exhausted', reason: 'RetriedTooSoon' });
  });

  test('whose step takes long keeps its link, because the server says that it goes on', async () => {
    const owner = createFakeOwner();
    owner.input = () => undefined;
    const world = await createRelayHarness({ quotas: QUOTAS }, owner);
    const { client, agent } = await world.connect();
    client.publishInput(inputOf(data(2)));
    await world.clock.advance(900_000);
    expect(agent.states.map(({ type }) => type)).toEqual(['connecting', 'connected']);
  });

  test('that sends the next step before the answer loses its link', async () => {
    const owner = createFakeOwner();
    owner.input = () => undefined;
    const world = await createRelayHarness({ quotas: QUOTAS }, owner);
    const push = await pushing(world);
    await push.say(inputBegin(1n));
    const [chunk] = packChunks([]);
    if (chunk !== undefined) await push.say({ case: 'chunk', value: { transfer: 1n, index: 0, ...chunk } });
    await world.clock.settle();
    await push.say(inputBegin(2n));
    expect(await push.ended).toMatchObject({ reason: 'OutOfTurn', message: expect.stringContaining('the answer') });
  });

  test('sends sixteen times as much, of which nothing is kept', async () => {
    const world = await createRelayHarness({ quotas: { ...QUOTAS, bytes: MIB, objects: 1_000 } });
    const push = await pushing(world);
    await push.say(inputBegin(1n));
    const chunks = [...chunksOf(160, 'x'.repeat(100_000), 1n)];
    const last = chunks.pop();
    const before = retained();
    for (const chunk of chunks) {
      await push.say(chunk);
      await world.clock.settle();
    }
    expect(retained() - before).toBeLessThan(4 * MIB);
    if (last !== undefined) await push.say(last);
    await world.clock.settle();
    expect(world.owner.breaches).toEqual([expect.stringMatching(/bytes of live objects, and 1048576 are allowed/)]);
    expect(world.owner.inputs).toEqual([]);
  });

  test('has an inventory of more objects than the quota: its stream ends, and the owner is told why', async () => {
    const world = await createRelayHarness({ quotas: QUOTAS }, createFakeOwner());
    const pull = world.stranger('Pull');
    await pull.hello();
    await pull.hear();
    await pull.say(holdingBegin());
    const entries = Array.from(
      { length: 4 },
      (_, at): RecordInit => ({
        case: 'entry',
        value: { key: configMapKey(`m${at}`), digest: NONE, phase: 'held', origins: [], scope: 0 },
      }),
    );
    const [chunk] = packChunks(entries);
    if (chunk !== undefined) await pull.say({ case: 'chunk', value: { transfer: 1n, index: 0, ...chunk } });
    expect(await pull.ended).toMatchObject({ code: 'exhausted', reason: 'AboveQuota' });
    expect(world.owner.breaches).toEqual([expect.stringContaining('an inventory of more than 3 objects')]);
  });

  test('has more objects than the quota because servers of the fleet have sent them: it goes on', async () => {
    const world = await createRelayHarness({ quotas: QUOTAS }, createFakeOwner());
    await world.connect();
    const outputs = new Map(['a', 'b', 'c', 'd'].map((name) => [name, '1']));
    const session = () => world.owner.sessions.get(clusterName('east'))?.session ?? expect.fail('east is connected');
    expect(await session().send(deltaOf(new Map(), outputs, { epoch: 1, sequence: 1 }), true)).toEqual({
      type: 'accepted',
    });
    const first = session();
    first.close('drain', 'Test', 'it connects again');
    await world.clock.advance(10_000);
    expect(session()).not.toBe(first);
    expect(world.owner.breaches).toEqual([]);
  });

  const NONE = digestBytes(snapshotDigest([]));
  type World = Awaited<ReturnType<typeof createRelayHarness>>;

  function holdingBegin(): FrameInit {
    const position = { epoch: 0n, sequence: 0n };
    const digest = digestBytes(snapshotDigest([]));
    return { case: 'begin', value: { transfer: 1n, subject: { case: 'holding', value: { position, digest } } } };
  }

  function inputBegin(transfer: bigint): FrameInit {
    return { case: 'begin', value: { transfer, subject: { case: 'input', value: { from: NONE, to: NONE } } } };
  }

  async function pushing(world: World) {
    const pull = world.stranger('Pull');
    await pull.hello();
    await pull.hear();
    await pull.say(holdingBegin());
    const [chunk] = packChunks([]);
    if (chunk !== undefined) await pull.say({ case: 'chunk', value: { transfer: 1n, index: 0, ...chunk } });
    await world.clock.settle();
    const push = world.stranger('Push');
    await push.hello();
    await push.hear();
    return push;
  }

  function* chunksOf(count: number, datum: string, transfer: bigint): Generator<FrameInit, void, void> {
    function* records(): Generator<RecordInit, void, void> {
      for (let at = 0; at < count; at += 1) {
        const value = configMap(`m${String(at).padStart(5, '0')}`, datum);
        const key = configMapKey(`m${String(at).padStart(5, '0')}`);
        yield* objectRecords({ key, value, digest: objectDigest(value) }, 64 * MIB);
      }
    }
    let index = 0;
    for (const chunk of packChunks(records())) {
      yield { case: 'chunk', value: { transfer, index, ...chunk } };
      index += 1;
    }
  }
});
