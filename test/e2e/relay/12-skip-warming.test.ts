import { afterAll, beforeAll, expect, it } from 'vitest';
import { testInLong } from '../../support/long-tests.ts';
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
const EXCLUDED = `${clusterYaml('west')}  skipWarming: true\n`;
const GONE = { 'Service/web/west-shop': null, 'EndpointSlice.discovery.k8s.io/web/west-shop-1': null };

describeOnDirectories(
  { title: 'a cluster is excluded from safe mode with skipWarming', needs: ['redis-server'] },
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

    /** Its outputs are there again once its agent connects; nothing waits for it once it is included again. */
    const includesAgain = async (objects: Readonly<Record<string, string>>): Promise<void> => {
      await fleet.agent('west').start();
      await holds(everywhere(sceneContents(names), objects));
      const commit = fleet.push({ 'clusters/west/cluster.yaml': clusterYaml('west') });
      for (const { looks, status } of [fleet.a, fleet.b]) {
        await looks.entered(commit);
        await looks.summary(/^applied by 2 of 2 clusters$/);
        expect((await status()).safeMode).toBeNull();
      }
    };

    it('before a restart: translation goes on without it at once', async () => {
      const two = { 'ConfigMap/web/a': 'two' };
      await fleet.a.looks.entered(
        fleet.push({ 'clusters/west/cluster.yaml': EXCLUDED, 'apps/a.yaml': configMapYaml('a', 'two') }),
      );
      await holds(everywhere(expected, two));
      await restartAll(fleet, names, { late: ['west'] });
      await holds(changed(expected, { east: GONE }));
      expect((await fleet.a.status()).safeMode).toBeNull();
      await includesAgain(two);
    });

    testInLong(
      'while safe mode waits for it, without a restart of anything: translation goes on without it',
      async () => {
        const three = { 'ConfigMap/web/a': 'three' };
        await restartAll(fleet, names, { late: ['west'] });
        const before = await fleet.versions();
        await fleet.a.looks.entered(fleet.push({ 'apps/a.yaml': configMapYaml('a', 'three') }));
        for (const replica of [fleet.a, fleet.b]) await waitsFor(replica, 'strict', { west: 'AssumedWarm' });
        expect(await fleet.versions()).toEqual(before);
        fleet.push({ 'clusters/west/cluster.yaml': EXCLUDED });
        await holds(changed(expected, { east: { ...GONE, ...three } }));
        expect((await fleet.versions()).west).toEqual(before.west);
        await includesAgain(three);
      },
    );
  },
);
