import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { dataplaneCommand } from '../../../src/domains/health/cli/dataplane.ts';
import { type DataplaneRoots, dataplaneRoots } from '../../../src/domains/health/cli/dataplane-roots.ts';
import { type CliRun, runCli } from '../../support/cli.ts';
import { createPeopleAuthority, type PeopleAuthority } from '../../support/people-tls.ts';
import { type RunningServer, runServer } from '../../support/running-server.ts';
import { clusterView, driftRow, fakeApi, fleetView, HELD_DIGEST } from '../../support/server-api.ts';

const TOKEN = 'a-token-of-enough-length';
const running: RunningServer[] = [];

afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

async function server(api = fakeApi(), token?: string) {
  const people = token === undefined ? [] : [{ name: 'ann', role: 'operate', token } as const];
  const started = await runServer({ api }, { people });
  running.push(started);
  const ask = (line: string, env: Record<string, string> = {}): Promise<CliRun> =>
    runCli(line.split(' '), { env: { FLEETRELAY_API: started.url, FLEETRELAY_USER: 'ann', ...env } });
  return { api, url: started.url, ask };
}

describe('status', () => {
  test('shows the fleet, and exits with 1 while it is not well', async () => {
    const { ask } = await server();
    const { code, out } = await ask('status');
    expect(code).toBe(1);
    expect(out.split('\n').slice(0, 6)).toEqual([
      'shop: 4 problems',
      '  error   clusters/east/web.yaml:3:5: bad indentation',
      '  error   cluster west: its agent is away since 2026-01-02T03:04:05Z',
      '  warning cluster east: 1 of 3 held',
      `  warning guard: 1 removal held: fleetrelay approve ${HELD_DIGEST.slice(0, 12)}`,
      'applied by 1 of 2 clusters; waiting for west: disconnected since 10:42:07Z; what to do: fleetrelay check',
    ]);
    expect(out).toMatch(/^west +no +2026-01-02T03:04:05Z/m);
    expect(out).toContain(`release: fleetrelay approve ${HELD_DIGEST.slice(0, 12)}`);
    expect(out).toContain('clusters/east/web.yaml:3:5');
  });

  test('exits with 0 when it is well, and says so in one line', async () => {
    const fleet = fleetView({ heldRemovals: [], diagnostics: [], clusters: [], summary: 'applied by 2 of 2 clusters' });
    const { ask } = await server(fakeApi(fleet));
    const { code, out } = await ask('status');
    expect([code, out.split('\n')[0]]).toEqual([0, 'shop: ready; applied by 2 of 2 clusters']);
  });

  test('a refused source stands above what is applied', async () => {
    const [main] = fleetView().sources;
    if (main === undefined) throw new Error('the fleet has no source');
    const sources = [{ ...main, state: 'refused', message: 'its history was rewritten' } as const];
    const { ask } = await server(
      fakeApi(
        fleetView({ heldRemovals: [], diagnostics: [], clusters: [], sources, summary: 'applied by 1 of 1 clusters' }),
      ),
    );
    expect((await ask('status')).out.split('\n').slice(0, 3)).toEqual([
      'shop: 1 problem',
      '  error   source main: refused: its history was rewritten',
      'applied by 1 of 1 clusters; what to do: fleetrelay check',
    ]);
  });

  test.each([
    [{ held: 4 }, {}, 'held', '0/4', '4 held: m'],
    [{ held: 4 }, { kept: 4 }, 'kept', '0/4 kept', 'nothing changes in 4 objects; 4 held: m'],
    [{ held: 4 }, { paused: 4 }, 'paused', '0/4', '4 held: m'],
    [{ applied: 4 }, {}, 'yes', '4/4', '4 held: m'],
  ])('a cluster with %j (%j) is in sync: %s', async (counts, over, sync, applied, said) => {
    const none = { targeted: 4, applied: 0, failed: 0, held: 0, pending: 0, unreachable: 0 };
    const east = clusterView('east', { ...over, counts: { ...none, ...counts }, message: '4 held: m' });
    const { ask } = await server(fakeApi(fleetView({ clusters: [east] })));
    const [, row = ''] = (await ask('get clusters')).out.split('\n');
    expect(row.split(/ {3,}/)).toEqual(['east', 'yes', '2026-01-02T03:04:05Z', 'yes', sync, applied, '-', '1.7', said]);
  });

  test.each([
    ['in progress', 'ObjectsInProgress', 0, 0],
    ['not healthy', 'ObjectsFailed', 0, 1],
    ['in progress', 'ObjectsInProgress', 1, 1],
  ])('a cluster in sync that is %s (%s) and holds %i back: exit code %i', async (health, reason, held, code) => {
    const [east] = fleetView().clusters;
    if (east === undefined) throw new Error('the fleet has no cluster');
    const conditions = [{ type: 'Healthy', status: 'False', reason, message: '' }] as const;
    const clusters = [{ ...east, inSync: true, counts: { ...east.counts, held }, conditions }];
    const { ask } = await server(fakeApi(fleetView({ heldRemovals: [], diagnostics: [], clusters })));
    const answer = await ask('status');
    expect(answer.code).toBe(code);
    expect(answer.out).toContain(` ${health} `);
  });

  test('the cluster of a hibernated Shoot is well although its agent is away', async () => {
    const asleep = 'Shoot garden-web/west is hibernated';
    const [, west] = fleetView().clusters;
    if (west === undefined) throw new Error('the fleet has no second cluster');
    const counts = { ...west.counts, held: 0 };
    const clusters = [{ ...west, counts, message: asleep, asleep }];
    const { ask } = await server(fakeApi(fleetView({ heldRemovals: [], diagnostics: [], clusters })));
    const answer = await ask('status');
    expect(answer.code).toBe(0);
    expect(answer.out).toContain(asleep);
  });

  test('names the statuses of objects of others that failed, and exits with 1', async () => {
    const [east] = fleetView().clusters;
    if (east === undefined) throw new Error('the fleet has no cluster');
    const clusters = [{ ...east, statuses: { total: 3, applied: 1, failed: 2 } }];
    const { ask } = await server(fakeApi(fleetView({ heldRemovals: [], diagnostics: [], clusters })));
    const { code, out } = await ask('status');
    expect(code).toBe(1);
    expect(out).toContain(
      'cluster east: statuses of objects of others: 2 of 3 failed: fleetrelay get outputs --cluster east',
    );
  });

  test('shows the clusters that safe mode waits for, and exits with 1', async () => {
    const message = 'no input snapshot of it is here. Ways out: bring its agent back';
    const causes = [{ cluster: 'west', reason: 'SnapshotMissing', message }];
    const quiet = { heldRemovals: [], diagnostics: [], clusters: [] };
    const { ask } = await server(fakeApi(fleetView({ ...quiet, safeMode: { mode: 'strict', causes } })));
    const { code, out } = await ask('status');
    expect(code).toBe(1);
    expect(out).toContain(`safe mode (strict): west: ${message}`);
  });

  test.each([
    [false, 0],
    [true, 1],
  ])('tells of certificates of the server that end; one that has (%s): exit code %i', async (over, code) => {
    const ending = { what: 'server', expiresAt: '2026-02-01T00:00:00.000Z', over, message: 'it ends' } as const;
    const quiet = { heldRemovals: [], diagnostics: [], clusters: [] };
    const { ask } = await server(fakeApi(fleetView({ ...quiet, endingCertificates: [ending] })));
    const answer = await ask('status');
    expect([answer.code, answer.out]).toEqual([code, expect.stringContaining('certificate: it ends\n')]);
  });

  test.each([
    [{ leads: true, leader: { id: 'a_1', address: null } }, '', 'server a_1 leads; 2 of this fleet are heard', 0],
    [
      { leads: false, leader: { id: 'b_2', address: 'http://b:9980' } },
      '',
      'server a_1 follows b_2 (http://b:9980), which knows what is held; 2 of this fleet are heard',
      0,
    ],
    [{ leads: false, leader: null }, 'no replica leads just now', 'server a_1: no replica leads just now; 2', 1],
  ])('says what the server is among several: %j', async (role, problem, line, code) => {
    const replica = { id: 'a_1', ...role, admitted: { epoch: 1, sequence: 2 }, alive: 2, problem };
    const { ask } = await server(fakeApi(fleetView({ heldRemovals: [], diagnostics: [], clusters: [], replica })));
    const answer = await ask('status');
    expect(answer.out).toContain(line);
    expect(answer.code).toBe(code);
    expect(JSON.parse((await ask('status -o json')).out).replica).toEqual(replica);
  });

  test('prints the answer of the server as JSON and YAML', async () => {
    const { ask } = await server();
    expect(JSON.parse((await ask('status -o json')).out)).toEqual(JSON.parse(JSON.stringify(fleetView())));
    expect((await ask('status -o yaml')).out).toContain('fleet: shop\n');
  });
});

