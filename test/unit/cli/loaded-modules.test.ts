import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fleetView } from '../../support/server-api.ts';

/** What a short command loads decides how long it takes: modules of our own, packages, and parts of Node.js. */

const PROJECT = join(import.meta.dirname, '../../..');
const REPORTER = join(import.meta.dirname, '../../support/report-loaded.cjs');
/** `status` loads 36 modules of ours today. */
const MOST_MODULES = 36;

let server: Server;
let api = '';

beforeAll(async () => {
  server = createServer((request, response) => {
    const body = request.url?.startsWith('/api/v1/status') === true ? fleetView() : { items: [] };
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => server.close());

/** Runs a command from the sources; what its process has loaded. */
async function loadedBy(words: readonly string[]) {
  const args = ['--require', REPORTER, join(PROJECT, 'bin/fleetrelay.cjs'), ...words, '--api', api];
  const run = promisify(execFile)(process.execPath, args, { env: { ...process.env, NODE_OPTIONS: '' } });
  // The exit code says how the fleet is.
  const { stderr } = await run.catch((error: unknown) => error as { readonly stderr: string });
  const [, report = ''] = /^LOADED (.*)$/m.exec(stderr) ?? [];
  const { files, builtins } = JSON.parse(report) as Record<'files' | 'builtins', readonly string[]>;
  const packages = files.flatMap((file) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []);
  return { own: files.filter((file) => file.includes('/src/')), packages: [...new Set(packages)], builtins };
}

test.each(['status', 'get clusters', 'history east', 'approve --list', 'source list'])(
  '%s loads no package but commander, and neither fetch nor HTTP/2',
  async (words) => {
    const { packages, builtins } = await loadedBy(words.split(' '));
    expect(packages).toEqual(['commander']);
    expect(builtins).toContain('http');
    expect(builtins.filter((name) => /undici|http2|sqlite/.test(name))).toEqual([]);
  },
);

test('status loads few modules, and nothing of a domain', async () => {
  const { own } = await loadedBy(['status']);
  expect(own.length).toBeGreaterThan(10);
  expect(own.filter((file) => file.includes('/src/domains/'))).toEqual([]);
  expect(own.length, own.join('\n')).toBeLessThanOrEqual(MOST_MODULES);
});
