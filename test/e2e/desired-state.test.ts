import { afterAll, beforeAll, expect, it } from 'vitest';
import { looksOf } from '../support/fleet-looks.ts';
import { type Fleet, startFleet, until } from '../support/fleet-processes.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';
import { describeOnDirectories } from '../support/on-clusters.ts';

const typo = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [\n';
const live = (name: string): string => `ConfigMap/web/${name}`;

const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'clusters/west/cluster.yaml': clusterYaml('west'),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
  'apps/a.yaml': configMapYaml('a', 'one'),
  'apps/b.yaml': configMapYaml('b', 'one'),
  'clusters/east/only.yaml': configMapYaml('only', 'one'),
};

describeOnDirectories('what a push does to real clusters', (clusters, { capabilities }) => {
  let fleet: Fleet;
  const holds = (cluster: string, name: string, text: string): Promise<string> =>
    until(`${cluster} holds ${name} with ${text}`, async () => {
      const file = await fleet.live(cluster, live(name));
      return file?.includes(text) === true ? file : undefined;
    });
  const lacks = (cluster: string, name: string): Promise<boolean> =>
    until(`${cluster} lacks ${name}`, async () => (await fleet.live(cluster, live(name))) === undefined);
  const summary = (text: RegExp): Promise<string> =>
    until(`the summary is ${text}`, async () => {
      const said = (await fleet.status()).summary;
      return text.test(said) ? said : undefined;
    });
  const entered = (commit: string): Promise<true> =>
    until(`${commit} has entered`, async () => (await fleet.status()).sources[0]?.revision === commit || undefined);

  beforeAll(async () => {
    fleet = await startFleet(files, { clusters });
    await fleet.agent('east').start();
    await fleet.agent('west').start();
    await summary(/^applied by 2 of 2 clusters$/);
  });
  afterAll(async () => fleet.stop());

  it('brings the first revision and a change of it', async () => {
    await holds('east', 'only', 'one');
    expect(await fleet.live('west', live('only'))).toBeUndefined();
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
    await holds('east', 'a', 'two');
    await holds('west', 'a', 'two');
  });

  it('removes what was removed', async () => {
    fleet.push({ 'apps/b.yaml': null });
    await lacks('east', 'b');
    await lacks('west', 'b');
    expect(await fleet.live('east', live('a'))).toContain('two');
  });

  it('lets good files in beside a bad one, and removes nothing meanwhile', async () => {
    const commit = fleet.push({
      'apps/bad.yaml': typo,
      'apps/c.yaml': configMapYaml('c', 'one'),
      'clusters/east/only.yaml': null,
    });
    await holds('west', 'c', 'one');
    await entered(commit);
    expect(await fleet.live('east', live('only'))).toBeDefined();
    const [said] = JSON.parse(await fleet.cli('get', 'diagnostics', '-o', 'json')) as {
      at: { path: string; line: number };
    }[];
    expect(said?.at).toMatchObject({ path: 'apps/bad.yaml', line: expect.any(Number) });
    fleet.push({ 'apps/bad.yaml': null });
    await lacks('east', 'only');
  });

  it('keeps an object whose file is renamed with a typo in the same push', async () => {
    const commit = fleet.push({ 'apps/c.yaml': null, 'apps/renamed.yaml': typo });
    await entered(commit);
    await summary(/held/);
    expect(await fleet.live('east', live('c'))).toBeDefined();
    fleet.push({ 'apps/renamed.yaml': configMapYaml('c', 'three') });
    await holds('east', 'c', 'three');
  });

  it('goes on with a broken Placement as last known good, and removes nothing meanwhile', async () => {
    const broken = 'apiVersion: fleetrelay.dev/v1alpha1\nkind: Placement\nmetadata: {name: apps}\nspec: {}\n';
    await entered(
      fleet.push({
        'fleet/placement.yaml': broken,
        'apps/a.yaml': configMapYaml('a', 'three'),
        'apps/c.yaml': null,
        'apps/renamed.yaml': null,
      }),
    );
    await holds('east', 'a', 'three');
    await summary(/held/);
    expect(await fleet.live('east', live('c'))).toBeDefined();
    await entered(fleet.push({ 'fleet/placement.yaml': placementYaml('apps', 'apps/**') }));
    await lacks('east', 'c');
    await summary(/^applied by 2 of 2 clusters$/);
  });

  it('goes on serving a cluster whose KubernetesCluster is broken', async () => {
    await entered(fleet.push({ 'clusters/east/cluster.yaml': typo, 'apps/a.yaml': configMapYaml('a', 'four') }));
    await holds('east', 'a', 'four');
    await entered(fleet.push({ 'clusters/east/cluster.yaml': clusterYaml('east') }));
    await summary(/^applied by 2 of 2 clusters$/);
  });

  it('carries a ConfigMap of 5 MB, or says of it alone that the cluster refuses it', async () => {
    const large = 'x'.repeat(5 * 1024 * 1024);
    fleet.push({ 'apps/large.yaml': configMapYaml('large', large), 'apps/a.yaml': configMapYaml('a', 'five') });
    await holds('east', 'a', 'five');
    const { tooLarge } = capabilities;
    if (tooLarge === undefined) await holds('east', 'large', large);
    else {
      await looksOf(() => fleet).said('east', 'ConfigMap/web/large', 'held', tooLarge);
      await summary(/^applied by 0 of 2 clusters; .*held/);
    }
    fleet.push({ 'apps/large.yaml': null });
    await lacks('east', 'large');
  });

  it('writes the status of a commit that says it was made in the year 287,168', async () => {
    const change = { 'apps/a.yaml': configMapYaml('a', 'six') };
    const commit = fleet.push(change, 'fleet', { committedAt: 9_000_000_000_000 });
    const written = await until('its status is written', async () => {
      const file = fleet.statusFile(`revisions/main/${commit}.yaml`);
      return file?.summary === 'applied by 2 of 2 clusters' ? file : undefined;
    });
    expect(written).toMatchObject({ revision: commit, committedAt: '9999-12-31T23:59:59Z' });
  });
});
