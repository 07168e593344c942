import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../../support/fleet-processes.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { describeOnDirectories } from '../../support/on-clusters.ts';
import { type Contents, type RelayFleet, type Replica, startRelayFleet } from '../../support/relay-fleet.ts';
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

describeOnDirectories({ title: 'a replica is back', needs: ['redis-server'] }, (clusters) => {
  let fleet: RelayFleet;
  let expected: Contents = sceneContents(names);
  let first: Replica;
  let second: Replica;
  beforeAll(async () => {
    fleet = await startRelayFleet({ clusters, names, files: sceneFiles(names) });
    await setScene(fleet, names);
    first = await until('one leads', () => [fleet.a, fleet.b].find((one) => one.leads()));
    second = first === fleet.a ? fleet.b : fleet.a;
  });
  afterAll(() => fleet?.stop());

  const holds = (next: Contents): Promise<void> => {
    expected = next;
    return fleet.holds(expected);
  };
  const agentsGoTo = async (...replicas: readonly Replica[]): Promise<void> => {
    for (const name of names) {
      const door = await fleet.door(name);
      door.leadTo(...replicas);
      door.cut();
      door.mend();
    }
  };
  const connected = (replica: Replica): number =>
    replica.logs.filter(({ message }) => message === 'an agent is connected').length;
  const bothCome = (replica: Replica, before: number): Promise<boolean> =>
    until(`both agents come to ${replica.name}`, () => connected(replica) >= before + 2, 60_000);

  it('after SIGKILL: it follows the one that leads now, and agents that reconnect to it are sent nothing', async () => {
    await first.kill('SIGKILL');
    await agentsGoTo(second);
    await until('the other one leads', () => second.leads());
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
    await holds(everywhere(expected, { 'ConfigMap/web/a': 'two' }));
    const before = await fleet.versions();
    await first.start();
    await first.looks.summary(/^applied by 2 of 2 clusters$/);
    await agentsGoTo(first);
    await bothCome(first, 0);
    await first.looks.summary(/^applied by 2 of 2 clusters$/);
    expect(first.sent()).toEqual([]);
    expect(await fleet.versions()).toEqual(before);
    expect([first.leads(), second.leads()]).toEqual([false, true]);
    await exportService(fleet, 'west', 'shop', ['10.2.0.2']);
    await holds(changed(expected, { east: mirrored('west', 'shop', '10.2.0.2') }));
  });

  it('after SIGSTOP and SIGCONT: what it knew is out of date, and nothing of it is sent or written', async () => {
    const was = connected(first);
    // It serves both agents, and leads no more; the other one leads, and stops.
    second.signal('SIGSTOP');
    await until('the first one leads', () => first.leads());
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'three'), 'apps/b.yaml': null });
    await exportService(fleet, 'west', 'shop', ['10.2.0.3']);
    await holds(
      everywhere(changed(expected, { east: mirrored('west', 'shop', '10.2.0.3') }), {
        'ConfigMap/web/a': 'three',
        'ConfigMap/web/b': null,
      }),
    );
    const before = await fleet.versions();
    const sent = [...first.sent(), ...second.sent()];
    second.signal('SIGCONT');
    await until('it knows that it leads no more', () => !second.leads());
    await second.looks.summary(/^applied by 2 of 2 clusters$/);
    const came = connected(second);
    await agentsGoTo(second, first);
    await bothCome(second, came);
    await second.looks.summary(/^applied by 2 of 2 clusters$/);
    expect([...first.sent(), ...second.sent()]).toEqual(sent);
    expect(await fleet.versions()).toEqual(before);
    expect(connected(first)).toBe(was);
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'four') });
    await holds(everywhere(expected, { 'ConfigMap/web/a': 'four' }));
  });
});
