import { describe, expect, it } from 'vitest';
import type { SnapshotStore } from '../../../src/ports/snapshot-store.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { configMapYaml, policyYaml } from '../../support/manifests.ts';
import { forget } from '../../support/mirrors.ts';
import { createMortalStore } from '../../support/mortal-store.ts';
import {
  createReplicaWorld,
  type FakeReplica,
  heldAt,
  type ReplicaWorld,
  storedApprovals,
} from '../../support/replica-world.ts';
import { createSlowStore } from '../../support/slow-store.ts';
import { abc, base, names, restart, startedWorld, typo } from '../../support/started-world.ts';

const TAKEOVER_MS = 30_000;
const FILE = 'approvals/a.yaml';
const tight = { ...base, 'fleet/policy.yaml': policyYaml(0) };
const without = { ...tight, 'apps/a.yaml': null };

function approval(digest: string): string {
  return `apiVersion: fleetrelay.dev/v1alpha1\nkind: RemovalApproval\nmetadata: {name: drop-a}\nspec:\n  digest: ${digest}\n`;
}

function digestOfHeld(world: FleetWorld): string {
  return world.server.api.removals()[0]?.digest ?? '';
}

/** A RemovalApproval was used, and the removal that it names is held again. */
async function heldAgain(): Promise<{ readonly world: FleetWorld; readonly files: Record<string, string | null> }> {
  const world = await startedWorld(tight);
  world.source.push({ 'apps/a.yaml': null });
  await world.settle();
  const file = approval(digestOfHeld(world));
  world.source.push({ [FILE]: file });
  await world.settle();
  expect(names(world, 'east')).toEqual(abc.slice(1));
  world.source.push({ 'apps/a.yaml': configMapYaml('a', '1') });
  await world.settle();
  world.source.push({ 'apps/a.yaml': null });
  await world.settle();
  expect(names(world, 'east')).toEqual(abc);
  return { world, files: { ...without, [FILE]: file } };
}

describe('a RemovalApproval whose outcome the store has lost', () => {
  it('releases nothing: the next server counts it as read before', async () => {
    const { world: first, files } = await heldAgain();
    await forget(first.store, 'approval-outcomes/');
    const after = await restart(first);
    after.source.push(files);
    after.agent('east').connect();
    after.agent('west').connect();
    await after.settle();
    expect(names(after, 'east')).toEqual(abc);
    expect(digestOfHeld(after)).not.toBe('');
    await after.clock.advance(200);
    expect(after.server.api.diagnostics().map(({ reason }) => reason)).toEqual(['ApprovalStale']);
    // A file of a later commit counts.
    after.source.push({ 'approvals/b.yaml': approval(digestOfHeld(after)).replace('drop-a', 'again') });
    await after.settle();
    expect(names(after, 'east')).toEqual(abc.slice(1));
  });

  it('is not judged before every source is read, and releases nothing then', async () => {
    const { world: first, files } = await heldAgain();
    await forget(first.store, 'approval-outcomes/');
    const after = await restart(first);
    after.source.push({ ...files, [FILE]: 'kind: [' });
    for (const name of ['east', 'west']) after.agent(name).connect();
    await after.settle();
    after.source.push({ [FILE]: files[FILE] ?? null });
    await after.settle();
    expect(names(after, 'east')).toEqual(abc);
  });
});

