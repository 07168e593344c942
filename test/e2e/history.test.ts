import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DeltaView } from '../../src/api/history-api.ts';
import type { WhyNotView } from '../../src/api/why-api.ts';
import { type Fleet, startFleet, until } from '../support/fleet-processes.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';

const files = {
  'clusters/east/cluster.yaml': clusterYaml('east', { env: 'test' }),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
  'fleet/prod.yaml': placementYaml('prod', 'prod/**', 'selector: {matchLabels: {env: prod}}'),
  'apps/a.yaml': configMapYaml('a', 'one'),
  'apps/b.yaml': configMapYaml('b', 'one'),
  'prod/c.yaml': configMapYaml('c', 'one'),
};

describe('what was sent, why not, and what a file reaches, of a real server', () => {
  let fleet: Fleet;
  const history = async (...words: readonly string[]): Promise<readonly DeltaView[]> =>
    JSON.parse(await fleet.cli('history', 'east', ...words, '-o', 'json')) as readonly DeltaView[];
  const told = async (): Promise<readonly string[]> =>
    (await history()).map(({ revisions, answer, objects }) => {
      const shown = objects.map(({ object, change, state }) => `${change} ${object} ${state}`);
      return [revisions[0]?.revision, answer.state, ...shown].join(', ');
    });

  beforeAll(async () => {
    fleet = await startFleet(files);
    await fleet.agent('east').start();
  });
  afterAll(async () => fleet.stop());

  it('history names the commits, and outlasts a server that is killed', async () => {
    const first = fleet.sandbox.git(fleet.bare, 'rev-parse', 'main');
    const placed = `${first}, accepted, create ConfigMap/web/a applied, create ConfigMap/web/b applied`;
    await until('all is applied', async () => (await told())[0] === placed);
    const second = fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two'), 'apps/b.yaml': null });
    const changed = `${second}, accepted, remove ConfigMap/web/b removed, change ConfigMap/web/a applied`;
    await until('the push is applied', async () => (await told())[0] === changed);
    // Maybe before the results are written: then they are known again when the agent connects.
    await fleet.server.kill('SIGKILL');
    await fleet.server.start();
    await until('the next server knows it', async () => (await told())[0] === changed);
    expect(await told()).toEqual([changed, placed]);
    const third = fleet.push({ 'apps/a.yaml': configMapYaml('a', 'three') });
    await until('it goes on', async () => (await told())[0] === `${third}, accepted, change ConfigMap/web/a applied`);
    expect((await told()).slice(1)).toEqual([changed, placed]);
    expect((await history('cm/b', '--limit', '1'))[0]?.objects).toMatchObject([
      { object: 'ConfigMap/web/b', change: 'remove', reason: 'revision', from: { path: 'apps/b.yaml' } },
    ]);
    expect(await fleet.cli('history', 'east')).toContain(`main@${third.slice(0, 12)}*`);
  });

  it('--why-not names the label, and impact the clusters', async () => {
    const answer = JSON.parse(await fleet.cli('explain', 'east', 'cm/c', '--why-not', '-o', 'json')) as WhyNotView;
    expect(answer.reasons).toMatchObject([
      {
        reason: 'NotSelected',
        message:
          'Placement prod selects its file, but not cluster east: it wants label env "prod", and the cluster has "test"',
        at: expect.stringMatching(/^fleet\/prod\.yaml:9:\d+@[0-9a-f]{12}$/),
      },
    ]);
    expect(await fleet.cli('impact', 'apps/a.yaml:1')).toMatch(/ConfigMap\/web\/a .*: it is placed in 1 cluster\n/);
    expect(await fleet.cli('impact', 'prod/c.yaml')).toContain('it reaches nothing');
  });
});
