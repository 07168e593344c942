import { describe, expect, it } from 'vitest';
import type { DeltaView, HistoryRequest } from '../../../src/api/history-api.ts';
import type { Digest } from '../../../src/model/fleet/ids.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { createClusterLog } from '../../../src/runtime/history/cluster-log.ts';
import {
  type DeltaRecord,
  MOST_BYTES,
  MOST_DELTAS,
  MOST_OBJECTS,
  sizeOf,
} from '../../../src/runtime/history/records.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';
import { discoverOne, liveService, mirrorYaml } from '../../support/mirrors.ts';
import { startedReplicas } from '../../support/replica-world.ts';
import { abc, base, guards, restart, startedWorld } from '../../support/started-world.ts';
import { keysOf } from '../../support/stored-maps.ts';

const [KEY_A] = abc as [string];

async function historyOf(
  { server }: Pick<FleetWorld, 'server'>,
  question: Partial<HistoryRequest> = {},
): Promise<readonly DeltaView[]> {
  const answer = await server.api.history({ cluster: 'east', limit: 100, ...question });
  if (!answer.ok) throw new Error(answer.message);
  return answer.value;
}

/** One line a delta, oldest first: the revision, the answer, and each object with its reason and state. */
async function told(world: Pick<FleetWorld, 'server'>, question: Partial<HistoryRequest> = {}) {
  return (await historyOf(world, question)).toReversed().map(({ revisions, answer, objects, unrecorded }) => {
    const named = objects.map(({ object, change, reason, state }) => `${object} ${change} ${reason} ${state}`);
    const from = unrecorded ? 'unrecorded' : revisions.map(({ revision, isNew }) => `${revision}${isNew ? '*' : ''}`);
    return [`${from} ${answer.state}`, ...named];
  });
}

