import { afterEach, beforeEach, expect, it } from 'vitest';
import { clusterYaml, configMapYaml } from '../../support/manifests.ts';
import { describeOnClusters } from '../../support/on-clusters.ts';
import { type RelayFleet, startRelayFleet } from '../../support/relay-fleet.ts';
import {
  changed,
  everywhere,
  policySpec,
  restartAll,
  sceneContents,
  sceneFiles,
  setScene,
  waitsFor,
} from '../../support/relay-scene.ts';

const names = ['east', 'west'];
const EXCLUDED = `${clusterYaml('west')}  skipWarming: true\n`;
const GONE = { 'Service/web/west-shop': null, 'EndpointSlice.discovery.k8s.io/web/west-shop-1': null };

describeOnClusters('a cluster is excluded from safe mode with skipWarming', (clusters) => {
  let fleet: RelayFleet;
  beforeEach(async () => {
    fleet = await startRelayFleet({ clusters, names, files: sceneFiles(names, policySpec('strict')) });
    await setScene(fleet, names);
  });
  afterEach(() => fleet?.stop());

  const two = { 'ConfigMap/web/a': 'two' };
  const comesBack = async (): Promise<void> => {
    await fleet.agent('west').start();
    await fleet.holds(everywhere(sceneContents(names), two));
    for (const { looks } of [fleet.a, fleet.b]) await looks.summary(/^applied by 2 of 2 clusters$/);
  };

  it('before a restart: translation goes on without it at once', async () => {
    await fleet.a.looks.entered(
      fleet.push({ 'clusters/west/cluster.yaml': EXCLUDED, 'apps/a.yaml': configMapYaml('a', 'two') }),
    );
    await fleet.holds(everywhere(sceneContents(names), two));
    await restartAll(fleet, names, { late: ['west'] });
    await fleet.holds(changed(everywhere(sceneContents(names), two), { east: GONE }));
    expect((await fleet.a.status()).safeMode).toBeNull();
    await comesBack();
  });

  it('while safe mode waits for it, without a restart of anything: translation goes on without it', async () => {
    await restartAll(fleet, names, { late: ['west'] });
    const before = await fleet.versions();
    await fleet.a.looks.entered(fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') }));
    for (const replica of [fleet.a, fleet.b]) await waitsFor(replica, 'strict', { west: 'PresumedWarm' });
    expect(await fleet.versions()).toEqual(before);
    fleet.push({ 'clusters/west/cluster.yaml': EXCLUDED });
    await fleet.holds(changed(sceneContents(names), { east: { ...GONE, ...two } }));
    expect((await fleet.versions()).west).toEqual(before.west);
    await comesBack();
    // Included again: it is here, and nothing waits.
    const commit = fleet.push({ 'clusters/west/cluster.yaml': clusterYaml('west') });
    for (const { looks, status } of [fleet.a, fleet.b]) {
      await looks.entered(commit);
      expect((await status()).safeMode).toBeNull();
    }
  });
});
