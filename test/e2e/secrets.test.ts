import { afterEach, expect, it } from 'vitest';
import { type Fleet, STATUS_BRANCH, startFleet, until } from '../support/fleet-processes.ts';
import { clusterYaml, placementYaml } from '../support/manifests.ts';
import { describeOnClusters } from '../support/on-clusters.ts';

const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
};

describeOnClusters('the value of a Secret', (clusters) => {
  let fleet: Fleet;
  afterEach(async () => fleet.stop());

  it('is in no log, no answer, and not on the status branch', async () => {
    const value = 'c3VwZXItc2VjcmV0LXZhbHVl';
    const secret = `apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: web}\ndata: {password: ${value}}\n`;
    fleet = await startFleet({ ...files, 'apps/s.yaml': secret }, { clusters });
    await fleet.agent('east').start();
    await until(
      'the Secret is applied',
      async () => (await fleet.live('east', 'Secret/web/s'))?.includes(value) === true,
    );
    fleet.push({ 'apps/broken.yaml': `${secret}stringData: [super-secret-value]\n` });
    await until(
      'it is reported',
      async () => (await fleet.status()).sources.some(({ partial }) => partial) || undefined,
    );
    const branch = await until('status is written', () =>
      fleet.sandbox.git(fleet.bare, 'grep', 'Secret', STATUS_BRANCH),
    );
    const all = [
      JSON.stringify(fleet.server.logs),
      JSON.stringify(fleet.agent('east').logs),
      JSON.stringify(await fleet.status()),
      await fleet.cli('get', 'outputs', '-o', 'json'),
      await fleet.cli('explain', 'east', 'Secret/web/s'),
      await (await fetch(`${fleet.server.metrics()}/metrics`)).text(),
      branch,
      fleet.sandbox.git(fleet.bare, 'log', '-p', STATUS_BRANCH),
    ].join('\n');
    expect(all).not.toContain(value);
    expect(all).not.toContain('super-secret-value');
    expect(all).not.toMatch(/fr[te]1_/);
  });
});
