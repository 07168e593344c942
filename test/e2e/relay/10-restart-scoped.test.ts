import { afterEach, beforeEach, expect, it } from 'vitest';
import { configMapYaml } from '../../support/manifests.ts';
import { describeOnClusters } from '../../support/on-clusters.ts';
import { type RelayFleet, startRelayFleet } from '../../support/relay-fleet.ts';
import {
  changed,
  everywhere,
  exportService,
  mirrored,
  restartAll,
  sceneContents,
  sceneFiles,
  setScene,
  waitsFor,
} from '../../support/relay-scene.ts';

const names = ['east', 'west', 'north'];

describeOnClusters('Redis and servers restart in scoped safe mode, one agent is late', (clusters) => {
  let fleet: RelayFleet;
  beforeEach(async () => {
    fleet = await startRelayFleet({ clusters, names, files: sceneFiles(names) });
    await setScene(fleet, names);
  });
  afterEach(() => fleet?.stop());

  it.each([
    { what: 'an empty Redis', lost: {}, reason: 'PresumedWarm' },
    {
      what: 'a Redis that has lost one snapshot only',
      lost: { keeps: true, loses: ['clusters/west/live'] },
      reason: 'SnapshotMissing',
    },
  ])('better than the seed, $what: only what could have read the late cluster waits', async ({ lost, reason }) => {
    await restartAll(fleet, names, { late: ['west'], ...lost });
    const before = await fleet.versions();
    fleet.push({
      'apps/a.yaml': configMapYaml('a', 'two'),
      'apps/b.yaml': null,
      'apps/c.yaml': configMapYaml('c', 'new'),
    });
    await exportService(fleet, 'north', 'shop', ['10.3.0.2']);
    const objects = { 'ConfigMap/web/a': 'two', 'ConfigMap/web/b': null, 'ConfigMap/web/c': 'new' };
    const there = { east: { ...objects, ...mirrored('north', 'shop', '10.3.0.2') }, north: objects };
    await fleet.holds(changed(sceneContents(names), there));
    for (const replica of [fleet.a, fleet.b]) await waitsFor(replica, 'scoped', { west: reason });
    const after = await fleet.versions();
    for (const cluster of ['east', 'north']) {
      for (const object of ['Service/web/west-shop', 'EndpointSlice.discovery.k8s.io/web/west-shop-1'])
        expect(after[cluster]?.[object]).toBe(before[cluster]?.[object]);
    }
    expect(after.west).toEqual(before.west);
    await exportService(fleet, 'west', 'shop', ['10.2.0.2']);
    await fleet.agent('west').start();
    await fleet.holds(
      everywhere(
        changed(sceneContents(names), {
          east: { ...mirrored('north', 'shop', '10.3.0.2'), ...mirrored('west', 'shop', '10.2.0.2') },
          west: mirrored('north', 'shop', '10.3.0.2'),
          north: mirrored('west', 'shop', '10.2.0.2'),
        }),
        objects,
      ),
    );
    for (const { looks, status } of [fleet.a, fleet.b]) {
      await looks.summary(/^applied by 3 of 3 clusters$/);
      expect((await status()).safeMode).toBeNull();
    }
  });
});
