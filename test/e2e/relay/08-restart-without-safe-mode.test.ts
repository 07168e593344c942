import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../../support/fleet-processes.ts';
import { describeOnDirectories } from '../../support/on-clusters.ts';
import { type RelayFleet, startRelayFleet } from '../../support/relay-fleet.ts';
import { changed, policySpec, restartAll, sceneContents, sceneFiles, setScene } from '../../support/relay-scene.ts';

const names = ['east', 'west'];
const GONE = { 'Service/web/west-shop': null, 'EndpointSlice.discovery.k8s.io/web/west-shop-1': null };

describeOnDirectories(
  {
    title: 'Redis and servers restart without safe mode and without a window, one agent is late',
    needs: ['redis-server'],
  },
  (clusters) => {
    let fleet: RelayFleet;
    afterEach(() => fleet?.stop());

    const start = async (guards = ''): Promise<void> => {
      const policy = `${policySpec('off', 0)}${guards}`;
      fleet = await startRelayFleet({ clusters, names, files: sceneFiles(names, policy) });
      await setScene(fleet, names);
      await restartAll(fleet, names, { late: ['west'] });
    };

    describe('with guards that let it pass', () => {
      it('as in the seed: translation continues without the late cluster, which takes part again once its agent connects', async () => {
        await start();
        const before = (await fleet.versions()).west;
        await fleet.holds(changed(sceneContents(names), { east: GONE }));
        expect((await fleet.a.status()).safeMode).toBeNull();
        expect((await fleet.versions()).west).toEqual(before);
        await fleet.agent('west').start();
        await fleet.holds(sceneContents(names));
        for (const { looks } of [fleet.a, fleet.b]) await looks.summary(/^applied by 2 of 2 clusters$/);
      });
    });

    describe('with guards that are tighter', () => {
      it('better than the seed: what would go is held for a person, and let go of when the agent is back', async () => {
        await start('  guards: {maxRemovalsPerCluster: 1}\n');
        const before = await fleet.versions();
        const leader = await until('one leads', () => [fleet.a, fleet.b].find((one) => one.leads()));
        await leader.looks.said('east', 'Service/web/west-shop', 'held');
        await leader.looks.said('east', 'EndpointSlice.discovery.k8s.io/web/west-shop-1', 'held');
        expect(await fleet.versions()).toEqual(before);
        await fleet.agent('west').start();
        for (const { looks } of [fleet.a, fleet.b]) await looks.summary(/^applied by 2 of 2 clusters$/);
        expect((await leader.status()).heldRemovals).toEqual([]);
        expect(await fleet.versions()).toEqual(before);
      });
    });
  },
);
