import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, expect, it } from 'vitest';
import { type JsonValue, objectOf, objectsOf } from '../../src/model/text/json.ts';
import { type Fleet, STATUS_BRANCH, startFleet, until } from '../support/fleet-processes.ts';
import { testInLong } from '../support/long-tests.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';
import { describeOnDirectories } from '../support/on-clusters.ts';

const typo = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [\n';
const live = (name: string): string => `ConfigMap/web/${name}`;
/** Of conditions, what does not depend on when it was. */
const told = (conditions: unknown): readonly (readonly unknown[])[] =>
  objectsOf(conditions as JsonValue).map(({ type, status, reason, message }) => [type, status, reason, message]);

const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'clusters/west/cluster.yaml': clusterYaml('west'),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
  'apps/a.yaml': configMapYaml('a', 'one'),
  'apps/b.yaml': configMapYaml('b', 'one'),
};

describeOnDirectories('what a fleet survives', (clusters, { capabilities }) => {
  let fleet: Fleet;
  afterEach(async () => fleet.stop());

  const start = async (): Promise<void> => {
    fleet = await startFleet(files, { clusters });
    await fleet.agent('east').start();
    await fleet.agent('west').start();
    await summary(/^applied by 2 of 2 clusters$/);
  };
  const holds = (cluster: string, name: string, text: string): Promise<string> =>
    until(`${cluster} holds ${name} with ${text}`, async () => {
      const file = await fleet.live(cluster, live(name));
      return file?.includes(text) === true ? file : undefined;
    });
  const summary = (text: RegExp): Promise<string> =>
    until(`the summary is ${text}`, async () => {
      const said = (await fleet.status()).summary;
      return text.test(said) ? said : undefined;
    });
  const entered = (commit: string): Promise<true> =>
    until(`${commit} has entered`, async () => (await fleet.status()).sources[0]?.revision === commit || undefined);
  const deltasSent = (): number => fleet.server.logs.filter(({ message }) => message === 'a delta is sent').length;
  const reconnected = (): Promise<boolean> =>
    until('both agents are back', async () => {
      const { clusters: seen } = await fleet.status();
      return seen.length === 2 && seen.every(({ connected, inSync }) => connected && inSync);
    });
  const statusCommits = (): number => Number(fleet.sandbox.git(fleet.bare, 'rev-list', '--count', STATUS_BRANCH));
  /** The branch says of every cluster what the server says: nothing is left to be published. */
  const statusAtRest = (): Promise<boolean> =>
    until('the status is at rest', async () => {
      const { clusters: seen } = await fleet.status();
      return seen.every(
        ({ name, warm, inSync, conditions }) =>
          warm &&
          inSync &&
          isDeepStrictEqual(
            told(objectOf(fleet.statusFile(`clusters/${name}.yaml`)?.status as JsonValue).conditions),
            told(conditions),
          ),
      );
    });
  const statusSays = (text: RegExp): Promise<string> =>
    until(`the status branch says ${text}`, () => {
      const head = fleet.sandbox.git(fleet.bare, 'rev-parse', 'main');
      const said = fleet.statusFile(`revisions/main/${head}.yaml`)?.summary;
      return typeof said === 'string' && text.test(said) ? said : undefined;
    });

  testInLong('an agent that is away: the rest goes on, it repairs by itself, and catches up', async () => {
    await start();
    await fleet.agent('west').kill('SIGKILL');
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
    await holds('east', 'a', 'two');
    expect(await fleet.live('west', live('a'))).toContain('one');
    await statusSays(/^applied by 1 of 2 clusters; waiting for west: disconnected since \d\d:\d\d:\d\dZ$/);
    await fleet.agent('west').start();
    await holds('west', 'a', 'two');
    await statusSays(/^applied by 2 of 2 clusters$/);
  });

  it('a cluster that cannot be looked at: it is not called in sync, and nothing counts as removed', async () => {
    await start();
    const bringBack = await (await fleet.cluster('east')).takeAway();
    const east = async () => (await fleet.status()).clusters.find(({ name }) => name === 'east');
    await until('east is not in sync', async () => (await east())?.inSync === false, 100_000);
    expect((await east())?.message).toMatch(capabilities.cannotLook);
    await bringBack();
    await until('east is in sync again', async () => (await east())?.inSync, 60_000);
    expect(await fleet.live('east', live('a'))).toContain('one');
  });

  it('a server that is killed: it goes on from its store and sends nothing', async () => {
    await start();
    await statusSays(/^applied by 2 of 2 clusters$/);
    await fleet.server.kill('SIGKILL');
    await fleet.server.start();
    await reconnected();
    expect(deltasSent()).toBe(0);
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
    await holds('east', 'a', 'two');
    await statusSays(/^applied by 2 of 2 clusters$/);
    const trees = fleet.sandbox.git(fleet.bare, 'log', '--format=%T', STATUS_BRANCH).split('\n');
    for (const [at, tree] of trees.entries()) expect(tree, 'an equal tree is no commit').not.toBe(trees[at + 1]);
  });

  testInLong('a restart repeats no status commit', async () => {
    await start();
    await statusSays(/^applied by 2 of 2 clusters$/);
    await statusAtRest();
    await fleet.server.kill('SIGTERM');
    const commits = statusCommits();
    const before = fleet.sandbox.git(fleet.bare, 'rev-parse', STATUS_BRANCH);
    await fleet.server.start();
    await reconnected();
    await until(
      'the status branch is known to be right',
      async () => (await fleet.status()).statusBranch?.state === 'synced' || undefined,
    );
    expect(fleet.sandbox.git(fleet.bare, 'diff', before, STATUS_BRANCH)).toBe('');
    expect(statusCommits()).toBe(commits);
  });

  testInLong(
    'a store that is deleted: the ledger is rebuilt from the inventories; nothing is removed or rewritten',
    async () => {
      await start();
      await fleet.server.kill('SIGKILL');
      const before = await fleet.live('east', live('a'));
      for (const name of ['store.db', 'store.db-wal', 'store.db-shm', 'git'])
        rmSync(join(fleet.dataDir, name), { recursive: true, force: true });
      await fleet.server.start();
      await reconnected();
      expect(deltasSent()).toBe(0);
      expect(await fleet.live('east', live('a'))).toBe(before);
      fleet.push({ 'apps/b.yaml': null });
      await until('b is removed', async () => (await fleet.live('east', live('b'))) === undefined);
    },
  );

  it('a bad HEAD met by a fresh server: nothing is removed or rewritten', async () => {
    await start();
    await fleet.server.kill('SIGKILL');
    for (const name of ['store.db', 'store.db-wal', 'store.db-shm', 'git'])
      rmSync(join(fleet.dataDir, name), { recursive: true, force: true });
    const bad = fleet.sandbox.push(fleet.bare, {
      'fleet/placement.yaml': typo,
      'clusters/west/cluster.yaml': typo,
      'apps/b.yaml': null,
    });
    await fleet.server.start();
    await entered(bad);
    await until(
      'east is back',
      async () => (await fleet.status()).clusters.find(({ name }) => name === 'east')?.connected || undefined,
    );
    expect(deltasSent()).toBe(0);
    for (const cluster of ['east', 'west']) {
      expect(await fleet.live(cluster, live('a'))).toContain('one');
      expect(await fleet.live(cluster, live('b'))).toContain('one');
    }
    fleet.push({
      'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
      'clusters/west/cluster.yaml': clusterYaml('west'),
    });
    await until('b is removed', async () => (await fleet.live('west', live('b'))) === undefined);
    expect(await fleet.live('west', live('a'))).toContain('one');
  });

  testInLong('a removal in flight when the stream breaks, and the file is pushed again with a typo', async () => {
    await start();
    fleet.agent('west').signal('SIGSTOP');
    await entered(fleet.push({ 'apps/b.yaml': null }));
    await until('east has removed it', async () => (await fleet.live('east', live('b'))) === undefined);
    await fleet.agent('west').kill('SIGKILL');
    await entered(fleet.push({ 'apps/b.yaml': typo }));
    await fleet.agent('west').start();
    await until(
      'west is back',
      async () => (await fleet.status()).clusters.find(({ name }) => name === 'west')?.connected || undefined,
    );
    await summary(/held/);
    expect(await fleet.live('west', live('b'))).toContain('one');
    fleet.push({ 'apps/b.yaml': configMapYaml('b', 'three') });
    await holds('west', 'b', 'three');
  });

  it('two agents for one name: the second is refused, with a reason that both logs show', async () => {
    await start();
    const impostor = fleet.agent('east-impostor');
    const original = fleet.agent('east');
    await original.kill('SIGKILL');
    await original.start();
    await reconnected();
    await impostor.start({ token: 'east', cluster: 'east' });
    const reason = (logs: Fleet['server']['logs']) =>
      logs.find((line) => JSON.stringify(line).includes('ClusterIdBound'));
    await until('the agent says why', () => reason(impostor.logs));
    await until('the server says why', () => reason(fleet.server.logs));
    expect(await fleet.live('east-impostor', live('a'))).toBeUndefined();
    expect(await fleet.live('east', live('a'))).toContain('one');
  });

  testInLong('an agent of an undeclared cluster is refused, with a reason that both logs show', async () => {
    await start();
    const stranger = fleet.agent('north');
    await stranger.start();
    const reason = (logs: Fleet['server']['logs']) =>
      logs.find((line) => JSON.stringify(line).includes('UnknownCluster'));
    await until('the agent says why', () => reason(stranger.logs));
    await until('the server says why', () => reason(fleet.server.logs));
    await fleet.push({ 'clusters/north/cluster.yaml': clusterYaml('north') });
    await holds('north', 'a', 'one');
  });

  it('a race on the status branch: fetched, rebuilt, pushed again', async () => {
    await start();
    await statusSays(/^applied by 2 of 2 clusters$/);
    fleet.sandbox.push(fleet.bare, { 'notes.txt': 'a note of another person\n' }, { branch: STATUS_BRANCH });
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
    await statusSays(/^applied by 2 of 2 clusters$/);
    const authors = fleet.sandbox.git(fleet.bare, 'log', '--format=%an', STATUS_BRANCH).split('\n');
    expect(authors).toContain('Ada');
    expect(authors[0]).not.toBe('Ada');
  });
});