describe('a RemovalApproval of a server without a record of outcomes', () => {
  const reasons = async (world: FleetWorld): Promise<readonly string[]> => {
    await world.clock.advance(200);
    return world.server.api.diagnostics().map(({ reason }) => reason);
  };
  it('counts while another source has files that cannot be read, and is not judged again when they can be', async () => {
    const world = await createFleetWorld({ sources: ['main', 'team'] });
    world.sourceNamed('team').push({ 'apps/broken.yaml': 'kind: [' });
    world.source.push(tight);
    for (const name of ['east', 'west']) world.agent(name).connect();
    await world.settle();
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    world.source.push({ [FILE]: approval(digestOfHeld(world)) });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
    world.sourceNamed('team').push({ 'apps/broken.yaml': null });
    await world.settle();
    expect(await reasons(world)).toEqual(['ApprovalUsed']);
  });

  it('waits while its own source has such files, says so, and then may have been used', async () => {
    const world = await createFleetWorld({
      sources: ['main', 'team'],
      allow: { team: { kinds: ['ConfigMap', 'RemovalApproval'] } },
    });
    const team = world.sourceNamed('team');
    team.push({ 'apps/broken.yaml': 'kind: [' });
    world.source.push(tight);
    for (const name of ['east', 'west']) world.agent(name).connect();
    await world.settle();
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    team.push({ [FILE]: approval(digestOfHeld(world)) });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    expect(await reasons(world)).toContain('ApprovalWaits');
    const waits = world.server.api.diagnostics().find(({ reason }) => reason === 'ApprovalWaits');
    expect(waits?.message).toContain('its source has files that cannot be read. Mend these.');
    team.push({ 'apps/broken.yaml': null });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    expect(await reasons(world)).toEqual(['ApprovalStale']);
    team.push({ 'approvals/b.yaml': approval(digestOfHeld(world)).replace('drop-a', 'again') });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
  });

  it('waits while the next leader has not read its source anew, and says so', async () => {
    const world = await createReplicaWorld(['a']);
    // It never finds the record, and its own source never answers.
    const second = await world.add('b', {
      prepare: (store) => {
        const { get, list } = store;
        const isHidden = (key: string): boolean => key.startsWith('approval-outcomes/');
        store.get = async (key) => (isHidden(key) ? undefined : get(key));
        store.list = async function* (prefix) {
          for await (const record of list(prefix)) if (!isHidden(record.key)) yield record;
        };
      },
    });
    const first = world.leader();
    first.world.source.push(tight);
    await world.pass();
    first.agent('west').connect({ instance: 'west' });
    await world.pass();
    first.world.source.push({ 'apps/a.yaml': null });
    await world.pass();
    first.world.source.push({ [FILE]: approval(digestOfHeld(first.world)) });
    await world.pass();
    first.kill();
    await world.pass(TAKEOVER_MS);
    expect(second.leads()).toBe(true);
    const told = second.world.server.api.diagnostics().filter(({ reason }) => reason === 'ApprovalWaits');
    expect(told).toHaveLength(1);
    expect(told[0]?.message).toContain('has not read its source anew');
  });

  it('may have been used if its source was not read before, also after another restart', async () => {
    const { world: first, files } = await heldAgain();
    await forget(first.store, 'approval-outcomes/');
    const second = await restart(first, ['main', 'team']);
    second.sourceNamed('team').push({});
    second.source.push({ ...files, [FILE]: 'kind: [' });
    for (const name of ['east', 'west']) second.agent(name).connect();
    await second.settle();
    const third = await restart(second, ['main', 'team']);
    third.sourceNamed('team').push({});
    third.source.push({ ...files, [FILE]: 'kind: [' });
    for (const name of ['east', 'west']) third.agent(name).connect();
    await third.settle();
    third.source.push({ [FILE]: files[FILE] ?? null });
    await third.settle();
    expect(names(third, 'east')).toEqual(abc);
    expect(await reasons(third)).toEqual(['ApprovalStale']);
  });
});

