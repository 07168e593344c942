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

describeOnDirectories({ title: 'Redis is back', needs: ['redis-server'] }, (clusters) => {
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
  const refilled = (): Promise<boolean> =>
    until('the store holds both clusters again', async () => {
      const keys = await fleet.redis.command('KEYS', '{fleetrelay}:record:clusters/*');
      return names.every((name) => String(keys).includes(`clusters/${name}/live`));
    });

  it('empty, after SIGKILL: the replicas fill it again, and what had waited goes on', async () => {
    await fleet.redis.kill();
    await exportService(fleet, 'west', 'shop', ['10.2.0.2']);
    const commit = fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
    await Promise.all([fleet.read(fleet.a, commit), fleet.read(fleet.b, commit)]);
    await until('no replica leads', () => !fleet.a.leads() && !fleet.b.leads());
    const before = await fleet.versions();
    expect(await fleet.contents()).toEqual(expected);
    await fleet.redis.restart();
    await holds(
      everywhere(changed(expected, { east: mirrored('west', 'shop', '10.2.0.2') }), { 'ConfigMap/web/a': 'two' }),
    );
    await refilled();
    const after = await fleet.versions();
    const written = (name: string): string[] =>
      Object.keys(before[name] ?? {}).filter((object) => before[name]?.[object] !== after[name]?.[object]);
    expect(written('east')).toEqual(['ConfigMap/web/a', 'EndpointSlice.discovery.k8s.io/web/west-shop-1']);
    expect(written('west')).toEqual(['ConfigMap/web/a']);
  });

  it('a replica that starts now finds in it what it needs, and sends nothing', async () => {
    const before = await fleet.versions();
    await fleet.b.kill('SIGKILL');
    await fleet.b.start();
    await fleet.a.kill('SIGKILL');
    for (const name of names)
      await until(`${name} is at b`, () => fleet.b.said('an agent is connected', { cluster: name }), 60_000);
    await fleet.b.looks.summary(/^applied by 2 of 2 clusters$/);
    expect(fleet.b.sent()).toEqual([]);
    expect(await fleet.versions()).toEqual(before);
    await fleet.a.start();
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'three') });
    await holds(everywhere(expected, { 'ConfigMap/web/a': 'three' }));
  });

  it('as it was, after SIGSTOP and SIGCONT: what had waited goes on', async () => {
    fleet.redis.signal('SIGSTOP');
    const commit = fleet.push({ 'apps/a.yaml': configMapYaml('a', 'four') });
    await fleet.read(fleet.a, commit);
    await fleet.read(fleet.b, commit);
    await until('no replica leads', () => !fleet.a.leads() && !fleet.b.leads());
    expect(await fleet.contents()).toEqual(expected);
    fleet.redis.signal('SIGCONT');
    await holds(everywhere(expected, { 'ConfigMap/web/a': 'four' }));
  });

  it('emptied by FLUSHALL while all run: nothing is written in a cluster, and the next change goes on', async () => {
    const before = await fleet.versions();
    await fleet.redis.command('FLUSHALL');
    await refilled();
    expect(await fleet.versions()).toEqual(before);
    fleet.push({ 'apps/b.yaml': null });
    await exportService(fleet, 'east', 'shop', ['10.1.0.7']);
    await holds(
      everywhere(changed(expected, { west: mirrored('east', 'shop', '10.1.0.7') }), { 'ConfigMap/web/b': null }),
    );
  });

  it('shows nothing of the fleet to who has no relay secret', async () => {
    for (const record of ['admission', 'clusters/east/live', 'registrations/east']) {
      const value = String(await fleet.redis.command('GET', `{fleetrelay}:record:${record}`));
      expect(value.length).toBeGreaterThan(40);
      expect(value).not.toMatch(/sequence|digest|epoch|east/);
    }
  });
});
