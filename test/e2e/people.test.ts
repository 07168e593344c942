import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { asking, type Fleet, startFleet, until } from '../support/fleet-processes.ts';
import { createGitSandbox } from '../support/git-sandbox.ts';
import { clusterYaml, configMapYaml, placementYaml, policyYaml } from '../support/manifests.ts';
import { describeOnDirectories } from '../support/on-clusters.ts';

const live = (name: string): string => `ConfigMap/web/${name}`;
const files = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
  'apps/a.yaml': configMapYaml('a', 'one'),
  'apps/b.yaml': configMapYaml('b', 'one'),
  'apps/c.yaml': configMapYaml('c', 'one'),
};

/** `ann` operates, `bob` reads. */
function configOf(tokens: { readonly ann: string; readonly bob: string }, log: string): object {
  return {
    apiVersion: 'fleetrelay.dev/v1alpha1',
    kind: 'RelayConfig',
    fleet: { name: 'test' },
    sources: [{ name: 'main', files: { path: '.' } }],
    http: {
      people: [
        { name: 'ann', role: 'operate', tokenFile: tokens.ann },
        { name: 'bob', role: 'read', tokenFile: tokens.bob },
      ],
    },
    audit: { file: log },
  };
}

describeOnDirectories('what people do', (clusters) => {
  let fleet: Fleet;
  afterEach(async () => fleet.stop());
  const holds = (name: string, text: string): Promise<boolean> =>
    until(
      `east holds ${name} with ${text}`,
      async () => (await fleet.live('east', live(name)))?.includes(text) === true,
    );

  it('approve removals that the guard holds, by the digest that status shows', async () => {
    fleet = await startFleet({ ...files, 'fleet/policy.yaml': policyYaml(1) }, { clusters });
    await fleet.agent('east').start();
    await holds('c', 'one');
    fleet.push({ 'apps/a.yaml': null, 'apps/b.yaml': null });
    const held = await until('removals are held', async () => (await fleet.status()).heldRemovals[0]);
    expect(held.removals.map(({ object }) => object)).toEqual(['ConfigMap/web/a', 'ConfigMap/web/b']);
    expect(await fleet.live('east', live('a'))).toBeDefined();
    await expect(fleet.cli('approve', '0123456789abcdef')).rejects.toThrow(/no held removals|digest/);
    await fleet.cli('approve', held.digest);
    await until('they are gone', async () => {
      const [a, b] = [await fleet.live('east', live('a')), await fleet.live('east', live('b'))];
      return a === undefined && b === undefined;
    });
    expect(await fleet.live('east', live('c'))).toContain('one');
  });

  it('accept a rewritten history, which changes nothing before', async () => {
    fleet = await startFleet(files, { clusters });
    await fleet.agent('east').start();
    await holds('c', 'one');
    const all = { ...files, 'apps/a.yaml': configMapYaml('a', 'rewritten') };
    const rewritten = fleet.push(all, 'fleet', { orphan: true });
    const source = await until('the revision is refused', async () =>
      (await fleet.status()).sources.find(({ state }) => state === 'refused'),
    );
    expect(source.refusedRevision).toBe(rewritten);
    expect(source.message).toContain(`fleetrelay source accept main ${rewritten}`);
    expect(await fleet.live('east', live('a'))).toContain('one');
    await fleet.cli('source', 'accept', 'main', rewritten);
    await holds('a', 'rewritten');
  });

  it('have names and roles; what they do is noted, and what they must not as well', async () => {
    const sandbox = createGitSandbox();
    const file = (name: string, text: string): string => {
      writeFileSync(join(sandbox.path, name), text, { mode: 0o600 });
      return join(sandbox.path, name);
    };
    const tokens = { ann: file('ann', 'the-token-of-ann-here\n'), bob: file('bob', 'the-token-of-bob-here\n') };
    const log = join(sandbox.path, 'audit.log');
    const config = file('relay.json', JSON.stringify(configOf(tokens, log)));
    try {
      fleet = await startFleet(files, { clusters, serve: ['--config', config] });
      const as = (token: string, ...args: string[]): Promise<string> => fleet.cli(...args, '--api-token-file', token);
      const east = async () => JSON.parse(await as(tokens.bob, 'get', 'clusters', '-o', 'json'))[0];
      await fleet.agent('east').start();
      await holds('c', 'one');
      await expect(fleet.cli('status')).rejects.toThrow('an API token');
      expect(await east()).toMatchObject({ suspended: null });
      await expect(as(tokens.bob, 'cluster', 'suspend', 'east')).rejects.toThrow('bob may ask');
      await as(tokens.ann, 'cluster', 'suspend', 'east', '--reason', 'being moved', '--as', 'another person');
      fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') });
      await until('the revision is read', async () => (await as(tokens.bob, 'get', 'outputs')).includes('pending'));
      await fleet.server.kill('SIGKILL');
      // That may have torn an entry.
      appendFileSync(log, '{"id":"half');
      await fleet.server.start();
      const back = await until('east is back', async () => ((await east()).connected ? east() : undefined));
      expect(back.suspended).toMatchObject({ by: 'ann', reason: 'being moved' });
      const metrics = await (await fetch(`${fleet.server.metrics()}/metrics`)).text();
      expect(metrics).toContain('fleetrelay_cluster_suspended{cluster="east"} 1');
      expect((await fetch(`${fleet.server.http()}/metrics`)).status).toBe(404);
      expect(await fleet.live('east', live('a'))).toContain('one');
      await as(tokens.ann, 'cluster', 'resume', 'east');
      await holds('a', 'two');
      await expect(as(tokens.bob, 'audit')).rejects.toThrow('may not read the audit log');
      const entries = JSON.parse(await as(tokens.ann, 'audit', '-o', 'json')) as Record<string, unknown>[];
      expect(entries.map(({ who, act, stage }) => `${who} ${act} ${stage}`)).toEqual([
        'bob clusters/east/suspend refused',
        'ann clusters/east/suspend asked',
        'ann clusters/east/suspend done',
        'ann clusters/east/resume asked',
        'ann clusters/east/resume done',
      ]);
      expect(entries[1]).toMatchObject({ details: { reason: 'being moved' }, from: '127.0.0.1', proof: 'token' });
      expect(readFileSync(log, 'utf8')).not.toContain('-token-of-');
      rmSync(log);
      mkdirSync(log);
      await expect(as(tokens.ann, 'cluster', 'suspend', 'east')).rejects.toThrow('audit log');
    } finally {
      sandbox.remove();
    }
  });

  it('without names show the token that the server has left for its user, or open its socket', async () => {
    const home = mkdtempSync(join(tmpdir(), 'people-home-'));
    const serverEnv = { HOME: home, XDG_STATE_HOME: '' };
    try {
      fleet = await startFleet(files, { clusters, serverEnv });
      const { http, kill, start } = fleet.server;
      const status = async (token = '') =>
        (await fetch(`${http()}/api/v1/status`, { headers: { Authorization: `Bearer ${token}` } })).status;
      const place = join(home, '.local/state/fleetrelay/api', new URL(http()).host.replace(':', '_'));
      const token = readFileSync(place, 'utf8').trim();
      expect(token).toBe(readFileSync(join(fleet.dataDir, 'api-token'), 'utf8').trim());
      expect([await status(), await status(token)]).toEqual([401, 200]);
      await expect(fleet.cli('status')).rejects.toThrow('--api-token-file');
      await fleet.cli('get', 'sources', '--api-token-file', place);
      await kill('SIGTERM');
      expect(existsSync(place)).toBe(false);
      await start();
      expect([await status(token), await status(readFileSync(place, 'utf8').trim())]).toEqual([401, 200]);
      const socket = join(home, 'api.sock');
      const other = fleet.another('other', ['--http', `unix:${socket}`]);
      for (const end of ['SIGKILL', 'SIGTERM'] as const) {
        await other.start();
        expect(statSync(socket).mode & 0o777).toBe(0o600);
        await asking(other).cli('get', 'sources');
        await other.kill(end);
        // Only a server that is killed leaves its socket, and the next one takes its place.
        expect(existsSync(socket)).toBe(end === 'SIGKILL');
      }
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });

  it('edit a plain folder that the server watches', async () => {
    const sandbox = createGitSandbox();
    const folder = join(sandbox.path, 'desired');
    const write = (path: string, text: string): void => {
      mkdirSync(join(folder, path, '..'), { recursive: true });
      writeFileSync(join(folder, path), text);
    };
    for (const [path, text] of Object.entries(files)) write(path, text);
    try {
      fleet = await startFleet(files, { watch: folder, clusters });
      await fleet.agent('east').start();
      await holds('a', 'one');
      write('apps/a.yaml', configMapYaml('a', 'two'));
      await holds('a', 'two');
      rmSync(join(folder, 'apps/b.yaml'));
      await until('b is gone', async () => (await fleet.live('east', live('b'))) === undefined);
      rmSync(folder, { recursive: true });
      await until(
        'the loss is reported',
        async () => (await fleet.status()).sources.some(({ state }) => state !== 'synced') || undefined,
      );
      expect(await fleet.live('east', live('a'))).toContain('two');
    } finally {
      sandbox.remove();
    }
  });
});
