import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../support/fleet-processes.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { describeOnClusters } from '../../support/on-clusters.ts';
import { type RelayFleet, type Replica, startRelayFleet } from '../../support/relay-fleet.ts';
import {
  changed,
  everywhere,
  exportService,
  mirrored,
  sceneContents,
  sceneFiles,
  setScene,
} from '../../support/relay-scene.ts';

const names = ['east', 'west'];

describeOnClusters('a replica becomes unavailable', (clusters) => {
  let fleet: RelayFleet;
  beforeEach(async () => {
    fleet = await startRelayFleet({ clusters, names, files: sceneFiles(names) });
    await setScene(fleet, names);
  });
  afterEach(() => fleet?.stop());

  const others = (): { readonly leader: Replica; readonly follower: Replica } =>
    fleet.a.leads() ? { leader: fleet.a, follower: fleet.b } : { leader: fleet.b, follower: fleet.a };
  const allAt = (replica: Replica): Promise<boolean> =>
    until(
      `all agents are at ${replica.name}`,
      () => names.every((cluster) => replica.said('an agent is connected', { cluster })),
      60_000,
    );

  describe.each(['SIGKILL', 'SIGSTOP'] as const)('by %s', (signal) => {
    it('its agents go to the other one, which goes on with all snapshots, and admits when it leads', async () => {
      const { leader, follower } = others();
      await follower.looks.summary(/^applied by 2 of 2 clusters$/);
      const before = await fleet.versions();
      const sent = follower.sent();
      leader.signal(signal);
      // What stands before the replicas has noticed.
      for (const name of names) (await fleet.door(name)).leadTo(follower);
      await allAt(follower);
      await until('the other one leads', () => follower.leads());
      await follower.looks.summary(/^applied by 2 of 2 clusters$/);
      expect(follower.sent()).toEqual(sent);
      expect(await fleet.versions()).toEqual(before);
      fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two'), 'apps/b.yaml': null });
      await exportService(fleet, 'west', 'shop', ['10.2.0.2']);
      await exportService(fleet, 'east', 'shop', ['10.1.0.2']);
      const moved = { east: mirrored('west', 'shop', '10.2.0.2'), west: mirrored('east', 'shop', '10.1.0.2') };
      await fleet.holds(
        everywhere(changed(sceneContents(names), moved), { 'ConfigMap/web/a': 'two', 'ConfigMap/web/b': null }),
      );
    });
  });

  it('the one that does not lead: revisions and snapshots go on as if nothing were', async () => {
    const { leader, follower } = others();
    await follower.kill('SIGKILL');
    await allAt(leader);
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
    await exportService(fleet, 'west', 'shop', ['10.2.0.2']);
    await fleet.holds(
      everywhere(changed(sceneContents(names), { east: mirrored('west', 'shop', '10.2.0.2') }), {
        'ConfigMap/web/a': 'two',
      }),
    );
    expect(leader.said('this replica leads no more')).toBe(false);
  });
});
