import { afterEach, describe, expect, test } from 'vitest';
import { LISTED_KINDS } from '../../../src/cli/lists/wanted.ts';
import { engineDomains } from '../../../src/domains/engines.ts';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import { createEngine } from '../../../src/engine/graph.ts';
import type { ViewFilter } from '../../../src/model/fleet/view-filter.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { type CliRun, runCli } from '../../support/cli.ts';
import { type RunningServer, runServer } from '../../support/running-server.ts';
import { clusterView, fakeApi, HELD_DIGEST } from '../../support/server-api.ts';

const running: RunningServer[] = [];

afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

async function server(api = fakeApi()) {
  const started = await runServer({ api }, {});
  running.push(started);
  const env = { FLEETRELAY_API: started.url, FLEETRELAY_USER: 'ann' };
  const ask = (line: string, over: Parameters<typeof runCli>[1] = {}): Promise<CliRun> =>
    runCli(line.split(' '), { ...over, env });
  return { api, ask };
}

describe('get', () => {
  test.each(['clusters', 'outputs', 'sources', 'removals', 'diagnostics'])('%s lists', async (what) => {
    const { ask } = await server();
    const { code, out } = await ask(`get ${what}`);
    expect(code).toBe(0);
    expect(out.split('\n').length).toBeGreaterThan(2);
    expect(Array.isArray(JSON.parse((await ask(`get ${what} -o json`)).out))).toBe(true);
  });

  test('diagnostics have the stable code of their reason, in the table and as JSON', async () => {
    const { ask } = await server();
    const [titles = '', row = ''] = (await ask('get diagnostics')).out.split('\n');
    expect([titles.trim().split(/ {2,}/), row.trim().split(/ {2,}/)]).toEqual([
      ['SEVERITY', 'WHERE', 'CODE', 'REASON', 'MESSAGE'],
      ['error', 'clusters/east/web.yaml:3:5', 'FR1010', 'YamlSyntax', 'bad indentation'],
    ]);
    expect(JSON.parse((await ask('get diagnostics -o json')).out)).toMatchObject([{ code: 'FR1010' }]);
  });

  test('every view of the engine is a kind', () => {
    const views = createEngine(createGraph(), engineDomains).domains.flatMap(({ report: { shows } }) =>
      Object.keys(shows?.views ?? {}),
    );
    expect(views).toContain('mirrored-services');
    expect(LISTED_KINDS.map(({ name }) => name)).toEqual(expect.arrayContaining(views));
  });

  test('-o wide has more columns than the table, of each kind', () => {
    for (const { name, columns } of LISTED_KINDS) {
      expect([name, columns.some(({ isWide }) => isWide === true)]).toEqual([name, true]);
    }
  });

  test('no word means two kinds', () => {
    const words = LISTED_KINDS.flatMap(({ name, words: others }) => [name, ...others]);
    expect(words.length).toBe(new Set(words).size);
  });

  test('data planes and services are tables in words, and the filters reach the server', async () => {
    const asked: unknown[] = [];
    const rows: Record<string, JsonObject> = {
      dataplanes: {
        mesh: 'default',
        name: 'db',
        status: 'Offline',
        notes: [],
        connection: { state: 'never' },
        stale: true,
      },
      services: {
        ...{ mesh: 'default', name: 'db', status: 'partially_degraded', serviceType: 'internal' },
        ...{
          dataplanes: { total: 3, online: 2, offline: 1 },
          endpoints: { ready: 5, total: 6 },
          zones: ['east', 'west'],
        },
      },
    };
    const view = (name: string, filter: ViewFilter) => {
      asked.push(filter);
      const row = rows[name];
      return { ok: true, value: row === undefined ? [] : [row] } as const;
    };
    const { ask } = await server({ ...fakeApi(), view });
    const filter = '--mesh default --cluster east --tag kuma.io/service=a=b&c --tag x=';
    expect((await ask(`get dataplanes ${filter}`)).out).toMatch(/default +db +- +Offline \(stale\) +never +- *$/m);
    expect((await ask('get services')).out).toMatch(/default +db +Partially degraded +2\/3 +5\/6 +east, west$/m);
    expect(JSON.parse((await ask('get services -o json')).out)).toEqual([rows.services]);
    expect(asked[0]).toEqual({ mesh: ['default'], cluster: ['east'], tag: ['kuma.io/service=a=b&c', 'x='] });
    expect(asked[1]).toEqual({});
    delete rows.dataplanes;
    expect((await ask('get dataplanes --mesh nowhere --tag version=v2')).out).toBe(
      'no data planes match --mesh nowhere --tag version=v2\n',
    );
    expect((await ask('get dataplanes')).out).toBe('no data planes\n');
  });

  test('Shoots have the columns of Gardener, and with -o wide each condition', async () => {
    const row: JsonObject = {
      ...{ namespace: 'garden-web', name: 'blue', cluster: 'blue', cloudProfile: 'aws', provider: 'aws' },
      ...{ region: 'eu-west-1', seed: '<none>', k8sVersion: '1.33.2', hibernation: 'Awake' },
      ...{ lastOperation: 'Reconcile Succeeded (100%)', status: 'progressing', purpose: 'production' },
      ...{ gardenerVersion: '1.2.3', apiServer: 'True', control: 'Progressing', observability: 'True' },
      ...{ nodes: '<unknown>', system: 'True' },
    };
    const old = { ...row, name: 'red', creationTimestamp: '2001-01-01T00:00:00Z', live: true, stale: true };
    const view = (name: string, { cluster }: ViewFilter) =>
      ({ ok: true, value: name === 'shoots' && cluster === undefined ? [row, old] : [] }) as const;
    const { ask } = await server({ ...fakeApi(), view });
    const cells = async (question: string) =>
      (await ask(question)).out
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {3,}/).map((cell) => cell.trim()));
    const [titles, blue, red] = await cells('get shoots');
    expect(titles).toEqual([
      ...['NAMESPACE', 'NAME', 'CLOUDPROFILE', 'PROVIDER', 'REGION', 'K8S VERSION', 'HIBERNATION'],
      ...['LAST OPERATION', 'STATUS', 'AGE'],
    ]);
    expect(blue?.slice(-4)).toEqual(['Awake', 'Reconcile Succeeded (100%)', 'progressing', '<unknown>']);
    expect(red?.slice(-2)).toEqual(['progressing (stale)', expect.stringMatching(/^\d+y$/)]);
    const [wide, ...rest] = await cells('get shoots garden-web/blue -o wide');
    expect(wide).toEqual([
      ...['NAMESPACE', 'NAME', 'CLOUDPROFILE', 'PROVIDER', 'REGION', 'SEED', 'K8S VERSION', 'HIBERNATION'],
      ...['LAST OPERATION', 'STATUS', 'PURPOSE', 'GARDENER VERSION', 'APISERVER', 'CONTROL', 'OBSERVABILITY'],
      ...['NODES', 'SYSTEM', 'AGE'],
    ]);
    expect(rest.map((line) => line.slice(-8))).toEqual([
      ['production', '1.2.3', 'True', 'Progressing', 'True', '<unknown>', 'True', '<unknown>'],
    ]);
    expect(JSON.parse((await ask('get shoots red -o json')).out)).toEqual([old]);
    expect(await ask('get shoots garden-web/blu')).toMatchObject({
      code: 5,
      err: expect.stringContaining('did you mean garden-web/blue?'),
    });
    expect((await ask('get shoots --cluster east')).out).toBe('no Shoots match --cluster east\n');
  });

  test('without a kind lists the kinds, without asking a server', async () => {
    const nowhere = { env: { FLEETRELAY_API: 'http://127.0.0.1:1' } };
    const { code, out } = await runCli(['get'], nowhere);
    expect(code).toBe(0);
    for (const { name, what } of LISTED_KINDS) expect(out).toMatch(new RegExp(`^${name} +${what}$`, 'm'));
    expect((await runCli(['get', '-o', 'name'], nowhere)).out).toBe(
      LISTED_KINDS.map(({ name }) => `${name}\n`).join(''),
    );
    expect(JSON.parse((await runCli(['get', '-o', 'json'], nowhere)).out)[0]).toMatchObject({ name: 'clusters' });
  });

  const names = async (ask: (line: string) => Promise<CliRun>, line: string) => {
    const { code, out, err } = await ask(`get ${line} -o name`);
    return code === 0 ? out.trimEnd().split('\n') : [code, err];
  };

  test.each([
    ['cluster', ['cluster/east', 'cluster/west']],
    ['Clusters', ['cluster/east', 'cluster/west']],
    ['kubernetesclusters', ['cluster/east', 'cluster/west']],
    ['clusters east', ['cluster/east']],
    ['cluster/east', ['cluster/east']],
    ['cluster/east west', ['cluster/east', 'cluster/west']],
    ['clusters -l region=eu', ['cluster/east', 'cluster/west']],
    ['clusters -l region!=eu', ['']],
    ['clusters -l region,!tier', ['cluster/east', 'cluster/west']],
    ['sources', ['source/main']],
    ['outputs', ['Deployment.apps/web/frontend']],
    ['outputs deploy/frontend', ['Deployment.apps/web/frontend']],
    ['outputs Deployment.apps/web/frontend', ['Deployment.apps/web/frontend']],
    ['output frontend -n web', ['Deployment.apps/web/frontend']],
    ['outputs deploy', ['Deployment.apps/web/frontend']],
    ['outputs svc', ['']],
    ['deployments', ['Deployment.apps/web/frontend']],
    ['deploy frontend', ['Deployment.apps/web/frontend']],
    ['deploy/frontend -n web', ['Deployment.apps/web/frontend']],
    ['deployments -n shop', ['']],
    ['deployments -A', ['Deployment.apps/web/frontend']],
    ['removals', [`removal/${HELD_DIGEST}`]],
    [`removals ${HELD_DIGEST.slice(0, 8)}`, [`removal/${HELD_DIGEST}`]],
    ['removals cm/web/settings', [`removal/${HELD_DIGEST}`]],
    ['diagnostics YamlSyntax', ['diagnostic/FR1010']],
  ])('%s is understood as by kubectl', async (line, listed) => {
    const { ask } = await server();
    expect(await names(ask, line)).toEqual(listed);
  });

  test.each([
    ['clusters est', 'there is no cluster est (did you mean east?)'],
    ['cluster/east nowhere', 'there is no cluster nowhere'],
    ['deploy/frontent', 'there is no output deploy/frontent'],
    ['outputs frontend -n shop', 'there is no output frontend'],
    ['sources mian', 'there is no source mian (did you mean main?)'],
  ])('%s exits with 5 and says: %s', async (line, said) => {
    const { ask } = await server();
    expect(await names(ask, line)).toEqual([5, `fleetrelay: ${said}\n`]);
  });

  test('-o wide shows labels and versions of clusters, the table does not', async () => {
    const { ask } = await server();
    expect((await ask('get clusters')).out).not.toContain('region=eu');
    expect((await ask('get clusters -o wide')).out).toMatch(/^east +yes .* v1\.36\.3 +region=eu +east-id/m);
  });

  /** What `get` with `--watch` has written when it is stopped, after these answers of the server. */
  async function watched(line: string, answers: readonly (readonly ReturnType<typeof clusterView>[])[]) {
    const stop = new AbortController();
    const left = [...answers];
    const clusters = () => {
      if (left.length === 1) stop.abort();
      return left.shift() ?? [];
    };
    const { ask } = await server({ ...fakeApi(), clusters });
    return ask(`get ${line} --watch`, { untilStopped: () => stop.signal });
  }

  test('--watch shows what is new, has changed or is gone, and has its headings once', async () => {
    const east = clusterView('east');
    const { code, out } = await watched('clusters', [
      [east, clusterView('west')],
      [east, clusterView('west', { message: 'a' })],
      [east],
      [east],
    ]);
    expect(code).toBe(0);
    expect(out.split('\n').map((text) => text.split(/ {3,}/)[0])).toEqual([
      ...['CLUSTER', 'east', 'west', 'west', 'cluster west is gone', ''],
    ]);
  });

  test('--watch prints JSON, YAML and names as they come', async () => {
    const answers = [[clusterView('east')], [clusterView('east', { message: 'a' })], []];
    // Each looks once a second.
    const [names, yaml, json] = await Promise.all(
      ['name', 'yaml', 'json'].map((form) => watched(`clusters -o ${form}`, answers)),
    );
    expect(names?.out).toBe('cluster/east\ncluster/east\n');
    expect(yaml?.out.match(/^---\nname: east$/gm)).toHaveLength(2);
    expect(json?.out.split('}\n{')).toHaveLength(2);
  });

  test('--cluster lists the objects of one cluster', async () => {
    const { ask } = await server();
    expect((await ask('get clusters --cluster west')).out).not.toContain('east');
    expect((await ask('get removals --cluster west')).out).toBe('no removals match --cluster west\n');
    expect(await ask('get clusters --cluster nowhere')).toMatchObject({ code: 5 });
    expect(await ask('get outputs --cluster nowhere')).toMatchObject({
      code: 5,
      err: 'fleetrelay: there is no cluster "nowhere"\n',
    });
  });
});
