import { afterAll, beforeAll, expect, it } from 'vitest';
import { clusterYaml, configMapYaml } from '../../support/manifests.ts';
import { describeOnDirectories } from '../../support/on-clusters.ts';
import { type Contents, type RelayFleet, startRelayFleet } from '../../support/relay-fleet.ts';
import {
  changed,
  everywhere,
  policySpec,
  ROOMY_GUARDS,
  restartAll,
  sceneContents,
  sceneFiles,
  setScene,
  waitsFor,
} from '../../support/relay-scene.ts';

const names = ['east', 'west'];
const GONE = { 'Service/web/west-shop': null, 'EndpointSlice.discovery.k8s.io/web/west-shop-1': null };

describeOnDirectories({ title: 'a cluster is deregistered', needs: ['redis-server'] }, (clusters) => {
  let fleet: RelayFleet;
  let expected: Contents = sceneContents(names);
  beforeAll(async () => {
    fleet = await startRelayFleet({ clusters, names, files: sceneFiles(names, policySpec('strict') + ROOMY_GUARDS) });
    await setScene(fleet, names);
  });
  afterAll(() => fleet?.stop());

  const holds = (next: Contents): Promise<void> => {
    expected = next;
    return fleet.holds(expected);
  };

  it('what it holds stays there, what came from it goes elsewhere, and its certificate is worth nothing', async () => {
    for (const { looks } of [fleet.a, fleet.b]) await looks.summary(/^applied by 2 of 2 clusters$/);
    const before = (await fleet.versions()).west;
    fleet.push({ 'clusters/west/cluster.yaml': null, 'apps/a.yaml': configMapYaml('a', 'two') });
    await holds(changed(expected, { east: { ...GONE, 'ConfigMap/web/a': 'two' } }));
    await fleet.a.looks.logged('west', /ClusterDeregistered|CertificateRevoked|UnknownCluster/);
    for (const { looks, status } of [fleet.a, fleet.b]) {
      await looks.summary(/^applied by 1 of 1 clusters?$/);
      expect((await status()).safeMode).toBeNull();
    }
    expect((await fleet.versions()).west).toEqual(before);
    // Registered again: it enrols anew.
    fleet.push({ 'clusters/west/cluster.yaml': clusterYaml('west') });
    await holds(everywhere(sceneContents(names), { 'ConfigMap/web/a': 'two' }));
  });

  it('while strict safe mode waits for it: translation goes on', async () => {
    await restartAll(fleet, names, { late: ['west'] });
    const before = await fleet.versions();
    await fleet.a.looks.entered(fleet.push({ 'apps/a.yaml': configMapYaml('a', 'three') }));
    await waitsFor(fleet.a, 'strict', { west: 'AssumedWarm' });
    expect(await fleet.versions()).toEqual(before);
    fleet.push({ 'clusters/west/cluster.yaml': null });
    await holds(changed(expected, { east: { ...GONE, 'ConfigMap/web/a': 'three' } }));
    expect((await fleet.a.status()).safeMode).toBeNull();
    expect((await fleet.versions()).west).toEqual(before.west);
  });
});
