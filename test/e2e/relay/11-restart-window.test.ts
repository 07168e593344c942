import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../../support/fleet-processes.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { describeOnDirectories } from '../../support/on-clusters.ts';
import { type RelayFleet, startRelayFleet } from '../../support/relay-fleet.ts';
import {
  changed,
  policySpec,
  restartAll,
  sceneContents,
  sceneFiles,
  setScene,
  waitsFor,
} from '../../support/relay-scene.ts';

const names = ['east', 'west'];
/** Long enough that a busy machine cannot leave the window, in seconds. */
const LONG_S = 3_600;
const GONE = { 'Service/web/west-shop': null, 'EndpointSlice.discovery.k8s.io/web/west-shop-1': null };

describeOnDirectories(
  { title: 'Redis and servers restart with a safe start window, one agent is late', needs: ['redis-server'] },
  (clusters) => {
    let fleet: RelayFleet;
    let restarted = 0;
    beforeAll(async () => {
      fleet = await startRelayFleet({ clusters, names, files: sceneFiles(names, policySpec('off', LONG_S)) });
      await setScene(fleet, names);
    });
    afterAll(() => fleet?.stop());

    it('inside the window what could have read the late cluster waits; better than the seed: the rest does not', async () => {
      await restartAll(fleet, names, {
        late: ['west'],
        meanwhile: () => {
          restarted = performance.now();
        },
      });
      const before = await fleet.versions();
      fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
      await fleet.holds(changed(sceneContents(names), { east: { 'ConfigMap/web/a': 'two' } }));
      await waitsFor(fleet.a, 'off', { west: 'AssumedWarm' });
      const after = await fleet.versions();
      expect({ ...after.east, 'ConfigMap/web/a': '' }).toEqual({ ...before.east, 'ConfigMap/web/a': '' });
      expect(after.west).toEqual(before.west);
    });

    it('after it, which the policy may bring nearer, translation goes on with what is there', async () => {
      // Its end, counted from the start of the servers, is some seconds ahead.
      const soon = Math.ceil((performance.now() - restarted) / 1_000) + 5;
      const commit = fleet.push({ 'fleet/policy.yaml': policySpec('off', soon) });
      await fleet.a.looks.entered(commit);
      await fleet.holds(changed(sceneContents(names), { east: { ...GONE, 'ConfigMap/web/a': 'two' } }));
      await until('no cluster waits', async () => (await fleet.a.status()).safeMode === null);
    });

    it('the objects of the late agent are there again once it connects', async () => {
      await fleet.agent('west').start();
      const all = { 'ConfigMap/web/a': 'two' };
      await fleet.holds(changed(sceneContents(names), { east: all, west: all }));
    });
  },
);
