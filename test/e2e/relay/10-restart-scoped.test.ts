import { afterAll, beforeAll, expect, it } from 'vitest';
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

const names = ['east', 'west', 'north'];

describeOnDirectories(
  { title: 'Redis and servers restart in scoped safe mode, one agent is late', needs: ['redis-server'] },
  (clusters) => {
    let fleet: RelayFleet;
    let expected: Contents = sceneContents(names);
    beforeAll(async () => {
      fleet = await startRelayFleet({ clusters, names, files: sceneFiles(names, policySpec('scoped') + ROOMY_GUARDS) });
      await setScene(fleet, names);
    });
    afterAll(() => fleet?.stop());

    const holds = (next: Contents): Promise<void> => {
      expected = next;
      return fleet.holds(expected);
    };

    it.each([
      { what: 'an empty Redis', lost: {}, reason: 'AssumedWarm', round: 2 },
      {
        what: 'a Redis that has lost one snapshot only',
        lost: { keeps: true, loses: ['clusters/west/live'] },
        reason: 'SnapshotMissing',
        round: 3,
      },
    ])(
      'better than the seed, $what: only what could have read the late cluster waits',
      async ({ lost, reason, round }) => {
        await restartAll(fleet, names, { late: ['west'], ...lost });
        const before = await fleet.versions();
        const [north, west, added] = [`10.3.0.${round}`, `10.2.0.${round}`, `new-${round}`];
        fleet.push({
          'apps/a.yaml': configMapYaml('a', `${round}`),
          'apps/b.yaml': null,
          'apps/new.yaml': configMapYaml(added, 'new'),
        });
        await exportService(fleet, 'north', 'shop', [north]);
        const objects = {
          'ConfigMap/web/a': `${round}`,
          'ConfigMap/web/b': null,
          [`ConfigMap/web/${added}`]: 'new',
        };
        const there = { east: { ...objects, ...mirrored('north', 'shop', north) }, north: objects };
        await fleet.holds(changed(expected, there));
        for (const replica of [fleet.a, fleet.b]) await waitsFor(replica, 'scoped', { west: reason });
        const after = await fleet.versions();
        for (const cluster of ['east', 'north']) {
          for (const object of ['Service/web/west-shop', 'EndpointSlice.discovery.k8s.io/web/west-shop-1'])
            expect(after[cluster]?.[object]).toBe(before[cluster]?.[object]);
        }
        expect(after.west).toEqual(before.west);
        await exportService(fleet, 'west', 'shop', [west]);
        await fleet.agent('west').start();
        await holds(
          everywhere(
            changed(expected, {
              east: { ...mirrored('north', 'shop', north), ...mirrored('west', 'shop', west) },
              west: mirrored('north', 'shop', north),
              north: mirrored('west', 'shop', west),
            }),
            objects,
          ),
        );
        for (const { looks, status } of [fleet.a, fleet.b]) {
          await looks.summary(/^applied by 3 of 3 clusters$/);
          expect((await status()).safeMode).toBeNull();
        }
        fleet.push({ 'apps/b.yaml': configMapYaml('b', 'again'), 'apps/new.yaml': null });
        await holds(everywhere(expected, { 'ConfigMap/web/b': 'again', [`ConfigMap/web/${added}`]: null }));
      },
    );
  },
);