test('explain shows the line, or exits with 5', async () => {
  const { ask } = await server();
  const found = await ask('explain east ConfigMap/web/settings');
  expect(found.code).toBe(0);
  expect(found.out).toContain('clusters/east/web.yaml:4@1111111');
  expect((await ask('explain east ConfigMap/web/other')).code).toBe(5);
});

test('explain shows a service of a mesh, its data planes and what they have their status from', async () => {
  const { ask } = await server();
  expect(
    (await ask('explain service/postgres --mesh other')).out,
  ).toBe(`service/postgres in mesh other: Offline; 0 of 1 data plane online

BECAUSE OF      AT                    NOTE
data plane db   db.yaml:1:1@1111111   Offline
  connection                          never connected
`);
  const told = JSON.parse((await ask('explain service/postgres -o json')).out);
  expect(told).toMatchObject({
    parent: { kind: 'mesh', name: 'default' },
    entity: { status: 'offline' },
    because: [{}, { depth: 1 }],
  });
});

test('explain shows a declaration with its conditions, one of them, or a field', async () => {
  const { ask } = await server();
  const lines = async (question: string): Promise<readonly string[]> =>
    (await ask(`explain ${question}`)).out.split('\n').map((line) => line.trim().replaceAll(/ {2,}/g, ' | '));
  expect(await lines('Placement/shop')).toEqual([
    'Placement/shop: in force',
    '',
    'CONDITION | STATUS | REASON | MESSAGE',
    'Accepted | True | Accepted',
    'ClustersSelected | False | UnknownClusters | no KubernetesCluster of this name is declared: nowhere',
    '',
    'BECAUSE OF | AT | NOTE',
    'manifest Placement/shop | p.yaml:1:1@1111111 | declares it',
    '',
  ]);
  expect((await lines('Placement/shop ClustersSelected')).slice(2, 5)).toEqual([
    'CONDITION | STATUS | REASON | MESSAGE',
    'ClustersSelected | False | UnknownClusters | no KubernetesCluster of this name is declared: nowhere',
    '',
  ]);
  expect((await lines('Placement/shop spec.paths')).slice(0, 4)).toEqual([
    'Placement/shop: in force',
    'spec.paths: p.yaml:6:3@1111111',
    '',
    'BECAUSE OF | AT | NOTE',
  ]);
});

