import { describe, expect, it } from 'vitest';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { configMapYaml, policyYaml } from '../../support/manifests.ts';
import { forget } from '../../support/mirrors.ts';
import { createReplicaWorld, heldAt } from '../../support/replica-world.ts';
import { abc, base, names, restart, startedWorld, typo } from '../../support/started-world.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const approval = (digest: string, more = '', name = 'drop-a'): string =>
  `apiVersion: fleetrelay.dev/v1alpha1\nkind: RemovalApproval\nmetadata: {name: ${name}}\nspec:\n  digest: ${digest}\n${more}`;

const tight = { ...base, 'fleet/policy.yaml': policyYaml(0) };

async function heldWorld(): Promise<{ readonly world: FleetWorld; readonly digest: string }> {
  const world = await startedWorld(tight);
  world.source.push({ 'apps/a.yaml': null });
  await world.settle();
  return { world, digest: world.server.api.removals()[0]?.digest ?? '' };
}

const reasons = async (world: FleetWorld): Promise<readonly string[]> => {
  await world.clock.advance(200);
  return world.server.api.diagnostics().map(({ reason }) => reason);
};

describe('an approval by a file', () => {
  it('in a later commit releases the removals that it names, once', async () => {
    const { world, digest } = await heldWorld();
    world.source.push({ 'approvals/a.yaml': approval(digest) });
    await world.settle();
    expect([names(world, 'east'), names(world, 'west')]).toEqual([abc.slice(1), abc.slice(1)]);
    expect(await reasons(world)).toEqual(['ApprovalUsed']);
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '1') });
    await world.settle();
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    expect(world.server.api.removals()[0]?.digest).toBe(digest);
    expect(names(world, 'east')).toEqual(abc);
    // Taken away and brought again it is a new act of a person.
    world.source.push({ 'approvals/a.yaml': null });
    await world.settle();
    expect(await reasons(world)).toEqual([]);
    world.source.push({ 'approvals/a.yaml': approval(digest) });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
  });

  it('in the commit that causes the hold does nothing, also not later or after a restart', async () => {
    const { digest } = await heldWorld();
    const first = await startedWorld(tight);
    first.source.push({ 'apps/a.yaml': null, 'approvals/a.yaml': approval(digest) });
    await first.settle();
    expect(first.server.api.removals()[0]?.digest).toBe(digest);
    expect(await reasons(first)).toEqual(['ApprovalStale']);
    first.source.push({ 'apps/b.yaml': configMapYaml('b', '2') });
    await first.settle();
    const world = await restart(first);
    const { 'apps/a.yaml': _gone, ...rest } = tight;
    world.source.push({ ...rest, 'approvals/a.yaml': approval(digest) });
    world.agent('east').connect();
    world.agent('west').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    // A new name in a later commit counts.
    world.source.push({ 'approvals/a.yaml': approval(digest, '', 'once-more') });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
  });

  it('counts if it came while the server was down, after the hold', async () => {
    const { world: first, digest } = await heldWorld();
    await first.settle();
    const world = await restart(first);
    const { 'apps/a.yaml': _gone, ...rest } = tight;
    world.source.push({ ...rest, 'approvals/a.yaml': approval(digest) });
    world.agent('east').connect();
    world.agent('west').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
  });

  it('does nothing after a loss of the store: the held removals are not known any more', async () => {
    const { world: first, digest } = await heldWorld();
    for (const agent of first.agents.known.values()) agent.abandon();
    await first.settle();
    await first.server.stop();
    await forget(first.store, '');
    const world = await createFleetWorld({
      agents: first.agents,
      clock: createVirtualClock(first.clock.now() + 1_000),
    });
    const { 'apps/a.yaml': _gone, ...rest } = tight;
    world.source.push({ ...rest, 'approvals/a.yaml': approval(digest) });
    world.agent('east').connect();
    world.agent('west').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
    expect(world.server.api.removals()).toHaveLength(1);
  });

  it('is not judged again when its file could not be read for a while', async () => {
    const { world, digest } = await heldWorld();
    world.source.push({ 'approvals/a.yaml': approval(digest) });
    await world.settle();
    world.source.push({ 'apps/a.yaml': configMapYaml('a', '1'), 'approvals/a.yaml': typo });
    await world.settle();
    world.source.push({ 'apps/a.yaml': null, 'approvals/a.yaml': approval(digest) });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
  });

  it('names the removals of a set that are still held, and nothing else', async () => {
    const world = await startedWorld(tight);
    world.source.push({ 'apps/a.yaml': null, 'apps/b.yaml': null });
    await world.settle();
    const digest = world.server.api.removals()[0]?.digest ?? '';
    world.source.push({ 'apps/b.yaml': configMapYaml('b', '1'), 'apps/c.yaml': null });
    await world.settle();
    world.source.push({ 'approvals/a.yaml': approval(digest) });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
    expect(world.server.api.removals()[0]?.removals.map(({ object }) => object)).toEqual([
      'ConfigMap/web/c',
      'ConfigMap/web/c',
    ]);
  });

  it.each([
    ['2020-01-01T00:00:00Z', abc, 'ApprovalExpired'],
    ['2030-01-01T00:00:00Z', abc.slice(1), 'ApprovalUsed'],
  ])('expires at %s', async (time, then, reason) => {
    const { world, digest } = await heldWorld();
    world.source.push({ 'approvals/a.yaml': approval(digest, `  expires: '${time}'\n`) });
    await world.settle();
    expect(names(world, 'east')).toEqual(then);
    expect(await reasons(world)).toEqual([reason]);
  });

  it('releases nothing after its expiry, if no agent has done the removals', async () => {
    const { world, digest } = await heldWorld();
    world.agent('east').disconnect();
    const soon = new Date(world.clock.now() + 60_000).toISOString();
    world.source.push({ 'approvals/a.yaml': approval(digest, `  expires: '${soon}'\n`) });
    await world.settle();
    expect(names(world, 'west')).toEqual(abc.slice(1));
    await world.clock.advance(61_000);
    world.agent('east').connect();
    await world.settle();
    expect(names(world, 'east')).toEqual(abc);
  });

  it.each([
    ['digest: nonsense', 'digest'],
    [`digest: ${'a'.repeat(64)}\n  expires: tomorrow`, 'RFC 3339'],
    [`digest: ${'a'.repeat(64)}\n  expires: '2026-01-01'`, 'RFC 3339'],
  ])('that cannot be read says why: %s', async (spec, said) => {
    const world = await startedWorld(tight);
    world.source.push({ 'approvals/a.yaml': approval('x').replace('digest: x', spec) });
    await world.settle();
    expect(world.server.api.diagnostics()[0]?.message).toContain(said);
  });
});

