import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../support/fleet-processes.ts';
import { configMapYaml } from '../../support/manifests.ts';
import { describeOnDirectories } from '../../support/on-clusters.ts';
import { type Contents, type RelayFleet, type Replica, startRelayFleet } from '../../support/relay-fleet.ts';
import {
  changed,
  everywhere,
  exportService,
  mirrored,
  policySpec,
  ROOMY_GUARDS,
  sceneContents,
  sceneFiles,
  setScene,
} from '../../support/relay-scene.ts';

const names = ['east', 'west'];

describeOnDirectories({ title: 'a replica becomes unavailable', needs: ['redis-server'] }, (clusters) => {
  let fleet: RelayFleet;
  let expected: Contents = sceneContents(names);
  let round = 1;
  beforeAll(async () => {
    fleet = await startRelayFleet({ clusters, names, files: sceneFiles(names, policySpec('scoped') + ROOMY_GUARDS) });
    await setScene(fleet, names);
  });
  afterAll(() => fleet?.stop());
  beforeEach(async () => {
    await fleet.leadAgents({ east: [fleet.a, fleet.b], west: [fleet.b, fleet.a] });
    for (const { looks } of [fleet.a, fleet.b]) await looks.summary(/^applied by 2 of 2 clusters$/);
    round += 1;
  });

  const holds = (next: Contents): Promise<void> => {
    expected = next;
    return fleet.holds(expected);
  };
  const allAt = async (replica: Replica): Promise<void> => {
    for (const name of names) await until(`${name} is at ${replica.name}`, () => replica.serves(name));
  };
  const here = (): string => `10.1.0.${round}`;
  const there = (): string => `10.2.0.${round}`;

  it('the one that does not lead: revisions and snapshots go on as if nothing were', async () => {
    const { leader, follower } = await fleet.roles();
    await follower.kill('SIGKILL');
    await allAt(leader);
    fleet.push({ 'apps/a.yaml': configMapYaml('a', `${round}`) });
    await exportService(fleet, 'west', 'shop', [there()]);
    const moved = { east: mirrored('west', 'shop', there()) };
    await holds(everywhere(changed(expected, moved), { 'ConfigMap/web/a': `${round}` }));
    expect(leader.said('this replica does not lead any more')).toBe(false);
    await follower.start();
  });

  const ways = [
    { signal: 'SIGKILL', comesBack: (replica: Replica) => replica.start() },
    {
      signal: 'SIGSTOP',
      comesBack: async (replica: Replica) => {
        replica.signal('SIGCONT');
        await until('it leads no more', () => !replica.leads());
      },
    },
  ] as const;
  describe.each(ways)('by $signal', ({ signal, comesBack }) => {
    it('its agents go to the other one, which goes on with all snapshots, and admits when it leads', async () => {
      const { leader, follower } = await fleet.roles();
      const before = await fleet.versions();
      const sent = follower.sent();
      if (signal === 'SIGKILL') await leader.kill(signal);
      else leader.signal(signal);
      // What stands before the replicas has noticed.
      for (const name of names) (await fleet.door(name)).leadTo(follower);
      await allAt(follower);
      await until('the other one leads', () => follower.leads());
      await follower.looks.summary(/^applied by 2 of 2 clusters$/);
      expect(follower.sent()).toEqual(sent);
      expect(await fleet.versions()).toEqual(before);
      const file = `apps/${signal.toLowerCase()}.yaml`;
      fleet.push({ 'apps/a.yaml': configMapYaml('a', `${round}`), [file]: configMapYaml('new', signal) });
      await exportService(fleet, 'west', 'shop', [there()]);
      await exportService(fleet, 'east', 'shop', [here()]);
      const moved = { east: mirrored('west', 'shop', there()), west: mirrored('east', 'shop', here()) };
      const next = { 'ConfigMap/web/a': `${round}`, 'ConfigMap/web/new': signal };
      await holds(everywhere(changed(expected, moved), next));
      fleet.push({ [file]: null });
      await holds(everywhere(expected, { 'ConfigMap/web/new': null }));
      await comesBack(leader);
    });
  });
});