describe('approve', () => {
  test('releases the one set that begins with the digits, in the caller’s name', async () => {
    const { ask, api } = await server();
    expect(await ask(`approve ${HELD_DIGEST.slice(0, 8)}`)).toMatchObject({
      code: 0,
      out: expect.stringContaining('released 1 removal;'),
    });
    await ask(`approve ${HELD_DIGEST} --as bob`);
    expect(api.calls).toEqual([`approve ${HELD_DIGEST} by ann`, `approve ${HELD_DIGEST} by bob`]);
  });

  test('of a set that is not held sends no approval', async () => {
    const { ask, api } = await server();
    expect((await ask(`approve ${'0'.repeat(64)}`)).code).toBe(5);
    expect(api.calls).toEqual([]);
  });

  test('--list shows the held removals', async () => {
    const { ask } = await server();
    expect((await ask('approve --list')).out).toMatch(/^aaaaaaaaaaaa +east +ConfigMap\/web\/settings/m);
  });
});

test('source sync says what the looks have found, and exits with 1 if one has failed', async () => {
  const { ask, api } = await server();
  const { code, out } = await ask('source sync');
  expect([code, out.split('\n')[1]]).toEqual([0, expect.stringMatching(/^main +new +0{10} +1{10} +-/)]);
  expect(JSON.parse((await ask('source sync main --as bob -o json')).out)).toMatchObject({
    sources: [{ name: 'main', outcome: 'new' }],
  });
  expect((await ask('source sync nowhere')).code).toBe(5);
  expect(api.calls).toEqual(['sync all sources by ann', 'sync main by bob', 'sync nowhere by ann']);
  const [main] = fleetView().sources;
  const failing = [{ ...main!, state: 'failing' as const, message: 'no route' }];
  const broken = await server(fakeApi(fleetView({ sources: failing })));
  expect(await broken.ask('source sync')).toMatchObject({ code: 1, out: expect.stringContaining('no route') });
});

test('source and cluster commands', async () => {
  const { ask, api } = await server();
  expect((await ask('source list')).out).toContain('main');
  expect(await ask('source accept main 4be7c1')).toMatchObject({
    code: 4,
    err: 'fleetrelay: revision 4be7c1 does not wait\n',
  });
  expect((await ask('cluster replace west')).code).toBe(0);
  expect(api.calls).toEqual(['accept main 4be7c1 by ann', 'replace west by ann']);
});

test('get of a cluster that is not there is no empty list', async () => {
  const { ask } = await server();
  expect((await ask('get clusters --cluster east')).code).toBe(0);
  expect(await ask('get clusters --cluster unknown')).toMatchObject({ code: 5, out: '' });
});

describe('cluster replace', () => {
  const connectedEast = () => server(fakeApi(fleetView({ clusters: [clusterView('east')] })));

  test('--dry-run shows the effects, and changes nothing', async () => {
    const { ask, api } = await connectedEast();
    const { code, out } = await ask('cluster replace east --dry-run');
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/east-id keeps what it holds \(3 objects\)[\s\S]*nothing was changed/),
    ]);
    expect(out).toContain('what other clusters have from east');
    expect(await ask('cluster replace unknown --dry-run')).toMatchObject({ code: 5 });
    expect(api.calls).toEqual([]);
  });

  test('shuts out a connected agent only if the caller names its cluster twice', async () => {
    const { ask, api } = await connectedEast();
    for (const confirm of ['', ' --confirm west']) {
      const { code, err } = await ask(`cluster replace east${confirm}`);
      expect([code, err]).toEqual([2, expect.stringContaining('--confirm east')]);
    }
    expect(api.calls).toEqual([]);
    expect((await ask('cluster replace east --confirm east')).code).toBe(0);
    expect(api.calls).toEqual(['replace east by ann']);
  });

  test('with --undo gives the name back', async () => {
    const api = fakeApi();
    const { ask } = await server(api);
    expect((await ask('cluster replace west --undo --as ann')).out).toMatch(
      /^the name west belongs to the cluster west-id again/,
    );
    expect(api.calls).toEqual(['give back west by ann']);
  });
});

test('source accept takes the first digits that the table shows, and sends the complete revision', async () => {
  const refusedRevision = '4be7c1aa00'.repeat(4);
  const [main] = fleetView().sources;
  if (main === undefined) throw new Error('the fleet has no source');
  const { ask, api } = await server(fakeApi(fleetView({ sources: [{ ...main, state: 'refused', refusedRevision }] })));
  for (const text of [refusedRevision.slice(0, 10), '4be7c', '5be7c1']) await ask(`source accept main ${text}`);
  expect(api.calls).toEqual([
    `accept main ${refusedRevision} by ann`,
    'accept main 4be7c by ann',
    'accept main 5be7c1 by ann',
  ]);
});

