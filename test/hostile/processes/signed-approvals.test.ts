import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fleet, runCli, startFleet, until } from '../../support/fleet-processes.ts';
import { clusterYaml, configMapYaml, placementYaml, policyYaml } from '../../support/manifests.ts';
import { noProgram } from '../../support/programs.ts';
import { createSigningWorld, type Signing, type SigningWorld } from '../../support/signed-commits.ts';

/** A server process that lets only signed files approve, and a person who may push and has no key of an approval signer. */

const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
  'fleet/policy.yaml': policyYaml(0),
  'apps/a.yaml': configMapYaml('a', 'one'),
  'apps/b.yaml': configMapYaml('b', 'one'),
};
const A = 'ConfigMap/web/a';
const FILE = 'approvals/mine.yaml';
const approval = (digest: string): string =>
  `apiVersion: fleetrelay.dev/v1alpha1\nkind: RemovalApproval\nmetadata: {name: mine}\nspec:\n  digest: ${digest}\n  expires: '2999-01-01T00:00:00Z'\n`;

describe.skipIf(noProgram('ssh-keygen'))('a server that counts signed files only', () => {
  let signing: SigningWorld;
  let fleet: Fleet;
  const push = (changes: Readonly<Record<string, string | null>>, how: Signing = {}): string => {
    signing.git('fetch', '--quiet', fleet.bare, 'main');
    signing.git('reset', '--quiet', '--hard', 'FETCH_HEAD');
    const commit = signing.commit(changes, how);
    signing.git('push', '--quiet', fleet.bare, 'HEAD:refs/heads/main');
    return commit;
  };
  const findings = async () =>
    (await fleet.status()).diagnostics.map(({ reason, at, message }) => ({
      reason,
      at: `${at?.path}:${at?.line}`,
      message,
    }));

  beforeAll(async () => {
    signing = createSigningWorld();
    signing.allow('alice');
    const { allowedSignersFile } = signing;
    const bounds = { approvals: ['signedFile'], approvalSigners: { allowedSignersFile } };
    fleet = await startFleet(files, { poll: 1, config: { fields: { bounds } } });
    await fleet.agent('east').start();
    await until('east holds a', async () => (await fleet.live('east', A)) !== undefined);
  });
  afterAll(async () => {
    await fleet?.stop();
    signing?.remove();
  });

  it("releases nothing by a file without a signature or with another person's, and all by a file with a signer's", async () => {
    push({ 'apps/a.yaml': null });
    const digest = await until('the removal is held', async () => (await fleet.status()).heldRemovals[0]?.digest);
    await expect(fleet.cli('approve', digest)).rejects.toThrow(/lets no command approve removals/);
    for (const how of [{}, { ssh: 'eve' }]) {
      const commit = push({ [FILE]: `# ${JSON.stringify(how)}\n${approval(digest)}` }, how);
      await until('the file is judged', async () =>
        (await findings()).some(({ message }) => message.includes(commit.slice(0, 12))),
      );
      expect(await findings()).toEqual([expect.objectContaining({ reason: 'ApprovalNotSigned', at: `${FILE}:3` })]);
    }
    expect(await fleet.live('east', A)).toBeDefined();
    push({ [FILE]: approval(digest) }, { ssh: 'alice' });
    await until('east lacks a', async () => (await fleet.live('east', A)) === undefined);
    await until('the file was used', async () => (await findings())[0]?.reason === 'ApprovalUsed');
    const approved = fleet.server.logs.find(({ message }) => message === 'removals are approved');
    expect(approved).toMatchObject({ by: `fleet:${FILE} (RemovalApproval mine, signed by alice@example.com)` });
  });

  it('does not start with signers that cannot be verified', async () => {
    await fleet.server.kill('SIGTERM');
    signing.allowNone();
    const args = ['serve', '--config', fleet.configFile, '--data-dir', fleet.dataDir];
    await expect(runCli(args)).rejects.toThrow(/bounds\.approvalSigners\.allowedSignersFile: .* names no signer/);
  });
});