describe('the history of a cluster', () => {
  it('has each delta with its commit, its reason, the answer and the results', async () => {
    const world = await startedWorld();
    world.agent('east').failing.add('ConfigMap/web/a');
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '2'), 'apps/b.yaml': null });
    await world.settle();
    expect(await told(world)).toEqual([
      [
        'r1* accepted',
        'ConfigMap/web/a create firstContact applied',
        'ConfigMap/web/b create firstContact applied',
        'ConfigMap/web/c create firstContact applied',
      ],
      ['r2* accepted', 'ConfigMap/web/b remove revision removed', 'ConfigMap/web/a change revision failed'],
    ]);
    const [latest] = await historyOf(world, { limit: 1 });
    expect(latest).toMatchObject({
      counts: { create: 0, change: 1, remove: 1, touch: 0 },
      objects: [
        { from: { source: 'main', path: 'apps/b.yaml' }, message: '' },
        { from: { source: 'main', path: 'apps/a.yaml' }, message: 'Rejected: the cluster said no' },
      ],
    });
  });

  it('tells a changed placement from a changed file, and an approval', async () => {
    const world = await startedWorld({ ...base, 'fleet/policy.yaml': guards({ maxRemovalsPerCluster: 1 }) });
    world.source.push({ 'clusters/east/cluster.yaml': clusterYaml('east', { env: 'test' }) });
    await world.settle();
    world.source.push({
      'fleet/placement.yaml': placementYaml('apps', 'apps/**', 'selector: {matchLabels: {env: prod}}'),
    });
    await world.settle();
    expect(await told(world)).toHaveLength(1);
    const [held] = world.server.api.removals();
    await world.server.api.approve(held?.digest ?? '', 'anna');
    await world.settle();
    expect((await told(world)).at(-1)).toEqual([
      'r3* accepted',
      ...['a', 'b', 'c'].map((name) => `ConfigMap/web/${name} remove approval removed`),
    ]);
    world.source.push({
      'fleet/placement.yaml': placementYaml('apps', 'apps/{a,b}.yaml', 'names: [west]'),
    });
    await world.settle();
    expect((await told(world, { cluster: 'west' })).at(-1)).toEqual([
      'r4* accepted',
      'ConfigMap/web/c remove placement removed',
    ]);
  });

  it('names no commit that has not touched the file: the object was lost in the cluster', async () => {
    const world = await startedWorld();
    const agent = world.agent('east');
    agent.disconnect();
    world.source.push({ 'other/x.yaml': configMapYaml('x', '1') });
    await world.settle();
    agent.restore(agent.holding().entries.filter(({ key }) => key !== KEY_A));
    agent.connect();
    await world.settle();
    expect((await told(world)).at(-1)).toEqual(['r2* accepted', 'ConfigMap/web/a create restored applied']);
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    expect((await told(world)).at(-1)).toEqual(['r3* accepted', 'ConfigMap/web/a change revision applied']);
  });

  it('names no commit that has not touched the file: a mirrored Service has changed', async () => {
    const world = await startedWorld({
      ...base,
      'mirror.yaml': mirrorYaml('shared', 'names: [west]', 'names: [east]'),
    });
    discoverOne(world, 'west');
    await world.settle();
    world.source.push({ 'other/x.yaml': configMapYaml('x', '1') });
    await world.settle();
    world.agent('west').discovers({ upserts: [liveService('shop', 'web', { ports: [{ port: 81 }] })] });
    await world.settle();
    expect((await told(world)).at(-1)).toEqual(['r2* accepted', 'Service/web/west-shop change live applied']);
  });

  it('outlasts a restart, and knows afterwards what had arrived', async () => {
    const first = await startedWorld();
    first.agent('east').pause();
    first.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await first.settle();
    expect((await told(first)).at(-1)?.[0]).toBe('r2* sent');
    const second = await restart(first);
    second.source.push({ ...base, 'apps/a.yaml': configMapYaml('a', '2') });
    second.agent('east').connect();
    await second.settle();
    const lines = await told(second);
    expect(lines.map(([line]) => line)).toEqual(['r1* accepted', 'r2* lost', 'r1* accepted']);
    expect(lines.at(-1)).toContain('ConfigMap/web/a change revision applied');
  });

  it('says so where the log was lost', async () => {
    const first = await startedWorld();
    for (const agent of first.agents.known.values()) agent.abandon();
    const second = await createFleetWorld({ agents: first.agents });
    second.source.push({ ...base, 'apps/a.yaml': configMapYaml('a', '2') });
    second.agent('east').connect();
    second.agent('west').connect();
    await second.settle();
    const lines = await told(second);
    expect(lines[0]).toEqual(['unrecorded accepted']);
    expect(lines.at(-1)).toContain('ConfigMap/web/a change revision applied');
  });

  it('ends with the registration of the cluster', async () => {
    const world = await startedWorld();
    const records = () => keysOf(world.store, 'history/');
    expect(await records()).toEqual(['history/east/0', 'history/west/0']);
    world.source.push({ 'clusters/east/cluster.yaml': null });
    await world.settle();
    expect(await records()).toEqual(['history/west/0']);
    world.source.push({ 'clusters/east/cluster.yaml': base['clusters/east/cluster.yaml'] });
    await world.settle();
    world.agent('east').connect();
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    expect((await told(world)).map(([line]) => line)).toEqual(['unrecorded accepted', 'r4* accepted']);
  });

  it('has what was refused, and the reason', async () => {
    const world = await startedWorld();
    world.agent('east').rejectNext();
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.settle();
    const [retry, refused] = await historyOf(world, { object: 'cm/a', limit: 2 });
    expect(refused?.answer).toMatchObject({ state: 'rejected', message: 'Test: not now' });
    expect(retry?.answer.state).toBe('accepted');
  });

  it('is asked for one object, for a time and for a number of deltas', async () => {
    const world = await startedWorld();
    world.source.push({ 'apps/b.yaml': configMapYaml('b', '2') });
    await world.settle();
    expect((await told(world, { object: 'ConfigMap/web/a' })).map((line) => line.length)).toEqual([2]);
    expect(await told(world, { since: world.clock.now() + 1 })).toEqual([]);
    expect(await told(world, { limit: 1 })).toHaveLength(1);
    expect(await world.server.api.history({ cluster: 'nowhere', limit: 1 })).toMatchObject({ kind: 'notFound' });
    expect(await world.server.api.history({ cluster: 'east', object: 'x', limit: 1 })).toMatchObject({
      kind: 'invalid',
    });
  });

  it('names the cluster that is meant where none has the name', async () => {
    const { server } = await startedWorld();
    expect(await server.api.history({ cluster: 'eats', limit: 1 })).toEqual({
      ok: false,
      kind: 'notFound',
      message: 'there is no cluster "eats"; did you mean east?',
    });
  });

  it('shows neither contents nor digests of a Secret', async () => {
    const secret = `apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: web}\nstringData: {password: hunter2}\n`;
    const world = await startedWorld({ ...base, 'apps/s.yaml': secret });
    const digest = world
      .agent('east')
      .deltas.flatMap(({ upserts }) => upserts.filter(({ key }) => key.includes('Secret')));
    const text = JSON.stringify(await historyOf(world));
    expect(text).toContain('Secret/web/s');
    expect(text).not.toContain('hunter2');
    expect(text).not.toContain(digest[0]?.digest.slice(0, 8));
  });

  it('is the same at each of several servers, and goes on where the agent goes', async () => {
    const world = await startedReplicas();
    const [one, other] = [world.leader(), world.followers()[0]];
    if (other === undefined) throw new Error('there is no follower');
    one.agent('east').connect();
    await world.pass();
    await world.pass(2_000);
    expect(await told(other.world)).toEqual(await told(one.world));
    one.agent('east').disconnect();
    await world.pass();
    other.agent('east').connect();
    await world.pass();
    world.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass(2_000);
    const lines = await told(one.world);
    expect(lines).toEqual(await told(other.world));
    expect(lines.map(([line]) => line)).toEqual(['r1* accepted', 'r2* accepted']);
    expect(lines.at(-1)).toEqual(['r2* accepted', 'ConfigMap/web/a change revision applied']);
  });

  it.each(['leaves', 'stops'])('is complete where its server could not read it before the agent %s', async (end) => {
    const world = await startedReplicas();
    const [one, other] = [world.leader(), world.followers()[0]];
    if (other === undefined) throw new Error('there is no follower');
    one.agent('east').connect();
    await world.pass(2_000);
    one.agent('east').disconnect();
    await world.pass();
    const { list } = other.store;
    other.store.list = (prefix) => {
      if (prefix.startsWith('history/')) throw new Error('the store does not answer');
      return list(prefix);
    };
    other.agent('east').connect();
    world.push({ 'apps/a.yaml': configMapYaml('a', '2') });
    await world.pass();
    if (end === 'leaves') other.agent('east').disconnect();
    await world.pass();
    // It releases the cluster when it has read the log, and not before.
    expect(world.memory.peek('cluster-leases/east')).toBeDefined();
    other.store.list = list;
    if (end === 'stops') await other.world.server.stop();
    await world.pass(5_000);
    expect(world.memory.peek('cluster-leases/east')).toBeUndefined();
    expect((await told(one.world)).map(([line]) => line)).toEqual(['r1* accepted', 'r2* accepted']);
  });
});