describe('a token', () => {
  test('opens the API, and is asked for with exit code 4', async () => {
    const { ask } = await server(fakeApi(), TOKEN);
    expect(await ask('get sources')).toMatchObject({ code: 4, err: expect.stringContaining('--api-token-file') });
    expect((await ask('get sources', { FLEETRELAY_API_TOKEN: TOKEN })).code).toBe(0);
    const wrong = await ask('get sources', { FLEETRELAY_API_TOKEN: `${TOKEN}x` });
    expect(wrong.code).toBe(4);
    expect(wrong.err).not.toContain(TOKEN);
  });

  test('in a file that is not there is a usage error', async () => {
    const { ask } = await server();
    expect(await ask('status --api-token-file /nowhere')).toMatchObject({
      code: 2,
      err: expect.stringContaining('ENOENT'),
    });
  });
});

test('cluster and source are suspended and resumed', async () => {
  const { api, url } = await server();
  const env = { FLEETRELAY_API: url, FLEETRELAY_USER: 'ann' };
  const ask = (...args: string[]): Promise<CliRun> => runCli(args, { env });
  const suspended = await ask('cluster', 'suspend', 'east', '--reason', 'being moved');
  expect(suspended).toMatchObject({ code: 0, out: expect.stringContaining('fleetrelay cluster resume east') });
  expect((await ask('cluster', 'resume', 'east', '-o', 'json')).out).toContain('"suspended": null');
  const source = await ask('source', 'suspend', 'main', '--as', 'bob');
  expect(source.out).toMatch(/^main +synced, suspended /m);
  expect((await ask('source', 'resume', 'main')).code).toBe(0);
  expect((await ask('source', 'resume', 'nowhere')).code).toBe(5);
  expect(api.calls).toEqual([
    'suspend cluster east by ann: being moved',
    'resume cluster east by ann',
    'suspend source main by bob: ',
    'resume source main by ann',
    'resume source nowhere by ann',
  ]);
});

test('another attempt is asked for, and what waits is named with its reason', async () => {
  const { url } = await server();
  const { code, out } = await runCli(['cluster', 'retry', 'east', '--as', 'ann'], { env: { FLEETRELAY_API: url } });
  expect({ code, out }).toEqual({
    code: 0,
    out: `1 object of cluster east is tried now
  Service/web/shop
1 object of cluster east waits
  Pod/web/a: it is held
`,
  });
});

test('an operation of a Shoot is begun', async () => {
  const { api, url } = await server();
  const ask = (...args: string[]): Promise<CliRun> => runCli(['shoot', ...args], { env: { FLEETRELAY_API: url } });
  const begun = await ask('reconcile', 'garden-web/blue', '--as', 'ann');
  expect(begun).toMatchObject({ code: 0, out: expect.stringContaining('Reconcile Processing (0%)') });
  expect(begun.out).toContain('an operation of the Shoot garden-web/blue begins');
  const json = await ask('reconcile', 'garden-web/blue', '--as', 'ann', '-o', 'json');
  expect(JSON.parse(json.out)).toMatchObject({ namespace: 'garden-web', name: 'blue' });
  expect(await ask('retry', 'garden-web/blue', '--as', 'bob')).toMatchObject({
    ...{ code: 4, err: expect.stringContaining('it has not failed') },
  });
  expect((await ask('retry', 'elsewhere/blue', '--as', 'bob')).code).toBe(5);
  expect(await ask('retry', 'blue')).toMatchObject({ code: 2, err: expect.stringContaining('NAMESPACE/NAME') });
  expect(api.calls).toEqual([
    'reconcile Shoot garden-web/blue by ann',
    'reconcile Shoot garden-web/blue by ann',
    'retry Shoot garden-web/blue by bob',
    'retry Shoot elsewhere/blue by bob',
  ]);
});

