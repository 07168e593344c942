import { describe, expect, it } from 'vitest';
import type { PolicyBounds } from '../../src/model/relay-config.ts';
import { createFleetWorld, type FleetWorld } from '../support/fleet-world.ts';
import { policyYaml } from '../support/manifests.ts';
import { abc, base, names } from '../support/started-world.ts';

const tight = { ...base, 'fleet/policy.yaml': policyYaml(0) };
const approval = (digest: string): string =>
  `apiVersion: fleetrelay.dev/v1alpha1\nkind: RemovalApproval\nmetadata: {name: mine}\nspec:\n  digest: ${digest}\n`;

/** One author removes an object in a commit, which a guard holds, and approves that in the next one. */
async function selfApproved(approvals: PolicyBounds['approvals']): Promise<{ world: FleetWorld; digest: string }> {
  const world = await createFleetWorld({ approvals });
  world.source.push(tight);
  for (const cluster of ['east', 'west']) world.agent(cluster).connect();
  await world.settle();
  world.source.push({ 'apps/a.yaml': null });
  await world.settle();
  const digest = world.server.api.removals()[0]?.digest ?? '';
  world.source.push({ 'approvals/mine.yaml': approval(digest) });
  await world.settle();
  return { world, digest };
}

const reasons = async (world: FleetWorld): Promise<readonly string[]> => {
  await world.clock.advance(200);
  return world.server.api.diagnostics().map(({ reason, at }) => `${reason} ${at?.path}:${at?.line}`);
};

describe('who removes and then approves in a commit of his own', () => {
  it('releases nothing where files do not count, and a person can by command', async () => {
    const { world, digest } = await selfApproved(['api']);
    expect([names(world, 'east'), names(world, 'west')]).toEqual([abc, abc]);
    expect(world.server.api.removals()[0]?.digest).toBe(digest);
    expect(await reasons(world)).toEqual(['ApprovalNotCounted approvals/mine.yaml:2']);
    expect(await world.server.api.approve(digest, 'alice')).toMatchObject({ ok: true, value: { released: 2 } });
    await world.settle();
    expect([names(world, 'east'), names(world, 'west')]).toEqual([abc.slice(1), abc.slice(1)]);
  });

  it('releases it where files count, and a command then releases nothing if it does not', async () => {
    const { world } = await selfApproved(['file']);
    expect([names(world, 'east'), names(world, 'west')]).toEqual([abc.slice(1), abc.slice(1)]);
    world.source.push({ 'apps/b.yaml': null });
    await world.settle();
    const held = world.server.api.removals()[0]?.digest ?? '';
    expect(await world.server.api.approve(held, 'alice')).toMatchObject({ ok: false, kind: 'conflict' });
    await world.settle();
    expect(names(world, 'east')).toEqual(abc.slice(1));
  });
});
