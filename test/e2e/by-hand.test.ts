import { afterEach, expect, it } from 'vitest';
import { looksOf } from '../support/fleet-looks.ts';
import { type Fleet, startFleet, until } from '../support/fleet-processes.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';
import { describeOnDirectories } from '../support/on-clusters.ts';

const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'clusters/west/cluster.yaml': clusterYaml('west'),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
  'apps/a.yaml': configMapYaml('a', 'one'),
  'apps/b.yaml': configMapYaml('b', 'one'),
};

describeOnDirectories('what people do by hand in a cluster', (clusters) => {
  let fleet: Fleet;
  const { holds, summary } = looksOf(() => fleet);
  afterEach(async () => fleet.stop());

  const start = async (): Promise<void> => {
    fleet = await startFleet(files, { clusters });
    await fleet.agent('east').start({ args: ['--metrics', '127.0.0.1:0'] });
    await fleet.agent('west').start();
    await summary(/^applied by 2 of 2 clusters$/);
  };

  it('drift: an edited and a removed file are put back, with the server and without it', async () => {
    await start();
    const east = await fleet.cluster('east');
    await east.edit('ConfigMap/web/a', 'one', 'drifted');
    await holds('east', 'ConfigMap/web/a', 'one');
    await fleet.server.kill('SIGKILL');
    await east.remove('ConfigMap/web/b');
    await holds('east', 'ConfigMap/web/b', 'one');
    await fleet.agent('east').kill('SIGKILL');
    await east.edit('ConfigMap/web/a', 'one', 'drifted again');
    await fleet.agent('east').start();
    await holds('east', 'ConfigMap/web/a', 'value: one');
  });

  it('the stop button: nothing is written while it is there', async () => {
    await start();
    const east = await fleet.cluster('east');
    await east.pause(true);
    const up = fleet.agent('east').logs.find(({ message }) => message === 'the agent is up');
    await until('the agent has seen it', async () =>
      (await (await fetch(`${String(up?.health)}/metrics`)).text()).includes(
        'fleetrelay_agent_paused{cluster="east"} 1',
      ),
    );
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
    await holds('west', 'ConfigMap/web/a', 'two');
    await summary(/paused|held/);
    expect(await fleet.live('east', 'ConfigMap/web/a')).toContain('one');
    await east.pause(false);
    await holds('east', 'ConfigMap/web/a', 'two');
  });
});
