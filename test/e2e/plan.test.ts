import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PlanView } from '../../src/model/plan/plan.ts';
import { type Fleet, runCli, startFleet, until } from '../support/fleet-processes.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';

const secret = (code: string): string =>
  `apiVersion: v1\nkind: Secret\nmetadata:\n  name: door\n  namespace: web\nstringData:\n  code: ${code}\n`;

const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'clusters/west/cluster.yaml': clusterYaml('west'),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
  'apps/a.yaml': configMapYaml('a', 'one'),
  'apps/b.yaml': configMapYaml('b', 'one'),
  'apps/c.yaml': configMapYaml('c', 'one'),
  'apps/d.yaml': configMapYaml('d', 'one'),
  'apps/f.yaml': configMapYaml('f', 'one'),
  'clusters/east/door.yaml': secret('pass-one'),
};

describe('plans and recordings of a real server', () => {
  let fleet: Fleet;
  const branch = (name: string, changes: Readonly<Record<string, string | null>>): string => {
    fleet.sandbox.git(fleet.bare, 'branch', name, 'main');
    return fleet.sandbox.push(fleet.bare, changes, { branch: name });
  };
  const planned = async (...words: readonly string[]): Promise<PlanView> =>
    JSON.parse(await fleet.cli('plan', ...words, '-o', 'json')) as PlanView;
  const changesIn = (plan: PlanView, cluster: string): readonly string[] =>
    (plan.clusters.find((each) => each.cluster === cluster)?.changes ?? []).map(
      ({ action, object }) => `${action} ${object}`,
    );
  const summary = (text: RegExp): Promise<unknown> =>
    until(`the summary is ${text}`, async () => text.test((await fleet.status()).summary));

  beforeAll(async () => {
    fleet = await startFleet(files);
    await fleet.agent('east').start();
    await fleet.agent('west').start();
    await summary(/^applied by 2 of 2 clusters$/);
  });
  afterAll(async () => fleet.stop());

  it('a branch is planned for each cluster, with fields, lines and masked Secrets', async () => {
    const commit = branch('feature', {
      'apps/a.yaml': configMapYaml('a', 'two'),
      'apps/e.yaml': configMapYaml('e', 'one'),
      'clusters/east/door.yaml': secret('pass-two'),
    });
    const plan = await planned('feature');
    expect(plan).toMatchObject({ source: 'main', revision: commit, summary: { change: 3, create: 2 }, notJudged: [] });
    expect(changesIn(plan, 'east')).toEqual([
      'change ConfigMap/web/a',
      'create ConfigMap/web/e',
      'change Secret/web/door',
    ]);
    expect(changesIn(plan, 'west')).toEqual(['change ConfigMap/web/a', 'create ConfigMap/web/e']);
    const [change] = plan.clusters[1]?.changes ?? [];
    expect(change).toMatchObject({
      fields: [{ path: 'data.value', before: 'one', after: 'two', at: 'apps/a.yaml:7:10' }],
      because: [{ what: '', at: 'apps/a.yaml:1:1' }],
    });
    for (const format of ['table', 'json', 'yaml', 'markdown']) {
      expect(await fleet.cli('plan', 'feature', '-o', format)).not.toMatch(/pass-(one|two)/);
    }
  });

  it('the guards judge it, as they would after the merge', async () => {
    branch('removing', { 'apps/a.yaml': null, 'apps/b.yaml': null, 'apps/c.yaml': null });
    const plan = await planned('removing');
    expect(plan.summary).toMatchObject({ hold: 6, remove: 0 });
    expect(plan.clusters[0]?.changes[0]).toMatchObject({ action: 'hold', reason: 'TooManyRemovals' });
  });

  it('a branch that lags behind does not take back what main has got since', async () => {
    branch('lagging', { 'apps/b.yaml': configMapYaml('b', 'two'), 'apps/d.yaml': configMapYaml('d', 'theirs') });
    const commit = fleet.push({ 'apps/c.yaml': configMapYaml('c', 'two'), 'apps/d.yaml': configMapYaml('d', 'ours') });
    await until('main is admitted', async () => (await fleet.status()).sources[0]?.revision === commit);
    const plan = await planned('lagging');
    expect(changesIn(plan, 'west')).toEqual(['change ConfigMap/web/b', 'change ConfigMap/web/d']);
    expect(plan.warnings).toMatchObject([
      { reason: 'ChangedOnBothSides', message: expect.stringContaining('apps/d.yaml has changed on both sides') },
    ]);
  });

  it('a plan of megabytes arrives whole', async () => {
    const documents = Array.from({ length: 3_000 }, (_, index) => configMapYaml(`n${index}`, 'x'.repeat(200)));
    branch('large', { 'apps/many.yaml': documents.join('---\n') });
    const plan = await planned('large');
    expect(plan.summary).toMatchObject({ create: 6_000 });
    expect(JSON.stringify(plan).length).toBeGreaterThan(500_000);
  });

  it('what is merged does what was planned', async () => {
    const plan = await planned('feature');
    const before = await fleet.live('west', 'ConfigMap/web/b');
    fleet.push({
      'apps/a.yaml': configMapYaml('a', 'two'),
      'apps/e.yaml': configMapYaml('e', 'one'),
      'clusters/east/door.yaml': secret('pass-two'),
    });
    await until('west has e', async () => (await fleet.live('west', 'ConfigMap/web/e')) !== undefined);
    await until('west has the new a', async () => (await fleet.live('west', 'ConfigMap/web/a'))?.includes('two'));
    expect(await fleet.live('west', 'ConfigMap/web/b')).toBe(before);
    await until('nothing is left to plan', async () => (await planned('feature')).clusters.length === 0);
    expect(plan.summary).toMatchObject({ change: 3, create: 2 });
  });

  it.each([
    ['a ref of a fork', 'refs/pull/7/head', /can be of a fork/],
    ['a commit', 'a'.repeat(40), /can be of a fork/],
    ['a branch that is not there', 'nosuch', /has no ref nosuch/],
    ['an option of git', '--upload-pack=x', /unknown option/],
  ])('%s is refused', async (_what, ref, message) => {
    await expect(fleet.cli('plan', ref)).rejects.toThrow(message);
  });

  it('the state is recorded without values of Secrets, and computed again without the server', async () => {
    const folder = join(fleet.sandbox.path, 'recorded');
    mkdirSync(folder);
    const file = join(folder, 'fleet.jsonl.gz');
    await fleet.cli('snapshot', 'record', '--file', file);
    const text = gunzipSync(readFileSync(file)).toString();
    expect(text).not.toMatch(/pass-(one|two)/);
    expect(text).not.toContain(Buffer.from('pass-two').toString('base64'));
    await fleet.server.kill('SIGTERM');
    const replay = await runCli(['snapshot', 'replay', file, '-o', 'json']);
    expect(JSON.parse(replay)).toMatchObject({ differences: [], unknownInputs: [] });
    // A clone of the repository is planned against it.
    const clone = join(folder, 'clone');
    fleet.sandbox.git(folder, 'clone', '-q', fleet.bare, clone);
    const ofClone = JSON.parse(await runCli(['plan', clone, '--snapshot', file, '-o', 'json'])) as PlanView;
    expect(ofClone.clusters).toEqual([]);
    expect(ofClone.notJudged).toEqual(['whether the values of 1 Secret change: a recording has only hashes of them']);
    cpSync(join(clone, 'apps/a.yaml'), join(clone, 'apps/renamed.yaml'));
    fleet.sandbox.git(clone, 'rm', '-q', 'apps/a.yaml');
    const moved = JSON.parse(await runCli(['plan', clone, '--snapshot', file, '-o', 'json'])) as PlanView;
    expect(changesIn(moved, 'west')).toEqual(['move ConfigMap/web/a']);
  });
});
