import { afterAll, beforeAll, expect, it } from 'vitest';
import { testInLong } from '../../support/long-tests.ts';
import { clusterYaml, configMapYaml } from '../../support/manifests.ts';
import { describeOnDirectories } from '../../support/on-clusters.ts';
import { type RelayFleet, startRelayFleet } from '../../support/relay-fleet.ts';
import {
  everywhere,
  policySpec,
  restartAll,
  sceneContents,
  sceneFiles,
  setScene,
  waitsFor,
} from '../../support/relay-scene.ts';

const names = ['east', 'west'];

describeOnDirectories({ title: 'a cluster whose agent never connected', needs: ['redis-server'] }, (clusters) => {
  let fleet: RelayFleet;
  beforeAll(async () => {
    const files = { ...sceneFiles(names, policySpec('strict')), 'clusters/north/cluster.yaml': clusterYaml('north') };
    fleet = await startRelayFleet({ clusters, names, files });
  });
  afterAll(() => fleet?.stop());

  const now = (text: string) => everywhere(sceneContents(names), { 'ConfigMap/web/a': text });
  const warmth = async (cluster: string): Promise<unknown> => {
    const { clusters: seen } = await fleet.a.status();
    const found = seen.find(({ name }) => name === cluster)?.conditions.find(({ type }) => type === 'ClusterWarm');
    return [found?.status, found?.reason];
  };

  it('is not in safe mode: the others get what they should', async () => {
    await setScene(fleet, names);
    expect(await warmth('north')).toEqual(['False', 'ClusterRegistered']);
    expect(await warmth('east')).toEqual(['True', 'FirstSnapshotReceived']);
    expect((await fleet.a.status()).safeMode).toBeNull();
  });

  it('nor after a restart of all servers', async () => {
    await restartAll(fleet, names, { late: [], keeps: true });
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
    await fleet.holds(now('two'));
    expect(await warmth('north')).toEqual(['False', 'ClusterRegistered']);
    for (const { status } of [fleet.a, fleet.b]) expect((await status()).safeMode).toBeNull();
  });

  testInLong(
    'more careful than the seed: with the store it is lost who was warm, and strict waits until told not to',
    async () => {
      await restartAll(fleet, names, { late: [] });
      const before = await fleet.versions();
      await fleet.a.looks.entered(fleet.push({ 'apps/a.yaml': configMapYaml('a', 'three') }));
      for (const replica of [fleet.a, fleet.b]) await waitsFor(replica, 'strict', { north: 'AssumedWarm' });
      expect(await fleet.versions()).toEqual(before);
      fleet.push({ 'clusters/north/cluster.yaml': `${clusterYaml('north')}  skipWarming: true\n` });
      await fleet.holds(now('three'));
    },
  );
});