describe('the log of a cluster', () => {
  const draft = (sequence: number, objects = 1, path = 'apps/a.yaml') => ({
    position: { epoch: 1, sequence },
    at: sequence,
    revisions: [],
    keeps: 0,
    counts: { create: 0, change: objects, remove: 0, touch: 0 },
    objects: Array.from({ length: objects }, (_, at) => ({
      key: `/ConfigMap/web/${at}` as ObjectKey,
      change: 'change' as const,
      meta: { origins: [], scope: [] },
      origin: { source: 'main' as never, path },
      ...{ isApproved: false, wasLost: false, isStillDeclared: false },
    })),
    wasEmpty: false,
  });

  it('keeps its bounds in memory and in the store, and goes on from the store', () => {
    const stored = new Map<number, DeltaRecord>();
    const write = (slot: number, record: DeltaRecord | null): void => {
      if (record === null) stored.delete(slot);
      else stored.set(slot, record);
    };
    const log = createClusterLog(stored, write, () => 0);
    for (let sequence = 1; sequence <= MOST_DELTAS + 30; sequence += 1) log.sent(draft(sequence));
    const sequences = (records: readonly DeltaRecord[]) => records.map(({ position }) => position.sequence);
    expect(sequences(log.records())).toEqual(Array.from({ length: MOST_DELTAS }, (_, at) => at + 31));
    const next = createClusterLog(stored, write, () => 0);
    expect(next.records()).toEqual(log.records());
    for (let sequence = 1_000; sequence < 1_020; sequence += 1)
      next.sent(draft(sequence, MOST_OBJECTS, 'x'.repeat(60)));
    const bytes = [...stored.values()].reduce((sum, record) => sum + sizeOf(record), 0);
    expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
    expect(stored.size).toBe(next.records().length);
    expect(sequences(next.records()).at(-1)).toBe(1_019);
  });

  it('keeps its bounds where results with long messages come after the last delta', () => {
    const stored = new Map<number, DeltaRecord>();
    const write = (slot: number, record: DeltaRecord | null): void => {
      if (record === null) stored.delete(slot);
      else stored.set(slot, record);
    };
    const log = createClusterLog(stored, write, () => 0);
    for (let sequence = 1; sequence <= 3; sequence += 1) {
      log.sent(draft(sequence, MOST_OBJECTS));
      for (const { key } of draft(sequence, MOST_OBJECTS).objects) {
        log.result({ key, digest: '' as Digest, state: 'failed', reason: 'No', message: 'm'.repeat(1_000) });
      }
    }
    log.flush();
    const bytes = [...stored.values()].reduce((sum, record) => sum + sizeOf(record), 0);
    expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
    expect([...stored.values()]).toEqual(log.records());
    expect(log.records().at(-1)?.position.sequence).toBe(3);
  });

  it('keeps its bounds in bytes, also when results follow whose messages are long', () => {
    const stored = new Map<number, DeltaRecord>();
    const write = (slot: number, record: DeltaRecord | null): void => {
      if (record === null) stored.delete(slot);
      else stored.set(slot, structuredClone(record));
    };
    const size = () => Buffer.byteLength(JSON.stringify([...stored.values()]));
    const log = createClusterLog(stored, write, () => 7);
    const many = (sequence: number) =>
      draft(sequence, 80).objects.map((each, at) => ({
        ...each,
        key: `/ConfigMap/web/${sequence}-${at}` as ObjectKey,
      }));
    const result = { digest: '' as Digest, state: 'failed', reason: 'No', message: '\u0001'.repeat(500) } as const;
    for (let sequence = 1; sequence < 6; sequence += 1) {
      log.sent({ ...draft(sequence, 80), objects: many(sequence) });
      log.answered({ epoch: 1, sequence }, { type: 'rejected', reason: 'No', message: result.message });
    }
    for (let sequence = 1; sequence < 6; sequence += 1)
      for (const { key } of many(sequence)) log.result({ ...result, key });
    log.flush();
    expect(size()).toBeLessThanOrEqual(MOST_BYTES);
    expect(stored.size).toBe(log.records().length);
    const [latest] = [...stored.values()].slice(-1);
    expect(latest?.objects.every(({ outcome }) => outcome?.state === 'failed')).toBe(true);
    expect(log.result({ ...result, key: many(5).at(-1)?.key ?? (KEY_A as ObjectKey) })).toBe(false);
  });

  it('knows the results again that a killed server had not written', () => {
    const log = createClusterLog(
      new Map(),
      () => undefined,
      () => 7,
    );
    const [one, other, third] = draft(1, 3).objects;
    if (one === undefined || other === undefined || third === undefined) throw new Error('there are no objects');
    const objects = [
      { ...one, change: 'remove' as const },
      { ...other, digest: 'aaaa' },
      { ...third, digest: 'bbbb' },
    ];
    log.sent({ ...draft(1, 3), objects });
    const result = { key: other.key, digest: 'aaaa0' as Digest, state: 'failed', reason: 'No', message: '' } as const;
    const lastResult = (key: ObjectKey) => ({ ...result, key });
    const connect = (sequence: number) => log.connected({ position: { epoch: 1, sequence }, entries: [] }, lastResult);
    const states = () => log.records()[0]?.objects.map(({ outcome }) => outcome?.state);
    connect(0);
    expect(log.records()[0]?.answer.state).toBe('lost');
    expect(states()).toEqual([undefined, undefined, undefined]);
    log.sent({ ...draft(2, 3), objects });
    connect(2);
    expect(log.records()[1]?.objects.map(({ outcome }) => outcome?.state)).toEqual(['removed', 'failed', undefined]);
  });

  it('does not call a delta accepted whose server ended before another one sent the next', () => {
    const log = createClusterLog(
      new Map(),
      () => undefined,
      () => 7,
    );
    const connect = (sequence: number) =>
      log.connected({ position: { epoch: 1, sequence }, entries: [] }, () => undefined);
    const states = () => log.records().map(({ answer }) => answer.state);
    log.sent(draft(1));
    // The server that sent the second one could not write.
    connect(2);
    expect(states()).toEqual(['unknown', 'accepted']);
    log.sent(draft(3));
    connect(3);
    expect(states()).toEqual(['unknown', 'accepted', 'accepted']);
    log.sent(draft(4));
    connect(3);
    expect(states()).toEqual(['unknown', 'accepted', 'accepted', 'lost']);
  });

  it('does not take the result of other content for the result of a delta', () => {
    const log = createClusterLog(
      new Map(),
      () => undefined,
      () => 7,
    );
    const [object] = draft(1).objects;
    if (object === undefined) throw new Error('there is no object');
    log.sent({ ...draft(1), objects: [{ ...object, digest: 'aaaa' }] });
    const result = { key: object.key, state: 'applied', reason: '', message: '' } as const;
    expect(log.result({ ...result, digest: 'bbbb' as Digest })).toBe(false);
    expect(log.result({ ...result, digest: 'aaaa0' as Digest })).toBe(true);
    expect(log.result({ ...result, digest: 'aaaa0' as Digest })).toBe(false);
    expect(log.records()[0]?.objects[0]?.outcome).toEqual({ state: 'applied', at: 7 });
  });
});

describe('a large delta', () => {
  it('is cut, and says how many objects are not listed', async () => {
    const many = Object.fromEntries(
      Array.from({ length: MOST_OBJECTS + 20 }, (_, at) => [`apps/m${at}.yaml`, configMapYaml(`m${at}`, '1')]),
    );
    const world = await startedWorld({ ...base, ...many });
    const [delta] = await historyOf(world);
    expect(delta?.objects.length).toBeLessThanOrEqual(MOST_OBJECTS);
    expect((delta?.unlisted ?? 0) + (delta?.objects.length ?? 0)).toBe(MOST_OBJECTS + 23);
    expect(
      world
        .agent('east')
        .holding()
        .entries.some(({ key }) => key === KEY_A),
    ).toBe(true);
  });
});
