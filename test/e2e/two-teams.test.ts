import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SourceAllow } from '../../src/model/fleet/source-rights.ts';
import { type Fleet, PROGRAM, startFleet, until } from '../support/fleet-processes.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../support/manifests.ts';

/** Two repositories of two teams, a server process that follows both, and an agent process in each cluster. */

const SECRET = 'Secret/web/key';
const platform = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'clusters/west/cluster.yaml': clusterYaml('west'),
  'fleet/secrets.yaml': placementYaml('secrets', 'secrets/**', 'names: [east]'),
  'secrets/key.yaml':
    'apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: web}\nstringData: {key: s3cret-value}\n',
};
const team = {
  'stolen.yaml': placementYaml('stolen', 'secrets/**', 'names: [west]'),
  'ours.yaml': placementYaml('ours', 'apps/**', 'names: [west]'),
  'policy.yaml': 'apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata:\n  name: fleet\n',
  'apps/a.yaml': configMapYaml('a', 'one'),
  'clusters/east/b.yaml': configMapYaml('b', 'one'),
};

describe('two teams with a repository each', () => {
  let fleet: Fleet;
  const holds = (cluster: string, object: string, text: string): Promise<string> =>
    until(`${cluster} holds ${object} with ${text}`, async () => {
      const found = await fleet.live(cluster, object);
      return found?.includes(text) === true ? found : undefined;
    });
  const lacks = (cluster: string, object: string): Promise<boolean> =>
    until(`${cluster} lacks ${object}`, async () => (await fleet.live(cluster, object)) === undefined);
  const findings = async (): Promise<readonly string[]> =>
    (
      JSON.parse(await fleet.cli('get', 'diagnostics', '-o', 'json')) as {
        reason: string;
        at: { path: string; line: number };
      }[]
    ).map(({ reason, at }) => `${reason} ${at.path}:${at.line}`);
  /** Nothing that the server does with a push is left to do in a cluster when the push after it has arrived there. */
  const passed = async (value: string): Promise<void> => {
    fleet.push({ 'clusters/west/seen.yaml': configMapYaml('seen', value) });
    await holds('west', 'ConfigMap/web/seen', value);
  };
  /** What the command shows; its exit code is 1 while there are errors. */
  const statusShown = async (): Promise<string> =>
    fleet.cli('status').catch(({ stdout }: { readonly stdout: string }) => stdout);
  const restarted = async (allow: SourceAllow): Promise<void> => {
    await fleet.server.kill('SIGTERM');
    fleet.configure({ allow: { team: allow } });
    await fleet.server.start();
    await until('the agents are connected', async () =>
      (await fleet.status()).clusters.every(({ connected }) => connected),
    );
  };

  beforeAll(async () => {
    fleet = await startFleet(platform, {
      sources: { team },
      config: { allow: { team: { targets: ['west'] } } },
    });
    await fleet.agent('east').start();
    await fleet.agent('west').start();
  });
  afterAll(async () => fleet?.stop());

  it('the second gets nothing of the first by a Placement, and its own objects arrive', async () => {
    await holds('east', SECRET, 'key');
    await holds('west', 'ConfigMap/web/a', 'one');
    await passed('first');
    expect(await fleet.live('west', SECRET)).toBeUndefined();
    expect(await fleet.live('east', 'ConfigMap/web/b')).toBeUndefined();
    await expect(fleet.cli('explain', 'west', SECRET)).rejects.toThrow();
    expect(await fleet.cli('get', 'clusters', '-o', 'json')).not.toContain('s3cret-value');
  });

  it('what the second may not say is a diagnostic at its line, and its source stays complete', async () => {
    expect(await findings()).toEqual(['NotAllowed clusters/east/b.yaml:1', 'NotAllowed policy.yaml:2']);
    const { sources, summary } = await fleet.status();
    expect(sources.map(({ name, reason }) => [name, reason])).toEqual([
      ['fleet', 'Synced'],
      ['team', 'Synced'],
    ]);
    expect(summary).toBe('applied by 2 of 2 clusters');
    expect(await statusShown()).toMatch(
      /applied by 2 of 2 clusters[\s\S]*clusters\/east\/b\.yaml:1:1[\s\S]*may not reach cluster east/,
    );
    // Complete, so that what it deletes is removed.
    fleet.push({ 'apps/c.yaml': configMapYaml('c', 'one') }, 'team');
    await holds('west', 'ConfigMap/web/c', 'one');
    fleet.push({ 'apps/c.yaml': null }, 'team');
    await lacks('west', 'ConfigMap/web/c');
  });

  it('the same is reported for a checkout of the second, without the server', async () => {
    const clone = `${fleet.sandbox.path}/checkout`;
    fleet.sandbox.git(fleet.sandbox.path, 'clone', '--quiet', `${fleet.sandbox.served}/team.git`, clone);
    const args = ['validate', '.', '--config', fleet.configFile, '--source', 'team', '-o', 'json'];
    const { status, stdout } = spawnSync(process.execPath, [PROGRAM, ...args], { cwd: clone, encoding: 'utf8' });
    const { findings: found } = JSON.parse(stdout) as {
      findings: { code: string; at: { path: string; line: number } }[];
    };
    expect(status).toBe(1);
    expect(found.map(({ code, at }) => `${code} ${at.path}:${at.line}`)).toEqual([
      'FR3012 clusters/east/b.yaml:1',
      'FR3012 policy.yaml:2',
    ]);
  });

  it('fewer rights remove nothing, also when its files change', async () => {
    await restarted({ targets: ['north'] });
    fleet.push({ 'apps/a.yaml': configMapYaml('a', 'two') }, 'team');
    await until('the new file is refused', async () => (await findings()).includes('NotAllowed ours.yaml:9'));
    await passed('second');
    expect(await fleet.live('west', 'ConfigMap/web/a')).toContain('one');
    const { clusters } = await fleet.status();
    expect(clusters.find(({ name }) => name === 'west')).toMatchObject({ counts: { held: 1, failed: 0 } });
    expect(await statusShown()).toMatch(/held[\s\S]*may not reach cluster west/);
  });

  it('more rights take effect', async () => {
    await restarted({ targets: ['east', 'west'], files: ['fleet'] });
    await holds('west', 'ConfigMap/web/a', 'two');
    await holds('east', 'ConfigMap/web/b', 'one');
    await holds('west', SECRET, 'key');
    expect(await findings()).toEqual(['NotAllowed policy.yaml:2']);
  });
});
