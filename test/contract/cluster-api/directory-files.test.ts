import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDirectoryCluster } from '../../../src/adapters/directory/cluster.ts';
import { readLiveFile, renderLiveFile } from '../../../src/adapters/directory/object-file.ts';
import { withoutStamp } from '../../../src/adapters/directory/stamp.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { canonicalJson, type JsonObject } from '../../../src/model/text/json.ts';
import { must } from '../../../src/model/values/result.ts';
import type { ClusterApi } from '../../../src/ports/cluster-api.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { configMap, fleet, inventoryChange, keyOf, nonce, request } from './suite.ts';

let home: string;
let directory: string;
let cluster: ClusterApi;
const deps = { clock: createSystemClock(), random: createSystemRandom(), log: createRecordingLog() };
const a = configMap('a', { k: '1' });
const pathOfA = 'namespaces/web/configmap/a.yaml';

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'fleetrelay-files-'));
  directory = join(home, 'cluster');
  cluster = await createDirectoryCluster(deps, { directory });
});
afterEach(async () => {
  await cluster.close();
  rmSync(home, { recursive: true, force: true });
});

const at = (path: string): string => join(directory, path);
const put = (path: string, text: string): void => {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
};
async function reopen(): Promise<void> {
  await cluster.close();
  cluster = await createDirectoryCluster(deps, { directory });
}

