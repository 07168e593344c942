import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../../support/fleet-processes.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { describeOnDirectories } from '../../support/on-clusters.ts';
import { type Contents, type RelayFleet, startRelayFleet } from '../../support/relay-fleet.ts';
import {
  addressOf,
  changed,
  everywhere,
  exportService,
  policySpec,
  ROOMY_GUARDS,
  restartAll,
  sceneContents,
  sceneFiles,
} from '../../support/relay-scene.ts';

const names = ['east', 'west'];
const typo = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [\n';

describeOnDirectories({ title: "the agent's last word", needs: ['redis-server'] }, (clusters) => {
  let fleet: RelayFleet;
  let expected: Contents = sceneContents(names);
  beforeAll(async () => {
    fleet = await startRelayFleet({ clusters, names, files: sceneFiles(names, policySpec('scoped') + ROOMY_GUARDS) });
  });
  afterAll(() => fleet?.stop());

  const holds = (next: Contents): Promise<void> => {
    expected = next;
    return fleet.holds(expected);
  };
  /** Nothing is left of what servers know, but what they prove themselves with. */
  const forget = (): void => {
    for (const { dataDir } of [fleet.a, fleet.b]) {
      for (const name of readdirSync(dataDir))
        if (name !== 'trust') rmSync(join(dataDir, name), { recursive: true, force: true });
    }
  };
  const loseAll = (late: readonly string[]): Promise<void> => restartAll(fleet, names, { late, meanwhile: forget });

  it('a fresh installation is not held up by clusters that have no agent yet', async () => {
    await fleet.startAgents('east');
    await fleet.holds({ east: { 'ConfigMap/web/a': 'one', 'ConfigMap/web/b': 'one' }, west: {} });
    for (const { status } of [fleet.a, fleet.b]) expect((await status()).safeMode).toBeNull();
    await Promise.all(names.map((name) => exportService(fleet, name, 'shop', [addressOf(names, name)])));
    await fleet.startAgents('west');
    await fleet.holds(expected);
  });

  it('servers, store and Redis are lost: nothing is removed or rewritten, and the next change goes on', async () => {
    const before = await fleet.versions();
    await loseAll([]);
    for (const { looks } of [fleet.a, fleet.b]) await looks.summary(/^applied by 2 of 2 clusters$/);
    expect([...fleet.a.sent(), ...fleet.b.sent()]).toEqual([]);
    expect(await fleet.versions()).toEqual(before);
    fleet.push({ 'apps/b.yaml': null });
    await holds(everywhere(expected, { 'ConfigMap/web/b': null }));
  });

  it('and half of the agents are late: the same, before they come and after', async () => {
    fleet.push({ 'apps/b.yaml': configMapYaml('b', 'again') });
    await holds(everywhere(expected, { 'ConfigMap/web/b': 'again' }));
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
    await until('east is back', () => [fleet.a, fleet.b].some(({ serves }) => serves('east')));
    await fleet.a.looks.connected('east');
    expect([...fleet.a.sent(), ...fleet.b.sent()]).toEqual([]);
    expect(await fleet.versions()).toEqual(before);
    const complete: Readonly<Record<string, string>> = sceneFiles(names);
    fleet.push(
      Object.fromEntries(Object.entries(complete).filter(([path]) => path in broken && path !== 'apps/b.yaml')),
    );
    await holds(everywhere(expected, { 'ConfigMap/web/b': null }));
    const after = await fleet.versions();
    expect(changed(before, Object.fromEntries(names.map((name) => [name, { 'ConfigMap/web/b': null }])))).toEqual(
      after,
    );
  });

  it('a replica that was cut off finds itself behind an agent: it sends nothing until it has caught up', async () => {
    await fleet.leadAgents({ east: [fleet.a, fleet.b], west: [fleet.b, fleet.a] });
    for (const { looks } of [fleet.a, fleet.b]) await looks.summary(/^applied by 2 of 2 clusters$/);
    fleet.b.store.cut();
    await until('b leads no more', () => !fleet.b.leads());
    const first = fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
    await fleet.read(fleet.b, first);
    const split = changed(expected, { east: { 'ConfigMap/web/a': 'two' } });
    await fleet.holds(split);
    const before = await fleet.versions();
    const sent = fleet.b.sent();
    await fleet.leadAgents({ east: [fleet.b] });
    const commit = fleet.push({ 'apps/a.yaml': null, 'apps/c.yaml': configMapYaml('c', 'new') });
    await fleet.read(fleet.b, commit);
    await fleet.a.looks.entered(commit);
    expect(fleet.b.sent()).toEqual(sent);
    expect(await fleet.versions()).toEqual(before);
    fleet.b.store.mend();
    await holds(everywhere(expected, { 'ConfigMap/web/a': null, 'ConfigMap/web/c': 'new' }));
  });
});