it('is judged by a later leader as if it was read then, not by the records that this leader began with', async () => {
  const world = await createReplicaWorld(['a']);
  world.push(tight);
  await world.pass();
  const first = world.leader();
  for (const name of ['east', 'west']) first.agent(name).connect();
  await world.pass();
  const digestOfHeld = async (change: Readonly<Record<string, string | null>>): Promise<string> => {
    world.push(change);
    await world.pass();
    return world.leader().world.server.api.removals()[0]?.digest ?? '';
  };
  const digest = await digestOfHeld({ 'apps/a.yaml': null });
  await digestOfHeld({ 'approvals/a.yaml': approval(digest) });
  expect(heldAt(first, 'east')).toEqual(abc.slice(1));
  const { 'apps/a.yaml': _gone, ...rest } = tight;
  const second = await world.add('b');
  second.world.source.push({ ...rest, 'approvals/a.yaml': approval(digest) });
  await world.pass();
  await digestOfHeld({ 'apps/a.yaml': configMapYaml('a', '1'), 'approvals/a.yaml': null });
  expect(await digestOfHeld({ 'apps/a.yaml': null })).toBe(digest);
  first.kill();
  second.world.source.push({ 'approvals/a.yaml': approval(digest) });
  await world.pass(30_000);
  expect(second.leads()).toBe(true);
  for (const name of ['east', 'west']) second.agent(name).connect();
  await world.pass();
  expect(heldAt(second, 'east')).toEqual(abc.slice(1));
});
