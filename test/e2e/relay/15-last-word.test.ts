import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { until } from '../../support/fleet-processes.ts';
import { configMapYaml, placementYaml } from '../../support/manifests.ts';
import { describeOnClusters } from '../../support/on-clusters.ts';
import { type RelayFleet, startRelayFleet } from '../../support/relay-fleet.ts';
import { changed, everywhere, restartAll, sceneContents, sceneFiles, setScene } from '../../support/relay-scene.ts';

const names = ['east', 'west'];
const typo = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [\n';

describeOnClusters("the agent's last word", (clusters) => {
  let fleet: RelayFleet;
  afterEach(() => fleet?.stop());

  const start = async (): Promise<void> => {
    fleet = await startRelayFleet({ clusters, names, files: sceneFiles(names) });
    await setScene(fleet, names);
  };
  /** Nothing is left of what servers know, but what they prove themselves with. */
  const forget = (): void => {
    for (const { dataDir } of [fleet.a, fleet.b]) {
      for (const name of readdirSync(dataDir))
        if (name !== 'trust') rmSync(join(dataDir, name), { recursive: true, force: true });
    }
  };
  const loseAll = (late: readonly string[]): Promise<void> => restartAll(fleet, names, { late, meanwhile: forget });

  it('servers, store and Redis are lost: nothing is removed or rewritten, and the next change goes on', async () => {
    await start();
    const before = await fleet.versions();
    await loseAll([]);
    for (const { looks } of [fleet.a, fleet.b]) await looks.summary(/^applied by 2 of 2 clusters$/);
    expect([...fleet.a.sent(), ...fleet.b.sent()]).toEqual([]);
    expect(await fleet.versions()).toEqual(before);
    fleet.push({ 'apps/b.yaml': null });
    await fleet.holds(everywhere(sceneContents(names), { 'ConfigMap/web/b': null }));
  });

  it('and half of the agents are late: the same, before they come and after', async () => {
    await start();
    const before = await fleet.versions();
    await loseAll(['west']);
    await fleet.a.looks.summary(/^applied by 0 of 2 clusters; waiting for east: 2 held: .*, west: not connected yet$/);
    expect([...fleet.a.sent(), ...fleet.b.sent()]).toEqual([]);
    expect(await fleet.versions()).toEqual(before);
    await fleet.agent('west').start();
    for (const { looks } of [fleet.a, fleet.b]) await looks.summary(/^applied by 2 of 2 clusters$/);
    expect([...fleet.a.sent(), ...fleet.b.sent()]).toEqual([]);
    expect(await fleet.versions()).toEqual(before);
  });

  it('and HEAD is broken: the same, until it is mended', async () => {
    await start();
    const before = await fleet.versions();
    const broken = {
      'fleet/placement.yaml': typo,
      'fleet/mirror.yaml': typo,
      'clusters/west/cluster.yaml': typo,
      'apps/b.yaml': null,
    };
    let bad = '';
    await restartAll(fleet, [], {
      late: [],
      meanwhile: () => {
        forget();
        bad = fleet.push(broken);
      },
    });
    for (const { looks } of [fleet.a, fleet.b]) await looks.entered(bad);
    await until(
      'east is back',
      () => [fleet.a, fleet.b].some(({ said }) => said('an agent is connected', { cluster: 'east' })),
      60_000,
    );
    await fleet.a.looks.connected('east');
    expect([...fleet.a.sent(), ...fleet.b.sent()]).toEqual([]);
    expect(await fleet.versions()).toEqual(before);
    const { 'apps/b.yaml': _, ...mended } = sceneFiles(names);
    fleet.push({ ...mended, 'fleet/placement.yaml': placementYaml('apps', 'apps/**') });
    await fleet.holds(everywhere(sceneContents(names), { 'ConfigMap/web/b': null }));
    const after = await fleet.versions();
    expect(changed(before, Object.fromEntries(names.map((name) => [name, { 'ConfigMap/web/b': null }])))).toEqual(
      after,
    );
  }, 120_000);

  it('a fresh installation is not held up by clusters that have no agent yet', async () => {
    fleet = await startRelayFleet({ clusters, names, files: sceneFiles(names), replicas: 1 });
    await fleet.agent('east').start();
    await fleet.holds({ east: { 'ConfigMap/web/a': 'one', 'ConfigMap/web/b': 'one' }, west: {} });
    expect((await fleet.a.status()).safeMode).toBeNull();
  });

  it('a replica that was cut off finds itself behind an agent: it sends nothing until it has caught up', async () => {
    fleet = await startRelayFleet({ clusters, names, files: sceneFiles(names) });
    await setScene(fleet, names);
    fleet.b.store.cut();
    await until('b leads no more', () => !fleet.b.leads());
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
    const split = changed(sceneContents(names), { east: { 'ConfigMap/web/a': 'two' } });
    await fleet.holds(split);
    const before = await fleet.versions();
    const sent = fleet.b.sent();
    const east = await fleet.door('east');
    east.leadTo(fleet.b);
    east.cut();
    east.mend();
    await until('east is at b', () => fleet.b.said('an agent is connected', { cluster: 'east' }), 60_000);
    const commit = fleet.push({ 'apps/a.yaml': configMapYaml('a', 'three'), 'apps/b.yaml': null });
    await fleet.read(fleet.b, commit);
    await fleet.a.looks.entered(commit);
    expect(fleet.b.sent()).toEqual(sent);
    expect(await fleet.versions()).toEqual(before);
    fleet.b.store.mend();
    await fleet.holds(everywhere(sceneContents(names), { 'ConfigMap/web/a': 'three', 'ConfigMap/web/b': null }));
  });
});