describe('drift', () => {
  test('is listed with its fields and what became of it', async () => {
    const { ask } = await server();
    const [titles = '', row = ''] = (await ask('get drift --cluster west -o wide')).out.split('\n');
    expect([titles.split(/ {3,}/), row.split(/ {3,}/)]).toEqual([
      ['TIME', 'CLUSTER', 'OBJECT', 'DRIFT', 'FIELDS', 'BY', 'OUTCOME', 'COUNT'],
      [
        ...['2026-01-31T10:45:00Z', 'west', 'Deployment.apps/web/frontend', 'changed', 'spec.replicas'],
        ...['kubectl-scale', 'put back', '2'],
      ],
    ]);
    expect(JSON.parse((await ask('get drift -o json')).out)).toMatchObject([{ outcome: 'putBack', count: 2 }]);
  });

  test.each([
    ['get drift -o name', 'Deployment.apps/web/frontend\n'],
    ['get drift deploy -o name', 'Deployment.apps/web/frontend\n'],
    ['get drift deployments -o name', 'Deployment.apps/web/frontend\n'],
    ['get drift deploy/web/frontend -o name', 'Deployment.apps/web/frontend\n'],
    ['get drift frontend -o name', 'Deployment.apps/web/frontend\n'],
    ['get drift configmaps -o name', ''],
  ])('%s names objects as get outputs does', async (line, out) => {
    const { ask } = await server();
    expect(await ask(line)).toMatchObject({ code: 0, out });
  });

  test('an object that is not there is not found, as for outputs', async () => {
    const { ask } = await server();
    expect(await ask('get drift deploy/web/nosuch')).toMatchObject({ code: 5 });
  });

  test('is explained with its fields, who has changed them, and what became of it', async () => {
    const { cluster: _cluster, ...drift } = driftRow;
    const value = {
      cluster: 'west',
      object: driftRow.object,
      state: 'applied' as const,
      message: '',
      because: [],
      drift,
    };
    const { ask } = await server({ ...fakeApi(), explain: async () => ({ ok: true, value }) });
    const { out } = await ask('explain west deploy/web/frontend');
    const [, , titles = '', row = ''] = out.split('\n');
    expect([titles.split(/ {3,}/), row.split(/ {3,}/)]).toEqual([
      ['TIME', 'DRIFT', 'FIELDS', 'BY', 'OUTCOME'],
      ['2026-01-31T10:45:00Z', 'changed', 'spec.replicas', 'kubectl-scale', 'put back'],
    ]);
  });

  test('that is left makes its cluster drifted, and the fleet not well', async () => {
    const conditions = [{ type: 'InSync', status: 'False', reason: 'Drifted', message: '' }] as const;
    const counts = { targeted: 4, applied: 4, failed: 0, held: 0, pending: 0, unreachable: 0 };
    const east = clusterView('east', {
      inSync: false,
      drifted: 1,
      counts,
      conditions,
      message: '4 of 4 applied, 1 drifted',
    });
    const fleet = fleetView({ clusters: [east], heldRemovals: [], diagnostics: [] });
    const { ask } = await server(fakeApi(fleet));
    expect((await ask('get clusters')).out.split('\n')[1]?.split(/ {3,}/)).toContain('drifted');
    const { out, code } = await ask('status');
    expect([code, out.split('\n')[1]]).toEqual([
      1,
      '  warning cluster east: 1 of 4 drifted, which is only reported: fleetrelay get outputs --cluster east',
    ]);
  });

  test('that is left is the state of an output', async () => {
    const drift = { drift: 'changed', fields: ['spec.replicas'], managers: ['kubectl-scale'] } as const;
    const outputs = (fakeApi().outputs('east') ?? []).map((each) => ({
      ...each,
      drift,
      since: '2026-01-31T10:45:00Z',
    }));
    const { ask } = await server({ ...fakeApi(), outputs: () => outputs });
    expect((await ask('get outputs')).out.split('\n')[1]).toMatch(/ drifted /);
    expect(JSON.parse((await ask('get outputs -o json')).out)).toMatchObject([{ state: 'applied', drift }]);
  });

  test.each([
    ['history west', true],
    ['history west deploy/web/frontend', true],
    ['history west ConfigMap/web/frontend', false],
    ['history west --since 2026-01-31T10:50:00Z', false],
  ])('%s has it below what was sent: %s', async (line, isThere) => {
    const { ask } = await server();
    expect((await ask(line)).out.includes('put back')).toBe(isThere);
  });
});

describe('an object that is not there any more', () => {
  const gone = { ok: false, kind: 'notFound', message: 'there is no such object' } as const;

  test('is explained by the log of what was sent', async () => {
    const { ask } = await server({ ...fakeApi(), explain: async () => gone });
    expect(await ask('explain east ConfigMap/web/settings')).toMatchObject({
      code: 5,
      err: expect.stringContaining('sent at 2026-01-31T10:42:07Z: fleetrelay history east ConfigMap/web/settings'),
    });
  });

  test('has no such hint where nothing of it was sent', async () => {
    const history = async () => ({ ok: true, value: [] }) as const;
    const { ask } = await server({ ...fakeApi(), explain: async () => gone, history });
    const { code, err } = await ask('explain east ConfigMap/web/settings');
    expect([code, err]).toEqual([5, expect.not.stringContaining('fleetrelay history')]);
  });

  test('has it in the answer to --why-not, too', async () => {
    const reasons = [{ reason: 'NotDeclared', message: 'no file declares it', at: '', todo: '' }];
    const whyNot = async ({ cluster, object }: { readonly cluster: string; readonly object: string }) =>
      ({ ok: true, value: { cluster, object, isThere: false, reasons } }) as const;
    const { ask } = await server({ ...fakeApi(), whyNot });
    const { out } = await ask('explain east ConfigMap/web/settings --why-not');
    expect(out).toContain('fleetrelay history east ConfigMap/web/settings');
  });
});

test('a fleet with something suspended is not well', async () => {
  const suspended = { by: 'ann', at: '2026-01-02T03:04:05Z', reason: '' };
  const [main] = fleetView().sources;
  const well = { heldRemovals: [], diagnostics: [], clusters: [] };
  if (main === undefined) throw new Error('the fleet has no source');
  const { ask } = await server(fakeApi(fleetView({ ...well, sources: [{ ...main, suspended }] })));
  expect((await ask('status')).code).toBe(1);
});

test('a suspended cluster with failures, and a suspended source that fails, say both, the failures first', async () => {
  const suspended = { by: 'ann', at: '2026-01-02T03:04:05Z', reason: '' };
  const [main] = fleetView().sources;
  if (main === undefined) throw new Error('the fleet has no source');
  const sources = [{ ...main, state: 'failing', message: 'no access', suspended }] as const;
  const counts = { targeted: 4, applied: 3, failed: 1, held: 0, pending: 0, unreachable: 0 };
  const ready = { type: 'Ready', status: 'False', reason: 'Stalled', message: '3 of 4 applied, 1 failed: no' } as const;
  const message = 'suspended by ann; 3 of 4 applied, 1 failed: no';
  const cluster = clusterView('east', { counts, suspended, inSync: false, message, conditions: [ready] });
  const fleet = fleetView({ heldRemovals: [], diagnostics: [], sources, clusters: [cluster] });
  const { ask } = await server(fakeApi(fleet));
  expect((await ask('status')).out.split('\n').slice(1, 5)).toEqual([
    `  error   source ${main.name}: failing: no access`,
    '  error   cluster east: 1 of 4 failed: 3 of 4 applied, 1 failed: no',
    `  warning source ${main.name}: suspended by ann`,
    '  warning cluster east: suspended by ann',
  ]);
});