test('a file is at the path of its object, as YAML with the stamp; its empty folders are removed with it', async () => {
  await cluster.apply(request(a));
  expect(readFileSync(at(pathOfA), 'utf8')).toBe(
    [
      'apiVersion: v1',
      'kind: ConfigMap',
      'metadata:',
      '  name: a',
      '  namespace: web',
      '  annotations:',
      '    fleetrelay.dev/fleet: fleet',
      '    fleetrelay.dev/object: /ConfigMap/web/a',
      `    fleetrelay.dev/nonce: ${nonce}`,
      '    fleetrelay.dev/origin: git:clusters/west/web.yaml',
      'data:',
      "  k: '1'",
      '',
    ].join('\n'),
  );
  await cluster.apply(
    request({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd', namespace: 'web' } }),
  );
  expect(existsSync(at('namespaces/web/deployment.apps/d.yaml'))).toBe(true);
  await cluster.remove({ key: keyOf(a), fleet, nonce });
  expect(readdirSync(at('namespaces/web'))).toEqual(['deployment.apps']);
});

test('a Secret can be read by its owner only', async () => {
  await cluster.apply(request({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'web' } }));
  expect(statSync(at('namespaces/web/secret/s.yaml')).mode & 0o777).toBe(0o600);
});

test('nothing is written through a link that leads out of the folder', async () => {
  const outside = join(home, 'outside');
  mkdirSync(outside);
  symlinkSync(outside, at('namespaces'));
  expect(await cluster.apply(request(a))).toMatchObject({ type: 'failed', reason: 'BlockedPath' });
  expect(readdirSync(outside)).toEqual([]);
});

test('a link at the place of a file is neither followed nor replaced', async () => {
  const outside = join(home, 'outside.yaml');
  writeFileSync(outside, 'untouched');
  mkdirSync(dirname(at(pathOfA)), { recursive: true });
  symlinkSync(outside, at(pathOfA));
  expect(await cluster.apply(request(a))).toMatchObject({ type: 'conflict', owner: pathOfA });
  expect(await cluster.remove({ key: keyOf(a), fleet, nonce })).toMatchObject({ type: 'notOwned' });
  expect(readFileSync(outside, 'utf8')).toBe('untouched');
});

test('a linked folder of our own is refused at the start', async () => {
  await cluster.close();
  rmSync(at('.fleetrelay'), { recursive: true });
  mkdirSync(join(home, 'elsewhere'));
  symlinkSync(join(home, 'elsewhere'), at('.fleetrelay'));
  await expect(createDirectoryCluster(deps, { directory })).rejects.toThrow();
  rmSync(at('.fleetrelay'));
  await createDirectoryCluster(deps, { directory }).then((again) => {
    cluster = again;
  });
});

test("a person's file at our place, and one with our object elsewhere, are conflicts with their path", async () => {
  put(pathOfA, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: web}\n');
  expect(await cluster.apply(request(a))).toMatchObject({ type: 'conflict', owner: pathOfA });
  const b = configMap('b', {});
  put('hand/made.yml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: web}\n');
  await cluster.list('complete');
  expect(await cluster.apply(request(b))).toMatchObject({ type: 'conflict', owner: 'hand/made.yml' });
  expect(existsSync(at('namespaces/web/configmap/b.yaml'))).toBe(false);
});

test('our file to which a person added an object is a conflict', async () => {
  await cluster.apply(request(a));
  const text = readFileSync(at(pathOfA), 'utf8');
  writeFileSync(at(pathOfA), `${text}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: added, namespace: web}\n`);
  expect(await cluster.apply(request(configMap('a', { k: '2' })))).toMatchObject({ type: 'conflict', owner: pathOfA });
  expect((await cluster.list('complete')).objects.has('/ConfigMap/web/added' as ObjectKey)).toBe(true);
});

test('a copy of our file under another name owns nothing', async () => {
  await cluster.apply(request(a));
  const copy = readFileSync(at(pathOfA), 'utf8').replace('name: a', 'name: copy');
  put('namespaces/web/configmap/copy.yaml', copy);
  expect(await cluster.remove({ key: '/ConfigMap/web/copy' as ObjectKey, fleet, nonce })).toMatchObject({
    type: 'notOwned',
  });
  expect(existsSync(at('namespaces/web/configmap/copy.yaml'))).toBe(true);
});

test('kinds that differ only in case do not overwrite each other', async () => {
  const thing = (kind: string): JsonObject => ({
    apiVersion: 'x.dev/v1',
    kind,
    metadata: { name: 'n', namespace: 'web' },
  });
  expect(await cluster.apply(request(thing('FooBar')))).toMatchObject({ type: 'applied' });
  expect(await cluster.apply(request(thing('Foobar')))).toMatchObject({
    type: 'conflict',
    message: expect.stringContaining('only in case'),
  });
});

test('a broken file with our stamp is restored; a broken file without it is not changed', async () => {
  await cluster.apply(request(a));
  writeFileSync(at(pathOfA), `${readFileSync(at(pathOfA), 'utf8')}broken: [\n`);
  expect(await cluster.apply(request(a))).toMatchObject({ type: 'applied' });
  writeFileSync(at(pathOfA), '');
  expect(await cluster.apply(request(a))).toMatchObject({ type: 'applied' });
  writeFileSync(at(pathOfA), 'other: [text');
  expect(await cluster.apply(request(a))).toMatchObject({ type: 'conflict', owner: pathOfA });
  expect(await cluster.remove({ key: keyOf(a), fleet, nonce })).toMatchObject({ type: 'notOwned' });
  expect(readFileSync(at(pathOfA), 'utf8')).toBe('other: [text');
});

test('an unreadable file makes its kind unknown, never empty, and keeps its last known objects', async () => {
  put('mine.yaml', 'apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: web}\n');
  await cluster.apply(request(a));
  await cluster.list('complete');
  put('mine.yaml', 'apiVersion: v1\nkind: Service\nmetadata: {name: s\n');
  put('namespaces/web/deployment.apps/x.yaml', 'a: [');
  const { objects, kinds, diagnostics } = await cluster.list('complete');
  expect([...objects.keys()].sort()).toEqual(['/ConfigMap/web/a', '/Service/web/s']);
  expect(kinds.map(({ kind, state }) => `${kind} ${state}`)).toEqual([
    '/ConfigMap complete',
    '/Service unknown',
    'apps/deployment unknown',
  ]);
  expect(diagnostics.map(({ reason, at: where }) => `${reason} ${where?.path}`)).toEqual([
    'UnreadableLiveFile mine.yaml',
    'UnreadableLiveFile namespaces/web/deployment.apps/x.yaml',
  ]);
});

test('an emptied file keeps its last known objects, because a program may be writing it', async () => {
  put('mine.yaml', 'apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: web}\n');
  await cluster.list('complete');
  put('mine.yaml', '');
  const { objects, kinds } = await cluster.list('complete');
  expect([...objects.keys()]).toEqual(['/Service/web/s']);
  expect(kinds).toEqual([{ kind: '/Service', state: 'unknown', message: 'mine.yaml cannot be read' }]);
  rmSync(at('mine.yaml'));
  expect((await cluster.list('complete')).objects.size).toBe(0);
});

test('hidden files, other extensions and temporary files of a crash are no live state', async () => {
  await cluster.close();
  for (const path of ['.hidden.yaml', '.git/x.yaml', 'README.md', 'x.yaml~', '.x.yaml.swp']) put(path, 'kind: [');
  put(`namespaces/web/configmap/.fleetrelay-${'0'.repeat(32)}.tmp`, 'half');
  cluster = await createDirectoryCluster(deps, { directory });
  const { objects, diagnostics } = await cluster.list('complete');
  expect([objects.size, diagnostics]).toEqual([0, []]);
  expect(readdirSync(at('namespaces/web/configmap'))).toEqual([]);
});

test('a truncated last step of the inventory is dropped; damage before it is reported, and the file is kept', async () => {
  await cluster.saveInventory(inventoryChange(1, [a]));
  await cluster.saveInventory(inventoryChange(2, [], [keyOf(a)]));
  const path = at('.fleetrelay/inventory');
  const complete = readFileSync(path, 'utf8');
  writeFileSync(path, complete.slice(0, -20));
  await reopen();
  expect(await cluster.loadInventory()).toMatchObject({ type: 'found', state: { position: { sequence: 1 } } });
  await cluster.saveInventory(inventoryChange(3, []));
  await reopen();
  expect(await cluster.loadInventory()).toMatchObject({ type: 'found', state: { position: { sequence: 3 } } });

  writeFileSync(path, complete.replace('"epoch":1', '"epoch":7'));
  await reopen();
  expect(await cluster.loadInventory()).toMatchObject({ type: 'damaged' });
  await cluster.saveInventory(inventoryChange(4, [a]));
  expect(readdirSync(at('.fleetrelay'))).toContain('inventory.corrupt-1');
  await reopen();
  expect(await cluster.loadInventory()).toMatchObject({ type: 'found', state: { position: { sequence: 4 } } });
});

test('a second agent on the same folder is refused; the lock of a dead process is replaced', async () => {
  await expect(createDirectoryCluster(deps, { directory })).rejects.toThrow('locked by another agent');
  await cluster.close();
  writeFileSync(at('.fleetrelay/lock'), '4194304 1 dead\n');
  cluster = await createDirectoryCluster(deps, { directory });
});

test('the lock of a killed agent is replaced, even while its process is a zombie', async () => {
  await cluster.close();
  // A process whose parent never waits for it stays behind as a zombie when it ends.
  const parent = spawn('sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    const pid = await new Promise<string>((resolve) =>
      parent.stdout.once('data', (data: Buffer) => resolve(`${data}`.trim())),
    );
    const stat = (): string[] => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    await expect.poll(() => stat()[0]).toBe('Z');
    writeFileSync(at('.fleetrelay/lock'), `${pid} ${stat()[19]} killed\n`);
    cluster = await createDirectoryCluster(deps, { directory });
  } finally {
    parent.kill('SIGKILL');
  }
});