describe('an approval that the store does not have yet', () => {
  it.each(['by a file', 'by a command'])(
    'lets nothing leave, %s: the server may die before it is written',
    async (way) => {
      const store = createMortalStore();
      const world = await createFleetWorld({ store: store.store });
      world.source.push(tight);
      world.agent('east').connect();
      await world.settle();
      world.source.push({ 'apps/a.yaml': null });
      await world.settle();
      const digest = digestOfHeld(world);
      store.dieAfter(0);
      if (way === 'by a file') world.source.push({ [FILE]: approval(digest) });
      else void world.server.api.approve(digest, 'a person');
      await world.settle();
      expect(names(world, 'east')).toEqual(abc);
    },
  );

  it('counts once the store has it', async () => {
    const world = await createReplicaWorld(['a']);
    world.push(tight);
    await world.pass();
    const leader = world.leader();
    leader.agent('east').connect();
    await world.pass();
    world.push({ 'apps/a.yaml': null });
    await world.pass();
    const digest = digestOfHeld(leader.world);
    world.memory.refusing = 'the memory is full';
    const { api } = leader.world.server;
    const answers = [api.approve(digest, 'a person')];
    await world.pass(1_000);
    expect(heldAt(leader, 'east')).toEqual(abc);
    expect(digestOfHeld(leader.world)).toBe(digest);
    answers.push(api.approve(digest, 'a person'));
    await world.pass(1_000);
    expect(digestOfHeld(leader.world)).toBe(digest);
    world.memory.refusing = undefined;
    await world.pass(20_000);
    answers.push(api.approve(digest, 'a person'));
    await world.pass(1_000);
    // The same command again has the same answer, also after a person has looked at what is held.
    const [first, ...again] = (await Promise.all(answers)).map((act) => (act.ok ? act.value : act.message));
    expect(first).toMatchObject({ released: 1 });
    expect(again).toEqual([first, first]);
    expect(heldAt(leader, 'east')).toEqual(abc.slice(1));
  });

  it('is a part of the answer to a command that approves its removal again, and expires when it did', async () => {
    const { store, hold } = createSlowStore();
    const world = await startedWorld(tight, { store });
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    const digest = digestOfHeld(world);
    const soon = new Date(Math.ceil(world.clock.now() / 1_000) * 1_000 + 600_000).toISOString().replace('.000', '');
    const goOn = hold();
    world.source.push({ [FILE]: `${approval(digest)}  expires: '${soon}'\n` });
    await world.clock.advance(1_000);
    const { api } = world.server;
    const answers = [api.approve(digest, 'a person')];
    await world.clock.advance(1_000);
    world.source.push({ 'apps/b.yaml': null });
    await world.clock.advance(1_000);
    const both = digestOfHeld(world);
    expect(both).not.toBe(digest);
    answers.push(api.approve(both, 'a person'), api.approve(both, 'a person'));
    await world.clock.advance(1_000);
    goOn();
    await world.clock.advance(1_000);
    answers.push(api.approve(both, 'a person'));
    await world.clock.advance(1_000);
    const told = (await Promise.all(answers)).map((act) => (act.ok ? act.value : act.message));
    expect(told[0]).toEqual({ digest, released: 2, expiresAt: soon });
    expect(told.slice(1)).toEqual(Array.from({ length: 3 }, () => ({ digest: both, released: 4, expiresAt: soon })));
    expect([names(world, 'east'), names(world, 'west')]).toEqual([abc.slice(2), abc.slice(2)]);
  });

  it('is answered as nothing if no removal of its set is held any more', async () => {
    const world = await startedWorld(tight);
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    const digest = digestOfHeld(world);
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '1') });
    await world.settle();
    expect(await world.server.api.approve(digest, 'a person')).toMatchObject({ ok: false, kind: 'notFound' });
  });

  it('does not count any more if its object was wanted again meanwhile', async () => {
    const world = await createReplicaWorld(['a']);
    world.push(tight);
    await world.pass();
    const leader = world.leader();
    leader.agent('east').connect();
    await world.pass();
    world.push({ 'apps/a.yaml': null });
    await world.pass();
    world.memory.refusing = 'the memory is full';
    void leader.world.server.api.approve(digestOfHeld(leader.world), 'a person');
    await world.pass(1_000);
    leader.world.source.push({ 'apps/a.yaml': configMapYaml('a', '1') });
    await world.pass(1_000);
    world.memory.refusing = undefined;
    await world.pass(20_000);
    world.push({ 'apps/a.yaml': null });
    await world.pass();
    expect(heldAt(leader, 'east')).toEqual(abc);
    expect(storedApprovals(world)).toEqual([]);
  });
});

