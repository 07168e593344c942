import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../../support/fleet-processes.ts';
import { isLong } from '../../support/long.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { describeOnDirectories } from '../../support/on-clusters.ts';
import { type RelayFleet, startRelayFleet } from '../../support/relay-fleet.ts';
import {
  changed,
  everywhere,
  exportService,
  mirrored,
  sceneContents,
  sceneFiles,
  setScene,
} from '../../support/relay-scene.ts';

const names = ['east', 'west', 'north'];

describeOnDirectories({ title: 'Redis becomes unavailable', needs: ['redis-server'] }, (clusters) => {
  let fleet: RelayFleet;
  afterEach(() => fleet?.stop());

  const start = async (replicas: 1 | 2): Promise<void> => {
    fleet = await startRelayFleet({ clusters, names, replicas, files: sceneFiles(names) });
    // East and west at one replica, north at the other.
    (await fleet.door('west')).leadTo(fleet.a, fleet.b);
    (await fleet.door('north')).leadTo(fleet.b, fleet.a);
    await setScene(fleet, names);
  };
  const noticed = (): Promise<boolean> =>
    until('every replica has noticed', () =>
      [fleet.a, fleet.b].every(({ said }) => said('the store does not answer; changes are kept in memory')),
    );

  describe.each(isLong ? (['SIGKILL', 'SIGSTOP'] as const) : (['SIGKILL'] as const))('by %s', (signal) => {
    it('translation goes on with what is in the memory of each replica; revisions wait, and nothing goes', async () => {
      await start(2);
      const before = await fleet.versions();
      fleet.redis.signal(signal);
      await exportService(fleet, 'west', 'shop', ['10.2.0.2']);
      const moved = changed(sceneContents(names), { east: mirrored('west', 'shop', '10.2.0.2') });
      await fleet.holds(moved);
      const commit = fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two'), 'apps/b.yaml': null });
      await Promise.all([fleet.read(fleet.a, commit), fleet.read(fleet.b, commit), noticed()]);
      await until('no replica leads', () => !fleet.a.leads() && !fleet.b.leads());
      await exportService(fleet, 'west', 'shop', ['10.2.0.3']);
      await fleet.holds(changed(moved, { east: mirrored('west', 'shop', '10.2.0.3') }));
      const after = await fleet.versions();
      const slice = 'EndpointSlice.discovery.k8s.io/web/west-shop-1';
      expect(after).toEqual(changed(before, { east: { [slice]: after.east?.[slice] ?? '' } }));
      for (const { status } of [fleet.a, fleet.b]) {
        const { clusters, sources } = await status();
        expect(clusters.filter(({ connected }) => connected)).toHaveLength(3);
        expect(sources[0]?.revision).not.toBe(commit);
      }
    });
  });

  it('a single replica admits revisions all the same', async () => {
    await start(1);
    await fleet.redis.kill();
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two'), 'apps/b.yaml': null });
    await fleet.holds(everywhere(sceneContents(names), { 'ConfigMap/web/a': 'two', 'ConfigMap/web/b': null }));
    expect(fleet.a.said('the store does not answer; changes are kept in memory')).toBe(true);
  });
});