test('our own writes are no hints, and an edit within the same tick of the clock is seen', async () => {
  await cluster.list('complete');
  let hints = 0;
  cluster.watch(() => {
    hints += 1;
  });
  for (let round = 0; round < 20; round += 1) {
    await cluster.apply(request(configMap('a', { k: `${round}` })));
    writeFileSync(
      at(pathOfA),
      readFileSync(at(pathOfA), 'utf8').replace(`'${round}'`, `'x'`.padEnd(`'${round}'`.length)),
    );
    const edited = (await cluster.list('complete')).objects.get(keyOf(a));
    expect(edited?.value).toEqual(configMap('a', { k: 'x' }));
  }
  const b = configMap('b', {});
  const before = hints;
  await cluster.apply(request(b));
  const marker = new Promise<void>((resolve) => cluster.watch(resolve));
  put('marker.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: marker, namespace: web}\n');
  await marker;
  expect(hints - before).toBeLessThanOrEqual(2);
});

test('a rendered value is read back equal', () => {
  const json = fc.jsonValue({ maxDepth: 4 }).map((value) => value as JsonObject[string]);
  fc.assert(
    fc.property(fc.dictionary(fc.string(), json), (data) => {
      const value: JsonObject = { ...configMap('a', {}), data: JSON.parse(canonicalJson(data)) };
      const read = must(readLiveFile('a.yaml', renderLiveFile(value, request(a).stamp)));
      expect(canonicalJson(read[0]?.value ?? null)).toBe(canonicalJson(withoutStamp(value)));
      expect(read[0]?.stamp).toEqual(request(a).stamp);
    }),
  );
});