describe('an approval that waits for its agent, when the store becomes an older copy', () => {
  it('still counts at the next leader once its leader has written it again', async () => {
    const world = await createReplicaWorld(['a', 'b', 'c']);
    world.push(tight);
    await world.pass();
    const leader = world.leader();
    const [server] = world.followers();
    if (server === undefined) throw new Error('there is no follower');
    server.agent('west').connect({ instance: 'west' });
    await world.pass();
    world.push({ 'apps/a.yaml': null });
    await world.pass();
    server.agent('west').disconnect();
    const copy = world.memory.copy();
    const answer = leader.world.server.api.approve(digestOfHeld(leader.world), 'a person');
    await world.pass();
    expect((await answer).ok).toBe(true);
    world.memory.refusing = 'the memory is full';
    world.memory.fallBack(copy);
    await world.pass();
    world.memory.refusing = undefined;
    await world.pass(10_000);
    leader.kill();
    await world.pass(60_000);
    expect(world.leader()).not.toBe(leader);
    server.agent('west').connect({ instance: 'west' });
    await world.pass(20_000);
    expect(heldAt(server, 'west')).toEqual(abc.slice(1));
    // The record of its end goes when it would have expired.
    expect([...world.memory.copy().keys()].filter((key) => key.startsWith('approvals/'))).toHaveLength(1);
    expect(storedApprovals(world)).toEqual([]);
    await world.clock.advance(3_600_000);
    await world.pass();
    expect([...world.memory.copy().keys()].filter((key) => key.startsWith('approvals/'))).toEqual([]);
  });
});

describe('an approval that was used, when all servers start anew on an older copy of the store', () => {
  it.each([
    ['a', 'before'],
    ['b', 'before'],
    ['a', 'after'],
  ])('lets nothing leave again by its file: its agent connected at %s %s that was read', async (at, when) => {
    const world = await createReplicaWorld(['first']);
    world.push(tight);
    await world.pass();
    const first = world.leader();
    first.agent('west').connect({ instance: 'west' });
    await world.pass();
    world.push({ 'apps/a.yaml': null });
    await world.pass();
    const digest = digestOfHeld(first.world);
    const copy = world.memory.copy();
    world.push({ [FILE]: approval(digest) });
    await world.pass();
    expect(heldAt(first, 'west')).toEqual(abc.slice(1));
    world.push({ 'apps/a.yaml': configMapYaml('a', '1') });
    await world.pass();
    world.push({ 'apps/a.yaml': null });
    await world.pass();
    first.kill();
    world.memory.fallBack(copy);
    await world.add('a');
    await world.add('b');
    const server = world.replicas.find(({ id }) => id === at);
    if (server === undefined) throw new Error(`there is no ${at}`);
    const { 'apps/a.yaml': _gone, ...others } = tight;
    world.push({ ...others, [FILE]: approval(digest) });
    if (when === 'after') await world.pass(100_000);
    server.agent('west').connect({ instance: 'west' });
    await world.pass(100_000);
    expect(heldAt(server, 'west')).toEqual(abc);
    // A file of a later commit counts.
    world.push({ 'approvals/b.yaml': approval(digestOfHeld(world.leader().world)).replace('drop-a', 'again') });
    await world.pass();
    expect(heldAt(server, 'west')).toEqual(abc.slice(1));
  });
});

