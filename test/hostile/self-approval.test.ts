import { describe, expect, it } from 'vitest';
import type { FileSignatures } from '../../src/model/fleet/file-signature.ts';
import type { PolicyBounds } from '../../src/model/fleet/relay-config.ts';
import { createFleetWorld, type FleetWorld } from '../support/fleet-world.ts';
import { policyYaml } from '../support/manifests.ts';
import { abc, base, names } from '../support/started-world.ts';

const tight = { ...base, 'fleet/policy.yaml': policyYaml(0) };
const endless = (digest: string): string =>
  `apiVersion: fleetrelay.dev/v1alpha1\nkind: RemovalApproval\nmetadata: {name: mine}\nspec:\n  digest: ${digest}\n`;
const approval = (digest: string): string => `${endless(digest)}  expires: '2999-01-01T00:00:00Z'\n`;

/** One author removes an object in a commit, which a guard holds, and approves that in the next one. */
async function selfApproved(
  approvals: PolicyBounds['approvals'],
  signatures?: FileSignatures,
  text = approval,
): Promise<{ world: FleetWorld; digest: string }> {
  const world = await createFleetWorld({ approvals });
  world.source.push(tight);
  for (const cluster of ['east', 'west']) world.agent(cluster).connect();
  await world.settle();
  world.source.push({ 'apps/a.yaml': null });
  await world.settle();
  const digest = world.server.api.removals()[0]?.digest ?? '';
  world.source.signatures = signatures;
  world.source.push({ 'approvals/mine.yaml': text(digest) });
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

describe('who removes and then approves in a file where only signed files count', () => {
  const path = 'approvals/mine.yaml';
  const unsigned = { problem: 'the commit 0123456789ab that brought it has no signature' };
  const released = [abc.slice(1), abc.slice(1)];

  it('releases nothing without a signature, and something once a signer has brought the file', async () => {
    const { world, digest } = await selfApproved(['signedFile', 'api'], { [path]: unsigned });
    expect([names(world, 'east'), names(world, 'west')]).toEqual([abc, abc]);
    expect(world.server.api.removals()[0]?.digest).toBe(digest);
    expect(await reasons(world)).toEqual([`ApprovalNotSigned ${path}:2`]);
    expect(world.server.api.diagnostics()[0]?.message).toContain(unsigned.problem);
    world.source.signatures = { [path]: { signer: 'alice@example.com' } };
    world.source.push({ [path]: `# again\n${approval(digest)}` });
    await world.settle();
    expect([names(world, 'east'), names(world, 'west')]).toEqual(released);
    expect(await reasons(world)).toEqual([`ApprovalUsed ${path}:4`]);
  });

  it('releases nothing with a file of a source whose commits are not judged', async () => {
    const { world } = await selfApproved(['signedFile']);
    expect([names(world, 'east'), names(world, 'west')]).toEqual([abc, abc]);
    expect(world.server.api.diagnostics()[0]?.message).toContain('only a commit in a git source can be signed');
  });

  it('releases nothing with the verdict on another file', async () => {
    const { world } = await selfApproved(['signedFile'], { 'approvals/other.yaml': { signer: 'alice@example.com' } });
    expect([names(world, 'east'), names(world, 'west')]).toEqual([abc, abc]);
  });

  it('releases nothing with a signed file that never expires, and something once it does', async () => {
    const signatures = { [path]: { signer: 'alice@example.com' } };
    const { world, digest } = await selfApproved(['signedFile'], signatures, endless);
    expect([names(world, 'east'), names(world, 'west')]).toEqual([abc, abc]);
    expect(await reasons(world)).toEqual([`ApprovalNotSigned ${path}:2`]);
    expect(world.server.api.diagnostics()[0]?.message).toContain('it has no spec.expires');
    world.source.push({ [path]: approval(digest) });
    await world.settle();
    expect([names(world, 'east'), names(world, 'west')]).toEqual(released);
  });

  it('releases it with a signature at once, and not a second time', async () => {
    const { world, digest } = await selfApproved(['signedFile'], { [path]: { signer: 'alice@example.com' } });
    expect([names(world, 'east'), names(world, 'west')]).toEqual(released);
    world.source.push({ 'apps/a.yaml': base['apps/a.yaml'] });
    await world.settle();
    world.source.push({ 'apps/a.yaml': null });
    await world.settle();
    expect(world.server.api.removals()[0]?.digest).toBe(digest);
    expect([names(world, 'east'), names(world, 'west')]).toEqual([abc, abc]);
  });
});
