import { afterEach, beforeEach, expect, it } from 'vitest';
import { configMapYaml } from '../../support/manifests.ts';
import { describeOnClusters } from '../../support/on-clusters.ts';
import { type RelayFleet, startRelayFleet } from '../../support/relay-fleet.ts';
import {
  changed,
  everywhere,
  exportService,
  mirrored,
  policySpec,
  restartAll,
  sceneContents,
  sceneFiles,
  setScene,
  waitsFor,
} from '../../support/relay-scene.ts';

const names = ['east', 'west'];

describeOnClusters('Redis and servers restart in strict safe mode, one agent is late', (clusters) => {
  let fleet: RelayFleet;
  beforeEach(async () => {
    fleet = await startRelayFleet({ clusters, names, files: sceneFiles(names, policySpec('strict')) });
    await setScene(fleet, names);
  });
  afterEach(() => fleet?.stop());

  /** Revisions and snapshots come in, and nothing of what the clusters hold is changed. */
  const nothingChanges = async (reason: string): Promise<void> => {
    const before = await fleet.versions();
    const commit = fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two'), 'apps/b.yaml': null });
    await exportService(fleet, 'east', 'shop', ['10.1.0.2']);
    for (const replica of [fleet.a, fleet.b]) {
      await replica.looks.entered(commit);
      await waitsFor(replica, 'strict', { west: reason });
      await replica.looks.said('east', 'ConfigMap/web/a', 'kept', / of west is missing: safe mode is strict/);
      await replica.looks.said('east', 'ConfigMap/web/b', 'kept', / of west is missing: safe mode is strict/);
    }
    expect([...fleet.a.sent(), ...fleet.b.sent()]).toEqual([]);
    expect(await fleet.versions()).toEqual(before);
    // Not all is well, so it fails.
    const told = await fleet.a.cli('status').catch(({ stdout }: { readonly stdout: string }) => stdout);
    expect(told).toMatch(/^safe mode \(strict\): west: .* Ways out: bring its agent back; /m);
    const metrics = await (await fetch(`${fleet.a.metrics()}/metrics`)).text();
    expect(metrics).toMatch(/^fleetrelay_safe_mode_active\{[^}]*cluster="west"[^}]*\} 1$/m);
    expect(metrics).not.toMatch(/^fleetrelay_safe_mode_active\{[^}]*cluster="east"[^}]*\} 1$/m);
  };
  /** With the last agent everything that has waited happens, and nothing else. */
  const resumes = async (): Promise<void> => {
    const before = await fleet.versions();
    await fleet.agent('west').start();
    await fleet.holds(
      everywhere(changed(sceneContents(names), { west: mirrored('east', 'shop', '10.1.0.2') }), {
        'ConfigMap/web/a': 'two',
        'ConfigMap/web/b': null,
      }),
    );
    const after = await fleet.versions();
    for (const object of ['Service/web/west-shop', 'EndpointSlice.discovery.k8s.io/web/west-shop-1'])
      expect(after.east?.[object]).toBe(before.east?.[object]);
    expect(after.west?.['Service/web/east-shop']).toBe(before.west?.['Service/web/east-shop']);
    for (const { looks, status } of [fleet.a, fleet.b]) {
      await looks.summary(/^applied by 2 of 2 clusters$/);
      expect((await status()).safeMode).toBeNull();
    }
  };

  it('an empty Redis: translation halts until every agent is back', async () => {
    await restartAll(fleet, names, { late: ['west'] });
    await nothingChanges('PresumedWarm');
    await resumes();
  });

  it('a Redis that has lost one snapshot only: the same, and new objects wait as well', async () => {
    await restartAll(fleet, names, { late: ['west'], keeps: true, loses: ['clusters/west/live'] });
    const commit = fleet.push({ 'apps/c.yaml': configMapYaml('c', 'new') });
    await fleet.a.looks.entered(commit);
    await nothingChanges('SnapshotMissing');
    expect((await fleet.contents()).east).not.toHaveProperty(['ConfigMap/web/c']);
    fleet.push({ 'apps/c.yaml': null });
    await resumes();
  });

  it('better than the seed: while Redis still has the snapshot, nothing waits', async () => {
    await restartAll(fleet, names, { late: ['west'], keeps: true });
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
    await fleet.holds(changed(sceneContents(names), { east: { 'ConfigMap/web/a': 'two' } }));
    expect((await fleet.a.status()).safeMode).toBeNull();
  });
});