describe('audit', () => {
  test('shows who did what', async () => {
    const { ask, url } = await server(fakeApi(), TOKEN);
    const env = { FLEETRELAY_API_TOKEN: TOKEN };
    expect((await ask('audit', env)).out).toBe(`nothing was asked of ${url} to be done yet\n`);
    await ask('cluster replace west', env);
    const { out } = await ask('audit', env);
    expect(out).toMatch(/ ann +token +127\.0\.0\.1 +asked +clusters\/west\/replace/);
    expect(out).toMatch(/ ann +token +127\.0\.0\.1 +done +clusters\/west\/replace/);
    expect(JSON.parse((await ask('audit --limit 1 -o json', env)).out)).toMatchObject([{ who: 'ann', stage: 'done' }]);
    expect((await ask('audit --limit 0', env)).code).toBe(2);
  });

  test('names the server: each of several servers has its own log', async () => {
    const leader = { id: 'b_2', address: null };
    const replica = { id: 'a_1', leads: false, leader, admitted: { epoch: 1, sequence: 1 }, alive: 2, problem: '' };
    const { ask } = await server(fakeApi(fleetView({ replica })), TOKEN);
    const env = { FLEETRELAY_API_TOKEN: TOKEN };
    await ask('cluster replace west', env);
    expect((await ask('audit', env)).out).toMatch(/^SERVER .*\na_1 +\S+ +ann /);
    expect(JSON.parse((await ask('audit -o json', env)).out)).toMatchObject([{ server: 'a_1' }, { server: 'a_1' }]);
  });
});

describe('of several servers', () => {
  test.each([
    ['follows does not show the status branch, which it does not publish', false, 0],
    ['leads shows that nothing was published yet', true, 1],
  ])('one that %s', async (_name, leads, lines) => {
    const leader = { id: 'a', address: null };
    const replica = { id: 'b', leads, leader, admitted: { epoch: 1, sequence: 1 }, alive: 2, problem: '' };
    const statusBranch = { state: 'pending', message: 'nothing was published yet', commit: null } as const;
    const { ask } = await server(fakeApi(fleetView({ replica, statusBranch })));
    expect((await ask('status')).out.match(/^status branch/gm) ?? []).toHaveLength(lines);
  });

  const told = (leader: string | null) => {
    const elsewhere = { ok: false, kind: 'notLeader', message: 'this replica does not lead', leader } as const;
    return {
      ...fakeApi(),
      elsewhere: () => elsewhere,
      removals: () => [],
      approve: async () => elsewhere,
      replaceCluster: async () => elsewhere,
    };
  };

  test('held removals are asked of the leader, which alone judges them', async () => {
    const leader = await server();
    const [held] = leader.api.removals();
    const follower = await server(told(leader.url));
    expect((await follower.ask('approve --list')).out).toContain(held?.digest.slice(0, 8));
    expect((await follower.ask(`approve ${held?.digest.slice(0, 12)}`)).code).toBe(0);
    expect(leader.api.calls).toEqual([`approve ${held?.digest} by ann`]);
  });

  test('the leader is asked, once', async () => {
    const leader = await server();
    for (const address of [leader.url, new URL(leader.url).host]) {
      const follower = await server(told(address));
      expect((await follower.ask('cluster replace west')).code).toBe(0);
    }
    expect(leader.api.calls).toEqual(['replace west by ann', 'replace west by ann']);
    const another = await server(told(leader.url));
    const chain = await server(told(another.url));
    expect(await chain.ask('cluster replace west')).toMatchObject({
      code: 4,
      err: expect.stringContaining('not lead'),
    });
  });

  test('a token is not sent to another machine in plain text because a server names it as the leader', async () => {
    const { url } = await server(told('http://192.0.2.1:9980'), TOKEN);
    const env = { FLEETRELAY_API: url, FLEETRELAY_API_TOKEN: TOKEN };
    expect(await runCli(['cluster', 'replace', 'west'], { env })).toMatchObject({
      code: 4,
      err: expect.stringContaining('not lead'),
    });
  });

  test('that know no leader refuse', async () => {
    const { ask } = await server(told(null));
    expect(await ask('cluster replace west')).toMatchObject({ code: 4, err: expect.stringContaining('not lead') });
  });
});

