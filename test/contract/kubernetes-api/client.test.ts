import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadCatalog } from '../../../src/adapters/kubernetes/api/catalog.ts';
import { type ConnectKubeOptions, connectKube } from '../../../src/adapters/kubernetes/api/connect.ts';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { must } from '../../../src/model/values/result.ts';
import { until } from '../../support/fleet-processes.ts';
import * as hostile from '../../support/kubernetes/hostile-api.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createHarness, createHurriedClock, type Harness } from './harness.ts';

const { json, raw, refuse } = hostile;
const GET = { method: 'GET', path: '/api/v1/namespaces/default/configmaps/a' } as const;

let harness: Harness;
let api: hostile.HostileApi;
let client: KubeClient;
let folder: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fleetrelay-kubeconfig-'));
  harness = createHarness();
  api = await hostile.startHostileApi();
  client = await harness.connect(harness.kubeconfigOf(api.url));
});

afterEach(async () => {
  await harness.end();
  await api.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('a request', () => {
  it('after the end of the client is not sent', async () => {
    api.always('other', json({ kind: 'ConfigMap' }));
    expect(await client.request(GET)).toMatchObject({ type: 'ok' });
    await client.close();
    const answer = await client.request(GET);
    expect(answer).toMatchObject({ type: 'unreachable', message: expect.stringContaining('is closed') });
    expect(api.requests).toHaveLength(1);
  });

  it('says who asks and as whom', async () => {
    api.always('other', json({ kind: 'ConfigMap' }));
    const answer = await client.request({
      method: 'PATCH',
      path: GET.path,
      query: { fieldManager: 'a b' },
      contentType: 'application/apply-patch+yaml',
      body: { data: {} },
    });
    expect(answer).toMatchObject({ type: 'ok', status: 200, body: { kind: 'ConfigMap' } });
    expect(api.requests[0]).toMatchObject({ method: 'PATCH', path: GET.path, query: { fieldManager: 'a b' } });
    expect(api.requests[0]?.headers).toMatchObject({
      'user-agent': 'fleetrelay-test/1',
      authorization: 'Bearer secret',
      'content-type': 'application/apply-patch+yaml',
    });
    expect(api.requests[0]?.headers['accept-encoding']).toBeUndefined();
  });

  it('is not sent, and not sent again, by who may not send at that moment', async () => {
    api.always('other', refuse(429, 'TooManyRequests', { 'retry-after': '1' }));
    let left = 1;
    const maySend = () => left-- > 0;
    expect(await client.request({ ...GET, maySend })).toMatchObject({ type: 'refused', status: 429 });
    expect(api.requests).toHaveLength(1);
    expect(await client.request({ ...GET, maySend: () => false })).toMatchObject({
      type: 'unreachable',
      message: expect.stringContaining('called off'),
    });
    expect(api.requests).toHaveLength(1);
  });

  it('is tried again after 429 when the server wants it, a few times', async () => {
    api.next('other', refuse(429, 'TooManyRequests', { 'retry-after': '2' }), json({ kind: 'ConfigMap' }));
    expect(await client.request(GET)).toMatchObject({ type: 'ok' });
    api.always('other', refuse(429, 'TooManyRequests', { 'retry-after': '1' }));
    const before = api.requests.length;
    expect(await client.request(GET)).toMatchObject({ type: 'refused', status: 429, refusal: { retryAfterMs: 1_000 } });
    expect(api.requests.length - before).toBe(5);
  });

  it('does not wait for longer than it may take, however long the server asks for', async () => {
    api.always('other', refuse(429, 'TooManyRequests', { 'retry-after': '1000000' }));
    const answer = await client.request({ ...GET, timeoutMs: 5_000 });
    expect(answer).toMatchObject({ type: 'refused', status: 429 });
    expect(api.requests).toHaveLength(1);
  });

  it('reads the causes of a refusal', async () => {
    const causes = [{ reason: 'FieldManagerConflict', message: 'conflict with "x"', field: '.spec' }];
    api.always('other', refuse(409, 'Conflict', {}, { causes, retryAfterSeconds: 3 }));
    expect(await client.request(GET)).toEqual({
      type: 'refused',
      status: 409,
      refusal: { reason: 'Conflict', message: 'hostile Conflict', causes, retryAfterMs: 3_000 },
    });
  });

  it.each<[string, hostile.Answer, object]>([
    [
      '404 in plain text',
      raw('404 page not found', 404),
      { type: 'refused', status: 404, refusal: { reason: 'NotFound' } },
    ],
    ['502 of a proxy', raw('<h1>Bad Gateway</h1>', 502), { type: 'unreachable' }],
    ['500 of the server', refuse(500, 'InternalError'), { type: 'refused', status: 500 }],
    ['a list of JSON', raw('[]'), { type: 'unreachable' }],
    ['a reset', hostile.reset, { type: 'unreachable' }],
    ['silence', hostile.silence, { type: 'unreachable', message: 'no answer within 30000 ms' }],
    ['a body that does not end', hostile.events([]), { type: 'unreachable', message: 'no answer within 30000 ms' }],
    ['too much', hostile.endless('{"a":"', () => 'x'.repeat(65_536)), { type: 'unreachable', tooLarge: true }],
    [
      'a length beyond any measure',
      (response) => {
        response.writeHead(200, { 'content-length': '900000000000' });
        response.write('{');
      },
      { type: 'unreachable', tooLarge: true },
    ],
  ])('that is answered with %s', async (_, answer, expected) => {
    api.next('other', answer);
    expect(await client.request(GET)).toMatchObject(expected);
    api.next('other', json({ fine: true }));
    expect(await client.request(GET)).toMatchObject({ type: 'ok' });
    expect(api.requests).toHaveLength(2);
  });

  it('is called off by its signal', async () => {
    api.always('other', hostile.silence);
    const controller = new AbortController();
    const answer = client.request({ ...GET, signal: controller.signal });
    await until('it has arrived', () => api.requests.length === 1);
    controller.abort();
    expect(await answer).toEqual({ type: 'unreachable', message: 'called off' });
    expect(await client.request({ ...GET, signal: controller.signal })).toMatchObject({ message: 'called off' });
  });

  it('runs beside fifteen others and ten watches, and connections are used again', async () => {
    const held: ServerResponse[] = [];
    api.always('watch', hostile.events([]));
    api.always('other', (response) => void held.push(response));
    const ending = new AbortController();
    const query = { watch: 'true' };
    const path = '/api/v1/configmaps';
    const watches = Array.from({ length: 10 }, () =>
      client.watch({ path, query, silentMs: 1e6, signal: ending.signal }, () => undefined),
    );
    const answers = Array.from({ length: 16 }, () => client.request(GET));
    await until('all are there at once', () => held.length === 16 && api.openWatches() === 10);
    for (const response of held) json({})(response, api.requests[0]!);
    expect((await Promise.all(answers)).every(({ type }) => type === 'ok')).toBe(true);
    const connections = api.connections();
    api.always('other', json({}));
    for (let index = 0; index < 20; index += 1) await client.request(GET);
    // One may be opened while the pool has not yet noticed that another is free.
    expect(api.connections()).toBeLessThanOrEqual(connections + 1);
    ending.abort();
    expect(await Promise.all(watches)).toEqual(watches.map(() => ({ type: 'closed' })));
  });

  it('to an address without a listener reports that', async () => {
    const gone = await hostile.startHostileApi();
    await gone.close();
    const lonely = await harness.connect(harness.kubeconfigOf(gone.url));
    expect(await lonely.request(GET)).toEqual({
      type: 'unreachable',
      message: `${gone.url}: connection refused: nothing listens there`,
    });
    await lonely.close();
    expect(await lonely.request(GET)).toMatchObject({ type: 'unreachable' });
  });
});

describe('credentials', () => {
  it('are read again once after 401, for requests and for watches', async () => {
    const path = harness.kubeconfigOf(api.url, 'old');
    const connected = await harness.connect(path);
    const guarded = (inside: hostile.Answer): hostile.Answer => {
      return (response, request) =>
        (request.headers.authorization === 'Bearer new' ? inside : refuse(401, 'Unauthorized'))(response, request);
    };
    api.always('other', guarded(json({})));
    api.always('watch', guarded(hostile.events([], 'end')));
    expect(await connected.request(GET)).toMatchObject({ type: 'refused', status: 401 });
    expect(api.requests).toHaveLength(2);
    writeFileSync(path, kubeconfigText(api.url, { token: 'new' }));
    const watch = {
      path: '/api/v1/configmaps',
      query: { watch: 'true' },
      silentMs: 1e6,
      signal: new AbortController().signal,
    };
    expect(await connected.watch(watch, () => undefined)).toEqual({ type: 'closed' });
    expect(await connected.request(GET)).toMatchObject({ type: 'ok' });
  });

  it('in files are read again while the process runs, and a line end does no harm', async () => {
    api.always('other', json({}));
    writeFileSync(join(folder, 'token'), 'one\n');
    writeFileSync(join(folder, 'config'), kubeconfigText(api.url, { tokenFile: 'token', token: 'not this one' }));
    const connected = await harness.connect(join(folder, 'config'));
    expect(await connected.request(GET)).toMatchObject({ type: 'ok' });
    expect(api.requests.at(-1)?.headers.authorization).toBe('Bearer one');
    writeFileSync(join(folder, 'token'), 'two');
    api.next('other', refuse(401, 'Unauthorized'));
    expect(await connected.request(GET)).toMatchObject({ type: 'ok' });
    expect(api.requests.at(-1)?.headers.authorization).toBe('Bearer two');
    rmSync(join(folder, 'token'));
    api.next('other', refuse(401, 'Unauthorized'));
    expect(await connected.request(GET)).toMatchObject({
      type: 'unreachable',
      message: expect.stringMatching(/token/),
    });
  });

  it('that are read again and have not changed keep their connections', async () => {
    api.always('other', json({}));
    // So fast that credentials are old by the next request.
    const hurried = await harness.connect(harness.kubeconfigOf(api.url), createHurriedClock(1e6));
    for (let index = 0; index < 10; index += 1) await hurried.request({ ...GET, timeoutMs: 1e10 });
    expect(api.requests).toHaveLength(10);
    expect(api.connections()).toBeLessThanOrEqual(2);
  });

  it('come from a program, which is told what is wanted; one that hangs does not hold a request for ever', async () => {
    api.always('other', json({}));
    const info = '$(echo "$KUBERNETES_EXEC_INFO" | grep -c ExecCredential)';
    const script = `#!/bin/sh\necho '{"kind":"ExecCredential","status":{"token":"from-program-'"${info}"'"}}'\n`;
    writeFileSync(join(folder, 'program'), script, { mode: 0o700 });
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: './program' };
    writeFileSync(join(folder, 'config'), kubeconfigText(api.url, { exec }));
    const connected = await harness.connect(join(folder, 'config'), createHurriedClock(1));
    expect(await connected.request(GET)).toMatchObject({ type: 'ok' });
    expect(api.requests.at(-1)?.headers.authorization).toBe('Bearer from-program-1');
    writeFileSync(join(folder, 'hanging'), `#!/bin/sh\nwhile [ -d ${folder} ]; do sleep 0.2; done\n`, { mode: 0o700 });
    const hanging = { ...exec, command: './hanging' };
    writeFileSync(join(folder, 'config'), kubeconfigText(api.url, { exec: hanging }));
    const stuck = await harness.connect(join(folder, 'config'));
    expect(await stuck.request({ ...GET, timeoutMs: 2_000 })).toMatchObject({ type: 'unreachable' });
  });
});

describe('finding the API server', () => {
  const connect = (options: Partial<ConnectKubeOptions>) =>
    connectKube(
      { clock: createHurriedClock(1), random: createSystemRandom(), log: silentLog },
      { userAgent: 'x', env: { HOME: folder }, ...options },
    );
  const problemOf = async (options: Partial<ConnectKubeOptions>) => {
    const connected = await connect(options);
    return connected.ok ? 'connected' : connected.problem;
  };
  const write = (name: string, value: unknown) => {
    const path = join(folder, name);
    writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
    return path;
  };

  it('takes the named file, else KUBECONFIG, else the one at home', async () => {
    mkdirSync(join(folder, '.kube'));
    write('.kube/config', kubeconfigText('https://home:1', {}));
    const named = write('named', kubeconfigText('https://named:2', {}));
    const listed = write('listed', kubeconfigText('https://listed:3', {}));
    expect(must(await connect({})).client.server).toBe('https://home:1');
    const env = { HOME: folder, KUBECONFIG: `:${join(folder, 'missing')}:${listed}:${named}` };
    expect(must(await connect({ env })).client.server).toBe('https://listed:3');
    expect(must(await connect({ env, kubeconfig: named })).client.server).toBe('https://named:2');
  });

  it('merges the files of KUBECONFIG: the first one that names a thing wins', async () => {
    const first = write('first', { clusters: [{ name: 'c', cluster: { server: 'https://first:1' } }] });
    const second = write('second', kubeconfigText('https://second:2', {}));
    const connected = must(await connect({ env: { KUBECONFIG: `${first}:${second}` } }));
    expect(connected).toMatchObject({ namespace: 'mine', client: { server: 'https://first:1' } });
  });

  it('says which file or context is missing, and which there are', async () => {
    const good = write('good', kubeconfigText('https://good:1', {}));
    expect(await problemOf({})).toBe(
      `the kubeconfig ${join(folder, '.kube/config')} is not there; name one with --kubeconfig FILE`,
    );
    expect(await problemOf({ env: { KUBECONFIG: '/none:/nothing' } })).toMatch(
      /^no kubeconfig: \/none, \/nothing is not there/,
    );
    expect(await problemOf({ kubeconfig: good, context: 'other' })).toBe(
      `${good} has no context "other" (there are: x)`,
    );
    const none = write('none', { contexts: [{ name: 'a' }, { name: 'b' }] });
    expect(await problemOf({ kubeconfig: none })).toMatch(
      /no current-context; choose one with --context NAME \(there are: a, b\)/,
    );
    const torn = write('torn', { contexts: [{ name: 'a', context: { cluster: 'z' } }], 'current-context': 'a' });
    expect(await problemOf({ kubeconfig: torn })).toMatch(/names a cluster that is not there: z/);
  });

  it.each<[string, unknown, RegExp]>([
    ['not YAML, without quoting it', 'token: secret\n  x: [', /is not YAML$/],
    ['a list', '[1]', /is not a mapping/],
    ['empty', '', /has no current-context.*it has none/],
    ['of a server that is no address', kubeconfigText('10.0.0.1', {}), /no address/],
    ['of a server elsewhere without TLS', kubeconfigText('http://10.0.0.1:8080', {}), /unencrypted/],
    [
      'of a server whose name only looks like loopback',
      kubeconfigText('http://127.0.0.1.evil.example', {}),
      /unencrypted/,
    ],
    [
      'that acts for groups',
      kubeconfigText('https://a:1', { 'as-groups': ['x'] }),
      /as-groups, which is not supported/,
    ],
  ])('refuses a file that is %s', async (_, content, message) => {
    expect(await problemOf({ kubeconfig: write('bad', content) })).toMatch(message);
  });

  it('in a pod takes its ServiceAccount', async () => {
    expect(await problemOf({ inCluster: true })).toMatch(/KUBERNETES_SERVICE_HOST is not set/);
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };
    const pod = { inCluster: true, env, serviceAccountFolder: folder };
    expect(await problemOf(pod)).toMatch(/token cannot be read.*ServiceAccount/);
    write('token', 'abc');
    write('namespace', 'relay\n');
    const connected = must(await connect(pod));
    expect(connected).toMatchObject({ namespace: 'relay', client: { server: 'https://[fd00::1]:6443' } });
    expect(await connected.client.request(GET)).toMatchObject({
      type: 'unreachable',
      message: expect.stringMatching(/ca\.crt/),
    });
  });
});