it('a leader that finds the store older records it at once, also if nothing can be judged yet', async () => {
  const world = await createReplicaWorld(['first']);
  world.push(tight);
  await world.pass();
  world.leader().agent('west').connect({ instance: 'west' });
  await world.pass();
  const copy = world.memory.copy();
  world.push({ 'apps/b.yaml': configMapYaml('b', '2') });
  await world.pass();
  world.leader().kill();
  world.memory.fallBack(copy);
  const next = await world.add('next');
  await world.pass(TAKEOVER_MS);
  expect(next.leads()).toBe(true);
  const recorded = (): object => {
    const record = world.memory.copy().get('approval-outcomes/all');
    return JSON.parse(new TextDecoder().decode(record?.value));
  };
  expect(recorded()).toEqual({ outcomes: {} });
  next.agent('west').connect({ instance: 'west' });
  await world.pass(1_000);
  expect(recorded()).toMatchObject({ judged: [], loss: { epoch: expect.any(Number) } });
});

it('counts at a server that has found the store older, once another leader has judged what was declared by then', async () => {
  const world = await createReplicaWorld(['first']);
  world.push(tight);
  await world.pass();
  const first = world.leader();
  first.agent('west').connect({ instance: 'west' });
  await world.pass();
  world.push({ 'apps/a.yaml': null });
  await world.pass();
  const digest = digestOfHeld(first.world);
  const copy = world.memory.copy();
  world.push({ 'apps/b.yaml': configMapYaml('b', '2') });
  await world.pass();
  first.kill();
  world.memory.fallBack(copy);
  const a = await world.add('a');
  const b = await world.add('b');
  const { 'apps/a.yaml': _gone, ...others } = tight;
  world.push({ ...others, 'apps/b.yaml': typo, [FILE]: approval(digest) });
  a.agent('west').connect({ instance: 'west' });
  await world.pass(100_000);
  expect(world.leader()).toBe(a);
  const outcomeAt = ({ world: { server } }: FakeReplica, name: string): string | undefined =>
    server.engine.inputs.approvalOutcomes.get('', name)?.outcome;
  expect(outcomeAt(a, 'drop-a')).toBe('waits');
  const goOn = a.freeze();
  await world.pass(TAKEOVER_MS);
  expect(b.leads()).toBe(true);
  b.agent('west').connect({ instance: 'west' });
  world.push({ 'apps/b.yaml': configMapYaml('b', '2') });
  await world.pass();
  expect(outcomeAt(b, 'drop-a')).toBe('stale');
  goOn();
  await world.pass();
  b.kill();
  a.world.source.push({ 'approvals/b.yaml': approval(digest).replace('drop-a', 'again') });
  await world.pass(TAKEOVER_MS);
  expect(world.leader()).toBe(a);
  expect(outcomeAt(a, 'again')).toBe('used');
});

