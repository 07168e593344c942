import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../support/fleet-processes.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { describeOnDirectories } from '../../support/on-clusters.ts';
import { type Contents, type RelayFleet, startRelayFleet } from '../../support/relay-fleet.ts';
import { changed, exportService, mirrored, sceneContents, sceneFiles, setScene } from '../../support/relay-scene.ts';

const names = ['east', 'west'];

describeOnDirectories({ title: 'an agent disconnects', needs: ['redis-server'] }, (clusters) => {
  let fleet: RelayFleet;
  let expected: Contents = sceneContents(names);
  beforeAll(async () => {
    fleet = await startRelayFleet({ clusters, names, files: sceneFiles(names) });
    await setScene(fleet, names);
  });
  afterAll(() => fleet?.stop());

  /** The other cluster goes on with what the away one said last; nothing else is written. */
  const goesOn = async (text: string): Promise<void> => {
    const before = await fleet.versions();
    fleet.push({ 'apps/a.yaml': configMapYaml('a', text) });
    expected = changed(expected, { east: { 'ConfigMap/web/a': text } });
    await fleet.holds(expected);
    const after = await fleet.versions();
    expect(after).toEqual(changed(before, { east: { 'ConfigMap/web/a': after.east?.['ConfigMap/web/a'] ?? '' } }));
  };

  describe('by SIGKILL', () => {
    it('translation goes on with its last snapshot; nothing that came from it is touched', async () => {
      await fleet.agent('west').kill('SIGKILL');
      for (const { looks } of [fleet.a, fleet.b]) await looks.connected('west', false);
      await goesOn('two');
      // No agent reports this.
      await exportService(fleet, 'west', 'pay', ['10.2.0.9']);
      await goesOn('three');
      for (const replica of [fleet.a, fleet.b]) {
        await replica.looks.summary(/^applied by 1 of 2 clusters; waiting for west: disconnected since /);
        expect((await replica.status()).safeMode).toBeNull();
      }
    });

    it('also by servers that start while it is away: its snapshot comes from Redis', async () => {
      const before = await fleet.versions();
      await Promise.all([fleet.a.kill('SIGKILL'), fleet.b.kill('SIGKILL')]);
      await Promise.all([fleet.a.start(), fleet.b.start()]);
      await fleet.a.looks.connected('east');
      for (const replica of [fleet.a, fleet.b]) {
        await replica.looks.summary(/^applied by 1 of 2 clusters; waiting for west: disconnected since /);
        expect((await replica.status()).safeMode).toBeNull();
      }
      expect([...fleet.a.sent(), ...fleet.b.sent()]).toEqual([]);
      expect(await fleet.versions()).toEqual(before);
      await goesOn('four');
    });
  });

  describe('by SIGSTOP', () => {
    it('it is disconnected, and translation continues with its last snapshot', async () => {
      await fleet.agent('west').start();
      expected = changed(expected, {
        east: mirrored('west', 'pay', '10.2.0.9'),
        west: { 'ConfigMap/web/a': 'four' },
      });
      await fleet.holds(expected);
      fleet.agent('west').signal('SIGSTOP');
      await goesOn('five');
      await until(
        'the agent is disconnected',
        () => fleet.b.said('an agent is disconnected', { cluster: 'west' }),
        60_000,
      );
      await fleet.a.looks.connected('west', false);
      await goesOn('six');
    });
  });
});
