import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../../support/fleet-processes.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { describeOnDirectories } from '../../support/on-clusters.ts';
import { type Contents, type RelayFleet, startRelayFleet } from '../../support/relay-fleet.ts';
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

describeOnDirectories({ title: 'an agent reconnects', needs: ['redis-server'] }, (clusters) => {
  let fleet: RelayFleet;
  let expected: Contents = sceneContents(names);
  beforeAll(async () => {
    fleet = await startRelayFleet({ clusters, names, files: sceneFiles(names) });
    await setScene(fleet, names);
  });
  afterAll(() => fleet?.stop());

  const holds = (next: Contents): Promise<void> => {
    expected = next;
    return fleet.holds(expected);
  };
  const inSync = async (): Promise<void> => {
    for (const { looks } of [fleet.a, fleet.b]) await looks.summary(/^applied by 2 of 2 clusters$/);
  };

  it('when nothing has changed, nothing is sent and nothing is written', async () => {
    await inSync();
    const before = await fleet.versions();
    const sent = [...fleet.a.sent(), ...fleet.b.sent()];
    await fleet.agent('west').kill('SIGKILL');
    await fleet.a.looks.connected('west', false);
    await fleet.agent('west').start();
    await fleet.a.looks.connected('west');
    await inSync();
    expect([...fleet.a.sent(), ...fleet.b.sent()]).toEqual(sent);
    expect(await fleet.versions()).toEqual(before);
  });

  it('at another replica: it gets what it missed, the others what changed there, and nothing else is written', async () => {
    const before = await fleet.versions();
    await fleet.agent('west').kill('SIGKILL');
    await fleet.b.looks.connected('west', false);
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two'), 'apps/b.yaml': null });
    await exportService(fleet, 'west', 'shop', ['10.2.0.2', '10.2.0.3']);
    await holds(changed(expected, { east: { 'ConfigMap/web/a': 'two', 'ConfigMap/web/b': null } }));
    (await fleet.door('west')).leadTo(fleet.a, fleet.b);
    await fleet.agent('west').start();
    await holds(
      everywhere(changed(expected, { east: mirrored('west', 'shop', '10.2.0.2 10.2.0.3') }), {
        'ConfigMap/web/a': 'two',
        'ConfigMap/web/b': null,
      }),
    );
    expect(fleet.a.said('an agent is connected', { cluster: 'west' })).toBe(true);
    const after = await fleet.versions();
    for (const [cluster, object] of [
      ['east', 'Service/web/west-shop'],
      ['west', 'Service/web/east-shop'],
      ['west', 'EndpointSlice.discovery.k8s.io/web/east-shop-1'],
    ] as const) {
      expect(after[cluster]?.[object]).toBe(before[cluster]?.[object]);
    }
    await inSync();
  });

  it('what was changed by hand in its cluster meanwhile is put back, and what went there goes elsewhere', async () => {
    await fleet.agent('west').kill('SIGKILL');
    const west = await fleet.cluster('west');
    await west.edit('ConfigMap/web/a', 'two', 'by hand');
    await west.remove('Service/web/east-shop');
    await west.remove('EndpointSlice.discovery.k8s.io/web/shop-1');
    await west.remove('Service/web/shop');
    await fleet.agent('west').start();
    await holds(
      changed(expected, {
        east: { 'Service/web/west-shop': null, 'EndpointSlice.discovery.k8s.io/web/west-shop-1': null },
      }),
    );
    await inSync();
  });

  it('after SIGSTOP and SIGCONT, and after a cut line: it catches up', async () => {
    fleet.agent('west').signal('SIGSTOP');
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'three') });
    await holds(changed(expected, { east: { 'ConfigMap/web/a': 'three' } }));
    fleet.agent('west').signal('SIGCONT');
    await holds(changed(expected, { west: { 'ConfigMap/web/a': 'three' } }));
    const door = await fleet.door('west');
    door.cut();
    await until('the agent is disconnected', async () => {
      const { clusters: seen } = await fleet.b.status();
      return seen.find(({ name }) => name === 'west')?.connected === false;
    });
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'four') });
    await exportService(fleet, 'west', 'shop', ['10.2.0.4']);
    await holds(changed(expected, { east: { 'ConfigMap/web/a': 'four' } }));
    door.mend();
    await holds(changed(expected, { east: mirrored('west', 'shop', '10.2.0.4'), west: { 'ConfigMap/web/a': 'four' } }));
    await inSync();
  });
});