describe('an approval that was used, when the store becomes an older copy and the leader is lost', () => {
  interface Fleet {
    readonly world: ReplicaWorld;
    readonly leader: FakeReplica;
    readonly server: FakeReplica;
    readonly digest: string;
  }

  /** A removal is held; its agent is at a follower. */
  async function held(): Promise<Fleet> {
    return heldIn(await createReplicaWorld(['a', 'b', 'c']));
  }

  async function heldIn(world: ReplicaWorld): Promise<Fleet> {
    world.push(tight);
    await world.pass();
    const leader = world.leader();
    const [server] = world.followers();
    if (server === undefined) throw new Error('there is no follower');
    server.agent('west').connect({ instance: 'west' });
    await world.pass();
    world.push({ 'apps/a.yaml': null });
    await world.pass();
    return { world, leader, server, digest: digestOfHeld(leader.world) };
  }

  /** The followers read no files of an admission between `hold` and the call of what it returns. */
  async function slowFollowers(): Promise<{ readonly world: ReplicaWorld; readonly hold: () => () => void }> {
    const world = await createReplicaWorld(['a']);
    let gate: PromiseWithResolvers<void> | undefined;
    const prepare = (store: SnapshotStore): void => {
      const get = store.get.bind(store);
      store.get = async (key) => {
        if (key.startsWith('trees/')) await gate?.promise;
        return get(key);
      };
    };
    for (const id of ['b', 'c']) await world.add(id, { prepare });
    const hold = (): (() => void) => {
      const held = Promise.withResolvers<void>();
      gate = held;
      return () => {
        gate = undefined;
        held.resolve();
      };
    };
    return { world, hold };
  }

  /** The object is brought again and removed again: only another approval may let that removal leave. */
  async function removedAgain({ world, server }: Fleet): Promise<void> {
    expect(heldAt(server, 'west')).toEqual(abc.slice(1));
    world.push({ 'apps/a.yaml': configMapYaml('a', '1') });
    await world.pass();
    world.push({ 'apps/a.yaml': null });
    await world.pass();
    expect(heldAt(server, 'west')).toEqual(abc);
  }

  const losses: readonly (readonly [string, (leader: FakeReplica) => () => void])[] = [
    [
      'killed',
      (leader) => {
        leader.kill();
        return () => undefined;
      },
    ],
    ['suspended', (leader) => leader.freeze()],
  ];

  it.each(losses)('is not judged again by its file: the leader was %s', async (_, lose) => {
    const fleet = await held();
    const { world, leader, server, digest } = fleet;
    const copy = world.memory.copy();
    world.push({ [FILE]: approval(digest) });
    await world.pass();
    await removedAgain(fleet);
    const goOn = lose(leader);
    world.memory.fallBack(copy);
    await world.pass(TAKEOVER_MS);
    goOn();
    await world.pass(TAKEOVER_MS);
    expect(world.leader()).not.toBe(leader);
    expect(heldAt(server, 'west')).toEqual(abc);
    expect(digestOfHeld(world.leader().world)).toBe(digest);
  });

  it('is not judged again by its file: the next leader has read the outcome before the file', async () => {
    const { world, hold } = await slowFollowers();
    const fleet = await heldIn(world);
    const { leader, server, digest } = fleet;
    const copy = world.memory.copy();
    const goOn = hold();
    world.push({ [FILE]: approval(digest) });
    await world.pass(1_000);
    const { declarations, inputs } = server.world.server.engine;
    expect(declarations.get('RemovalApproval', 'drop-a')).toBeUndefined();
    expect(inputs.approvalOutcomes.get('', 'drop-a')?.outcome).toBe('used');
    goOn();
    await world.pass();
    expect(declarations.get('RemovalApproval', 'drop-a')).toBeDefined();
    expect(inputs.approvalOutcomes.get('', 'drop-a')?.outcome).toBe('used');
    await removedAgain(fleet);
    leader.kill();
    world.memory.fallBack(copy);
    await world.pass(TAKEOVER_MS);
    await world.pass(TAKEOVER_MS);
    expect(heldAt(server, 'west')).toEqual(abc);
    expect(digestOfHeld(world.leader().world)).toBe(digest);
  });

  it('is forgotten at each replica with its file', async () => {
    const fleet = await held();
    const { world, leader, server, digest } = fleet;
    world.push({ [FILE]: approval(digest) });
    await world.pass();
    world.push({ [FILE]: null });
    await world.pass();
    for (const { world: of } of [leader, server]) {
      expect([...of.server.engine.inputs.approvalOutcomes.entries('')]).toEqual([]);
    }
  });

  it.each(losses)('does not count although the copy has it: the leader was %s', async (_, lose) => {
    const fleet = await held();
    const { world, leader, server, digest } = fleet;
    server.agent('west').pause();
    void leader.world.server.api.approve(digest, 'a person');
    await world.pass();
    const copy = world.memory.copy();
    expect([...copy.keys()].filter((key) => key.startsWith('approvals/'))).toHaveLength(1);
    server.agent('west').release('accepted');
    await world.pass();
    await removedAgain(fleet);
    const goOn = lose(leader);
    world.memory.fallBack(copy);
    await world.pass(TAKEOVER_MS);
    goOn();
    await world.pass(TAKEOVER_MS);
    expect(heldAt(server, 'west')).toEqual(abc);
    expect(digestOfHeld(world.leader().world)).not.toBe('');
  });
});
