import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createSchemaLocator,
  type SchemaLocatorOptions,
} from '../../../../src/compose/validate/schemas/schema-locations.ts';

const folder = mkdtempSync(join(tmpdir(), 'schema-locations-'));
const thing = { group: 'example.com', version: 'v1', kind: 'Thing' };
const requests: string[] = [];
const server = createServer((request, response) => {
  requests.push(request.url ?? '');
  switch (request.url) {
    case '/s/thing.json':
      return response.end('{"$ref": "common.json#/definitions/thing"}');
    case '/s/common.json':
      return response.end('{"definitions": {"thing": {"type": "object"}}}');
    case '/s/other.json':
      return response.end('{"$ref": "http://127.0.0.1:1/away.json"}');
    case '/s/broken.json':
      return response.end('no JSON');
    case '/s/failing.json':
      return response.writeHead(503).end();
    case '/s/moved.json':
      return response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
    case '/s/large.json':
      return response.end(`"${'x'.repeat(11 * 1024 * 1024)}"`);
    default:
      return response.writeHead(404).end();
  }
});
let url = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  mkdirSync(join(folder, 'repo/apps'), { recursive: true });
  writeFileSync(join(folder, 'repo/thing.json'), '{"type": "object"}');
  writeFileSync(join(folder, 'outside.json'), '{"type": "object"}');
  symlinkSync(join(folder, 'outside.json'), join(folder, 'repo/link.json'));
  mkdirSync(join(folder, 'special/folder.json'), { recursive: true });
  execFileSync('sh', ['-c', 'mkfifo "$0"', join(folder, 'special/pipe.json')]);
  writeFileSync(join(folder, 'special/deep.json'), '{"not":'.repeat(50_000) + '{}'.padEnd(50_002, '}'));
  symlinkSync('/dev/zero', join(folder, 'special/device.json'));
  symlinkSync('loop.json', join(folder, 'special/loop.json'));
  writeFileSync(join(folder, 'special/sparse.json'), '');
  truncateSync(join(folder, 'special/sparse.json'), 2 ** 40);
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

function locator(locations: readonly string[], more: Partial<SchemaLocatorOptions> = {}) {
  return createSchemaLocator({ locations, cwd: join(folder, 'repo'), kubernetesVersion: '1.36.0', ...more });
}

describe('schema locations', () => {
  it('are searched in their order, and a kind that none of them has is left out', async () => {
    const { locate } = locator([
      'default',
      './none/{{.ResourceKind}}.json',
      '{{.ResourceKind}}.json',
      `${url}/s/{{.ResourceKind}}.json`,
    ]);
    const other = { ...thing, kind: 'Nowhere' };
    expect(await locate([thing, other])).toEqual([
      {
        ...thing,
        file: {
          location: join(folder, 'repo/thing.json'),
          documents: { [join(folder, 'repo/thing.json')]: { type: 'object' } },
        },
      },
    ]);
  });

  it('are fetched with the files that they refer to, once', async () => {
    requests.length = 0;
    const { locate } = locator([`${url}/s/{{.ResourceKind}}.json`]);
    const [first] = await locate([thing]);
    expect(first).toMatchObject({ file: { location: `${url}/s/thing.json` } });
    await locate([thing]);
    expect(requests).toEqual(['/s/thing.json', '/s/common.json']);
  });

  it.each([
    ['Broken', 'it is not JSON'],
    ['Failing', 'the server answers 503'],
    ['Moved', 'it has moved to http://127.0.0.1:1/, which is not followed'],
    ['Large', 'it has more than 10485760 bytes'],
    ['Other', 'its reference to http://127.0.0.1:1/away.json is not read'],
  ])('give a problem for the kind %s', async (kind, why) => {
    const [found] = await locator([`${url}/s/{{.ResourceKind}}.json`]).locate([{ ...thing, kind }]);
    expect(found).toMatchObject({ kind, problem: expect.stringContaining(why) });
  });

  it.each([
    ['Folder', /it is no plain file$/],
    ['Pipe', /it is no plain file$/],
    ['Device', /it is no plain file$/],
    ['Loop', /cannot be read: ELOOP$/],
    ['Deep', /it is nested too deep$/],
    ['Sparse', /it has more than 10485760 bytes$/],
  ])('give a problem for a special file: %s', async (kind, why) => {
    const [found] = await locator([join(folder, 'special/{{.ResourceKind}}.json')]).locate([{ ...thing, kind }]);
    expect(found).toMatchObject({ kind, problem: expect.stringMatching(why) });
  });

  it('give a problem if the server cannot be reached', async () => {
    const [found] = await locator(['http://127.0.0.1:1/{{.ResourceKind}}.json']).locate([thing]);
    expect(found).toMatchObject({
      problem: expect.stringMatching(/^the schema .* cannot be read: .*ECONNREFUSED|bad port/),
    });
  });

  it('must have variables that exist', () => {
    expect(() => locator(['{{ .Nothing }}.json'])).toThrow('{{ .ResourceKind }}');
  });
});

describe('a schema that a file names', () => {
  const file = { location: join(folder, 'repo/apps/app.yaml'), root: join(folder, 'repo') };

  it('is read inside of the folder, and below a location', async () => {
    const { read } = locator([`${url}/s/{{.ResourceKind}}.json`]);
    expect(await read('../thing.json', file)).toMatchObject({ file: { location: join(folder, 'repo/thing.json') } });
    expect(await read(`${url}/s/thing.json`, file)).toMatchObject({ file: { location: `${url}/s/thing.json` } });
  });

  it.each([
    ['../../outside.json', 'it is outside of the repository'],
    ['/etc/passwd', 'it is outside of the repository'],
    ['../link.json', 'it is outside of the repository'],
    ['../missing.json', 'there is no such file'],
    ['http://127.0.0.1:1/s/thing.json', 'no --schema-location covers it'],
    ['URL/s/../secret', 'no --schema-location covers it'],
    ['URL/s/%2e%2e/secret', 'no --schema-location covers it'],
  ])('is not read: %s', async (reference, why) => {
    requests.length = 0;
    const { read } = locator([`${url}/s/{{.ResourceKind}}.json`]);
    expect(await read(reference.replace('URL', url), file)).toMatchObject({ problem: expect.stringContaining(why) });
    expect(requests).toEqual([]);
  });
});
