import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnDirectories } from '../../support/on-clusters.ts';
import { type RelayFleet, startRelayFleet } from '../../support/relay-fleet.ts';
import { exportService, mirrored, sceneContents, sceneFiles, setScene } from '../../support/relay-scene.ts';

const names = ['east', 'west'];

describeOnDirectories({ title: 'the initial state', needs: ['redis-server'] }, (clusters) => {
  let fleet: RelayFleet;
  beforeAll(async () => {
    fleet = await startRelayFleet({ clusters, names, files: sceneFiles(names) });
  });
  afterAll(() => fleet?.stop());

  it('agents of different replicas send what they discovered, and outputs are made of all of it', async () => {
    await setScene(fleet, names);
    expect(fleet.a.said('an agent is connected', { cluster: 'east' })).toBe(true);
    expect(fleet.b.said('an agent is connected', { cluster: 'west' })).toBe(true);
    expect(await fleet.contents()).toEqual(sceneContents(names));
  });

  it('every replica says the same of the fleet', async () => {
    for (const { looks } of [fleet.a, fleet.b]) await looks.summary(/^applied by 2 of 2 clusters$/);
    const [a, b] = [await fleet.a.status(), await fleet.b.status()];
    const told = ({ clusters }: typeof a) =>
      clusters.map(({ name, warm, inSync, counts }) => ({ name, warm, inSync, counts }));
    expect(told(a)).toEqual(told(b));
    expect(told(a).map(({ warm, inSync }) => [warm, inSync])).toEqual([
      [true, true],
      [true, true],
    ]);
    expect(a.safeMode).toBeNull();
    expect(b.safeMode).toBeNull();
  });

  it('what an agent discovers anew changes what the others hold, and nothing else is written', async () => {
    const before = await fleet.versions();
    await exportService(fleet, 'west', 'pay', ['10.2.0.9']);
    const initial = sceneContents(names);
    await fleet.holds({ ...initial, east: { ...initial.east, ...mirrored('west', 'pay', '10.2.0.9') } });
    expect(await fleet.versions()).toMatchObject(before);
  });
});