describe('the catalog of a hostile server', () => {
  const GROUP = {
    metadata: { name: 'apps' },
    versions: [version('v1', 'Deployment'), version('v1beta1', 'Deployment')],
  };

  function version(name: string, kind: string, freshness = 'Current') {
    const resource = {
      resource: `${kind.toLowerCase()}s`,
      responseKind: { kind },
      scope: 'Namespaced',
      verbs: ['list'],
    };
    return { version: name, freshness, resources: freshness === 'Stale' ? [] : [resource] };
  }
  function discovery(...items: readonly unknown[]) {
    return json({ kind: 'APIGroupDiscoveryList', items });
  }
  const core = discovery({ metadata: { name: '' }, versions: [version('v1', 'Pod')] });
  /** `/api` and `/apis` are asked for at the same time. */
  function serve(apis: Readonly<Record<string, hostile.Answer>>): void {
    api.always('other', (response, request) => (apis[request.path] ?? refuse(404, 'NotFound'))(response, request));
  }

  it('knows each kind in each version, and prefers what the server does', async () => {
    serve({ '/api': core, '/apis': discovery(GROUP) });
    const catalog = must(await loadCatalog(client));
    expect(catalog.preferred.map(({ group, version, kind }) => `${group}/${version}/${kind}`)).toEqual([
      '/v1/Pod',
      'apps/v1/Deployment',
    ]);
    expect(catalog.find('apps', 'Deployment', 'v1beta1')?.version).toBe('v1beta1');
    expect(catalog.find('apps', 'Deployment', 'v2')).toBeUndefined();
  });

  it('keeps what was known of a group that cannot be read, and forgets one that is gone', async () => {
    const metrics = (freshness?: string) => ({
      metadata: { name: 'metrics' },
      versions: [version('v1', 'PodMetrics', freshness)],
    });
    serve({ '/api': core, '/apis': discovery(GROUP, metrics()) });
    const before = must(await loadCatalog(client));
    serve({ '/api': core, '/apis': discovery(metrics('Stale')) });
    const after = must(await loadCatalog(client, before));
    expect([...after.unreadableGroups]).toEqual(['metrics']);
    expect(after.find('metrics', 'PodMetrics')).toEqual(before.find('metrics', 'PodMetrics'));
    expect(after.find('apps', 'Deployment')).toBeUndefined();
  });

  it.each([
    ['/api', { kind: 'APIVersions', versions: ['v1'] }],
    ['/apis', { kind: 'APIGroupList', groups: [] }],
  ])('names the version that is needed if %s has no aggregated discovery', async (path, body) => {
    serve({ '/api': core, '/apis': discovery(GROUP), [path]: json(body) });
    expect(await loadCatalog(client)).toEqual({
      ok: false,
      problem: `${api.url} has no aggregated discovery: Kubernetes 1.27 or newer is needed`,
    });
  });

  it.each<[string, hostile.Answer]>([
    ['is something else', json({ kind: 'Nonsense' })],
    ['is forbidden', refuse(403, 'Forbidden')],
    ['is reset', hostile.reset],
    ['has no items', json({ kind: 'APIGroupDiscoveryList' })],
  ])('is unknown if half of it %s', async (_, answer) => {
    serve({ '/api': core, '/apis': answer });
    expect(await loadCatalog(client)).toMatchObject({ ok: false });
    serve({ '/api': answer, '/apis': discovery(GROUP) });
    expect(await loadCatalog(client)).toMatchObject({ ok: false });
  });
});

function kubeconfigText(server: string, user: object): string {
  const context = { cluster: 'c', user: 'u', namespace: 'mine' };
  return JSON.stringify({
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context }],
    'current-context': 'x',
  });
}
