import { afterAll, beforeAll, expect, it } from 'vitest';
import { testInLong } from '../../support/long-tests.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { describeOnDirectories } from '../../support/on-clusters.ts';
import { type Contents, type RelayFleet, startRelayFleet } from '../../support/relay-fleet.ts';
import {
  changed,
  everywhere,
  exportService,
  mirrored,
  policySpec,
  ROOMY_GUARDS,
  restartAll,
  sceneContents,
  sceneFiles,
  setScene,
  waitsFor,
} from '../../support/relay-scene.ts';

const names = ['east', 'west'];

describeOnDirectories(
  { title: 'Redis and servers restart in strict safe mode, one agent is late', needs: ['redis-server'] },
  (clusters) => {
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

    /** Revisions and snapshots come in, and nothing of what the clusters hold is changed. */
    const nothingChanges = async (reason: string, value: string, address: string): Promise<void> => {
      const before = await fleet.versions();
      const commit = fleet.push({ 'apps/a.yaml': configMapYaml('a', value), 'apps/b.yaml': null });
      await exportService(fleet, 'east', 'shop', [address]);
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
    const resumes = async (value: string, address: string): Promise<void> => {
      const before = await fleet.versions();
      await fleet.agent('west').start();
      const objects = { 'ConfigMap/web/a': value, 'ConfigMap/web/b': null };
      await holds(everywhere(changed(expected, { west: mirrored('east', 'shop', address) }), objects));
      const after = await fleet.versions();
      for (const object of ['Service/web/west-shop', 'EndpointSlice.discovery.k8s.io/web/west-shop-1'])
        expect(after.east?.[object]).toBe(before.east?.[object]);
      expect(after.west?.['Service/web/east-shop']).toBe(before.west?.['Service/web/east-shop']);
      for (const { looks, status } of [fleet.a, fleet.b]) {
        await looks.summary(/^applied by 2 of 2 clusters$/);
        expect((await status()).safeMode).toBeNull();
      }
    };

    it('better than the seed: while Redis still has the snapshot, nothing waits', async () => {
      await restartAll(fleet, names, { late: ['west'], keeps: true });
      const two = { 'ConfigMap/web/a': 'two' };
      fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
      await fleet.holds(changed(expected, { east: two }));
      expect((await fleet.a.status()).safeMode).toBeNull();
      await fleet.agent('west').start();
      await holds(everywhere(expected, two));
    });

    it('an empty Redis: translation halts until every agent is back', async () => {
      await restartAll(fleet, names, { late: ['west'] });
      await nothingChanges('AssumedWarm', 'three', '10.1.0.3');
      await resumes('three', '10.1.0.3');
    });

    testInLong('a Redis that has lost one snapshot only: the same, and new objects wait as well', async () => {
      fleet.push({ 'apps/b.yaml': configMapYaml('b', 'again') });
      await holds(everywhere(expected, { 'ConfigMap/web/b': 'again' }));
      await restartAll(fleet, names, { late: ['west'], keeps: true, loses: ['clusters/west/live'] });
      const commit = fleet.push({ 'apps/c.yaml': configMapYaml('c', 'new') });
      await fleet.a.looks.entered(commit);
      await nothingChanges('SnapshotMissing', 'four', '10.1.0.4');
      expect((await fleet.contents()).east).not.toHaveProperty(['ConfigMap/web/c']);
      fleet.push({ 'apps/c.yaml': null });
      await resumes('four', '10.1.0.4');
    });
  },
);