describe('over TLS', () => {
  let folder = '';
  let authority: PeopleAuthority;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'client-tls-'));
    authority = await createPeopleAuthority();
    const { certificate, key } = await authority.person('CN=carol,O=fleetrelay:operate');
    for (const [name, text] of Object.entries({ 'ca.pem': authority.ca, 'own.pem': certificate, 'own.key': key })) {
      writeFileSync(join(folder, name), text);
    }
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  const secure = async (api = fakeApi()) => {
    const tls = { ...(await authority.server()), clientCa: authority.ca };
    const started = await runServer({ api }, { tls });
    running.push(started);
    return { api, started };
  };
  const flags = ['--api-ca-file', 'ca.pem', '--api-cert-file', 'own.pem', '--api-key-file', 'own.key'];
  const inFolder = (args: readonly string[]) => args.map((arg) => (/\.(pem|key)$/.test(arg) ? join(folder, arg) : arg));

  test('a client certificate names the caller', async () => {
    const { api, started } = await secure();
    const args = ['cluster', 'replace', 'west', '--api', started.url];
    expect((await runCli([...args, ...inFolder(flags)])).code).toBe(0);
    const env = {
      FLEETRELAY_API_CA_FILE: join(folder, 'ca.pem'),
      FLEETRELAY_API_CERT_FILE: join(folder, 'own.pem'),
      FLEETRELAY_API_KEY_FILE: join(folder, 'own.key'),
    };
    expect((await runCli(args, { env })).code).toBe(0);
    expect(api.calls).toEqual(['replace west by carol', 'replace west by carol']);
    expect((await runCli([...args, ...inFolder(flags.slice(0, 2))])).code).toBe(4);
  });

  test('a server with an unknown authority is not asked', async () => {
    const { started } = await secure();
    expect(await runCli(['status', '--api', started.url])).toMatchObject({
      code: 3,
      err: expect.stringContaining('--api-ca-file'),
    });
  });

  test('a leader without TLS is not asked', async () => {
    const leader = await server();
    const message = 'this replica does not lead';
    const replaceCluster = async () => ({ ok: false, kind: 'notLeader', message, leader: leader.url }) as const;
    const { started } = await secure({ ...fakeApi(), replaceCluster } as ReturnType<typeof fakeApi>);
    const args = ['cluster', 'replace', 'west', '--api', started.url];
    expect((await runCli([...args, ...inFolder(flags)])).code).toBe(4);
    expect(leader.api.calls).toEqual([]);
  });

  test.each([
    ['a key without a certificate', ['--api-key-file', 'own.key'], 'belong together'],
    ['a file that is not there', ['--api-ca-file', 'none.pem'], 'ENOENT'],
    ['something else than PEM', ['--api-ca-file', 'text.pem'], 'is no PEM file'],
  ])('%s is a usage error', async (_, args, complaint) => {
    writeFileSync(join(folder, 'text.pem'), 'hello');
    expect(await runCli(['status', ...inFolder(args)])).toMatchObject({
      code: 2,
      err: expect.stringContaining(complaint),
    });
  });
});

describe('without a server', () => {
  test('the message names the command that starts one', async () => {
    const { url } = await server();
    await running.pop()?.stop();
    expect(await runCli(['status', '--api', url])).toMatchObject({
      code: 3,
      err: `fleetrelay: no server answers at ${url} (ECONNREFUSED) (start one with \`fleetrelay serve\`, or name it with --api)\n`,
    });
  });

  test('https where no TLS is spoken names the address without it', async () => {
    const { url } = await server();
    const { code, err } = await runCli(['status', '--api', url.replace('http:', 'https:')]);
    expect([code, err]).toEqual([
      3,
      expect.stringContaining(`no TLS is spoken there: for a server without it, say --api ${url}`),
    ]);
  });

  test.each([
    ['that ends the connection', ''],
    ['that speaks HTTP/2', '\0\0\0\x04\0\0\0\0\0'],
  ])("the error about a server %s asks whether it is the agents' port", async (_, said) => {
    const other = createTcpServer((socket) => socket.on('error', () => undefined).once('data', () => socket.end(said)));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const { code, err } = await runCli(['status', '--api', `http://127.0.0.1:${port}`]);
    await new Promise((resolve) => other.close(resolve));
    expect([code, err]).toEqual([3, expect.stringContaining("is it the agents' port?")]);
  });

  test.each([
    ['something else', 200, 'hello'],
    ['a gateway', 502, '<html>bad gateway</html>'],
    ['an answer without meaning', 500, 'null'],
  ])('%s is no answer', async (_, status, body) => {
    const other = createServer((_request, response) => response.writeHead(status).end(body));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    expect((await runCli(['status', '--api', `http://127.0.0.1:${port}`])).code).toBe(3);
    await new Promise((resolve) => other.close(resolve));
  });
});

test('dataplane bootstrap prints a document for Envoy, and says what is left out', async () => {
  const started = await runServer({ api: fakeApi() }, { people: [] });
  running.push(started);
  const made = { bootstrap: { node: { id: 'default.db-07' } }, adminPort: 9901, warnings: ['no listener'] };
  const roots: DataplaneRoots = {
    ...dataplaneRoots,
    bootstrap: async (request) => {
      expect(request).toMatchObject({ declared: { name: 'db-07' }, api: started.url, tokenFile: 't', cwd: '/work' });
      return made;
    },
  };
  const run = (...args: readonly string[]) =>
    runCli(
      ['dataplane', 'bootstrap', ...args, '--token-file', 't'],
      { env: { FLEETRELAY_API: started.url } },
      (context) => dataplaneCommand(context, roots),
    );
  expect(await run('default/db-07')).toEqual({
    ...{ code: 0, out: 'node:\n  id: default.db-07\n', err: 'warning: no listener\n' },
  });
  expect(JSON.parse((await run('default/db-07', '-o', 'json')).out)).toEqual(made.bootstrap);
  expect(await run('default/gone')).toMatchObject({ code: 5, err: expect.stringContaining('no data plane') });
});

