import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readClusterDefinitions } from '../../../../src/compose/validate/schemas/cluster-definitions.ts';

const folder = mkdtempSync(join(tmpdir(), 'cluster-definitions-'));
const kubeconfig = join(folder, 'config');
const io = { cwd: folder, env: {}, version: 'test' };
const requests: string[] = [];
let isForbidden = false;

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
  requests.push(`${pathname} ${searchParams.get('continue')}`);
  response.setHeader('content-type', 'application/json');
  if (isForbidden) {
    response.writeHead(403).end('{"kind": "Status", "reason": "Forbidden", "message": "no right to list them"}');
    return;
  }
  const isLast = searchParams.get('continue') === 'second';
  response.end(
    JSON.stringify({
      metadata: isLast ? {} : { continue: 'second' },
      items: [{ metadata: { name: 'x' }, spec: { group: isLast ? 'b.example.com' : 'a.example.com' } }],
    }),
  );
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cluster = { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const context = { cluster: 'one', user: 'one' };
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'one' },
      clusters: [{ name: 'one', cluster }],
      contexts: [{ name: 'one', context }],
      users: [{ name: 'one', user: { token: 'x' } }],
    }),
  );
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

describe('the CustomResourceDefinitions of a cluster', () => {
  it('are listed in pages, each with its kind', async () => {
    const found = await readClusterDefinitions({ kubeconfig, context: 'one' }, io);
    expect(found).toEqual(
      ['a.example.com', 'b.example.com'].map((group) => ({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        spec: { group },
      })),
    );
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    expect(requests).toEqual([`${path} null`, `${path} second`]);
  });

  it('are an error with the address of the cluster and its reason', async () => {
    isForbidden = true;
    await expect(readClusterDefinitions({ kubeconfig, context: 'one' }, io)).rejects.toThrow(
      /^http:\/\/127\.0\.0\.1:\d+.*: the CustomResourceDefinitions cannot be listed: no right to list them$/,
    );
    await expect(readClusterDefinitions({ kubeconfig, context: 'two' }, io)).rejects.toThrow(/two/);
  });
});
