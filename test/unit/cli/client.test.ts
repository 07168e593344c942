import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type CliRun, runCli } from '../../support/cli.ts';
import { type RunningServer, runServer } from '../../support/running-server.ts';
import { fakeApi, fleetView, HELD_DIGEST } from '../../support/server-api.ts';

const TOKEN = 'a-token-of-enough-length';
const running: RunningServer[] = [];

afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

async function server(api = fakeApi(), token?: string) {
  const started = await runServer({ api }, token === undefined ? {} : { token });
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
    expect(out).toContain('fleet shop: ready; applied by 1 of 2 clusters; waiting for west');
    expect(out).toMatch(/^west +no +2026-01-02T03:04:05Z/m);
    expect(out).toContain(`release: fleetrelay approve ${HELD_DIGEST.slice(0, 12)}`);
    expect(out).toContain('clusters/east/web.yaml:3:5');
  });

  test('exits with 0 when it is well', async () => {
    const fleet = fleetView({ heldRemovals: [], diagnostics: [], clusters: [] });
    const { ask } = await server(fakeApi(fleet));
    expect((await ask('status')).code).toBe(0);
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

  test('prints what the server said as JSON and YAML', async () => {
    const { ask } = await server();
    expect(JSON.parse((await ask('status -o json')).out)).toEqual(JSON.parse(JSON.stringify(fleetView())));
    expect((await ask('status -o yaml')).out).toContain('fleet: shop\n');
  });
});

describe('get', () => {
  test.each(['clusters', 'outputs', 'sources', 'removals', 'diagnostics'])('%s lists', async (what) => {
    const { ask } = await server();
    const { code, out } = await ask(`get ${what}`);
    expect(code).toBe(0);
    expect(out.split('\n').length).toBeGreaterThan(2);
    expect(Array.isArray(JSON.parse((await ask(`get ${what} -o json`)).out))).toBe(true);
  });

  test('only what belongs to a cluster', async () => {
    const { ask } = await server();
    expect((await ask('get clusters --cluster west')).out).not.toContain('east');
    expect((await ask('get removals --cluster west')).out).toBe('no removals\n');
    expect(await ask('get outputs --cluster nowhere')).toMatchObject({
      code: 5,
      err: 'fleetrelay: there is no cluster "nowhere"\n',
    });
  });
});

test('explain walks back to the line, or says that there is nothing', async () => {
  const { ask } = await server();
  const found = await ask('explain east ConfigMap/web/settings');
  expect(found.code).toBe(0);
  expect(found.out).toContain('clusters/east/web.yaml:4@1111111');
  expect((await ask('explain east ConfigMap/web/other')).code).toBe(5);
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

  test('of what is not held asks the server for nothing', async () => {
    const { ask, api } = await server();
    expect((await ask(`approve ${'0'.repeat(64)}`)).code).toBe(5);
    expect(api.calls).toEqual([]);
  });

  test('--list shows what is held', async () => {
    const { ask } = await server();
    expect((await ask('approve --list')).out).toMatch(/^aaaaaaaaaaaa +east +ConfigMap\/web\/settings/m);
  });
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

test('source accept takes the first digits that the table shows, and sends the whole revision', async () => {
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

describe('without a server', () => {
  test('the message says how to get one', async () => {
    const { url } = await server();
    await running.pop()?.stop();
    expect(await runCli(['status', '--api', url])).toMatchObject({
      code: 3,
      err: `fleetrelay: no server answers at ${url} (ECONNREFUSED) (start one with \`fleetrelay serve\`, or name it with --api)\n`,
    });
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