describe('dataplane run', () => {
  const run = async (line: string, env: Record<string, string>) => {
    const calls: Parameters<DataplaneRoots['run']>[] = [];
    const roots: DataplaneRoots = { ...dataplaneRoots, run: async (...args) => calls.push(args) + 2 };
    const ended = await runCli(['dataplane', 'run', ...line.split(' ')], { env }, (context) =>
      dataplaneCommand(context, roots),
    );
    return { ended, options: calls[0]?.[0] };
  };

  test('passes on its options, the arguments of Envoy and the exit code', async () => {
    const started = await runServer({ api: fakeApi() }, { people: [] });
    running.push(started);
    const env = { FLEETRELAY_API: started.url };
    const { ended, options } = await run('default/db-07 --drain-time 1m30s -- --concurrency 2', env);
    expect(ended.code).toBe(3);
    expect(options).toMatchObject({ drainMs: 90_000, envoyArgs: ['--concurrency', '2'], api: started.url });
    expect(await options?.read()).toMatchObject({ name: 'db-07' });
    await expect((await run('default/gone', env)).options?.read()).rejects.toThrow('no data plane default/gone');
  });

  test('waits for a server that does not answer', async () => {
    const { options } = await run('default/db-07', { FLEETRELAY_API: 'http://127.0.0.1:1' });
    expect(options).toMatchObject({ drainMs: 30_000, envoyArgs: [] });
    expect(await options?.read()).toEqual({ unreachable: expect.stringContaining('no server answers') });
  });

  test.each(['30', '-1s', '25h', 'soon'])('refuses the drain time %s', async (time) => {
    const { ended } = await run(`default/db-07 --drain-time=${time}`, {});
    expect(ended).toMatchObject({ code: 2, err: expect.stringContaining('It must be a duration from 0 to 24h') });
  });
});

describe('history', () => {
  test('shows each delta, and with an object or -o wide what it was sent', async () => {
    const { ask } = await server();
    const deltas = await ask('history east');
    expect(deltas.out.split('\n')).toEqual([
      'SENT                   DELTA             FROM                 WHY             CHANGES      ANSWER     RESULT',
      '2026-01-31T10:42:07Z   1764000000000.7   main@4ac1f0de0d5e*   new revision    1 changed    accepted   1 failed; Deployment.apps/web/frontend: Invalid: spec.replicas must not be negative',
      '2026-01-31T10:40:00Z   1764000000000.6   main@1111111aaaa*    first contact   12 created   accepted   1 applied, 11 not listed',
      '',
    ]);
    const wide = [
      'SENT                   OBJECT                         CHANGE    WHY             FROM                                      STATE     SINCE                  MESSAGE',
      '2026-01-31T10:42:07Z   Deployment.apps/web/frontend   changed   new revision    main:clusters/east/web.yaml@4ac1f0de0d5e   failed    2026-01-31T10:42:09Z   Invalid: spec.replicas must not be negative',
      '2026-01-31T10:40:00Z   ConfigMap/web/settings         created   first contact   main:clusters/east/web.yaml@1111111aaaa    applied   2026-01-31T10:40:02Z',
      'the delta of 2026-01-31T10:40:00Z has 11 objects more, which the log does not list',
      '',
    ].map((line) => line.replace(/ +/g, ' '));
    for (const words of ['history east -o wide', 'history east cm/web/settings']) {
      expect((await ask(words)).out.split('\n').map((line) => line.replace(/ +/g, ' '))).toEqual(wide);
    }
    expect(JSON.parse((await ask('history east --limit 2 --since 2h -o json')).out)).toMatchObject([
      { sequence: 7 },
      {},
    ]);
    expect((await ask('history nowhere')).code).toBe(5);
    expect((await ask('history east x')).code).toBe(2);
    expect(await ask('history east --since soon')).toMatchObject({
      code: 2,
      err: expect.stringContaining('such as 2h'),
    });
  });
});

describe('why not, and impact', () => {
  test('say what differs, where, and what to do', async () => {
    const { ask } = await server();
    expect((await ask('explain east ConfigMap/web/settings --why-not')).out.split('\n')).toEqual([
      'ConfigMap/web/settings is not in east as it is declared',
      '  NotSelected: Placement shop selects its file, but not cluster east',
      '    at fleet/placement.yaml:9:7@1111111',
      '    to do: change the label or the selector',
      '  RevisionWaits: source main is refused',
      '',
    ]);
    const json = await ask('explain east ConfigMap/web/settings --why-not -o json');
    expect(JSON.parse(json.out)).toMatchObject({ isThere: false, reasons: [{ reason: 'NotSelected' }, {}] });
    expect((await ask('explain ConfigMap/web/settings --why-not')).code).toBe(2);
    expect((await ask('explain east ConfigMap/web/settings spec.x --why-not')).code).toBe(2);
  });

  test('list the clusters and objects that a file reaches', async () => {
    const { ask } = await server();
    expect((await ask('impact team-b:apps/web.yaml:12 --limit 1')).out.split('\n')).toEqual([
      'ConfigMap/web/settings apps/web.yaml:12: it is placed in 2 clusters',
      '',
      'CLUSTER   OBJECTS',
      'east      1',
      'west      2',
      '',
      'CLUSTER   OBJECT                   STATE',
      'east      ConfigMap/web/settings   applied',
      'and 2 objects more; --limit lists them',
      '',
    ]);
    expect(JSON.parse((await ask('impact team-b:apps/web.yaml -o json')).out)).toMatchObject({
      source: 'team-b',
      total: 3,
    });
    expect(await ask('impact apps/wbe.yaml')).toMatchObject({ code: 5, err: expect.stringContaining('apps/wbe.yaml') });
  });
});
