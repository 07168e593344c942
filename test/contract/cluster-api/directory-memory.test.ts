/** What a directory cluster keeps in memory of the objects that fleetrelay has written: their digests, and no contents. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDirectoryCluster } from '../../../src/adapters/directory/cluster.ts';
import { pathOfObject, renderLiveFile } from '../../../src/adapters/directory/object-file.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { objectDigest } from '../../../src/model/text/digest.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import type { ApplyRequest, ClusterApi, ObservedObject } from '../../../src/ports/cluster-api.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { configMap, keyOf, request } from './suite.ts';

let home: string;
let directory: string;
let cluster: ClusterApi;
const a = configMap('a', { k: '1' });
const b = configMap('b', { k: '2' });

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'fleetrelay-directory-memory-'));
  directory = join(home, 'cluster');
  cluster = await open();
});
afterEach(async () => {
  await cluster.close();
  rmSync(home, { recursive: true, force: true });
});

function open(): Promise<ClusterApi> {
  const deps = { clock: createSystemClock(), random: createSystemRandom(), log: createRecordingLog() };
  return createDirectoryCluster(deps, { directory });
}

async function observedOf(value: JsonObject): Promise<ObservedObject> {
  const observed = (await cluster.list('complete')).objects.get(keyOf(value));
  if (observed === undefined) throw new Error('the object is not there');
  return observed;
}

/** A request whose declared value must not be read. */
function unread(value: JsonObject): ApplyRequest {
  return {
    ...request(value),
    digest: objectDigest(value),
    get value(): JsonObject {
      throw new Error('the declared value was read');
    },
  };
}

test('a live object matches its declaration by the digest, after a write and after a restart, and neither value is read', async () => {
  await cluster.apply(request(a));
  expect(cluster.matches(unread(a), await observedOf(a))).toBe(true);
  await cluster.close();
  cluster = await open();
  expect(cluster.matches(unread(a), await observedOf(a))).toBe(true);
});

test('an object that is declared with empty annotations, or with annotations of a stamp, matches what was written', async () => {
  for (const annotations of [{}, { 'fleetrelay.dev/nonce': 'x' }, { own: 'x', 'fleetrelay.dev/nonce': 'x' }]) {
    const value = { ...a, metadata: { name: 'a', namespace: 'web', annotations } };
    const declared = { ...request(value), digest: objectDigest(value) };
    await cluster.apply(declared);
    expect(cluster.matches(declared, await observedOf(value))).toBe(true);
    expect(await cluster.apply(declared)).toEqual({ type: 'unchanged' });
  }
});

test('a file of ours that a person has changed does not match, and its value is read from the file', async () => {
  await cluster.apply(request(a));
  const { stamp } = request(a);
  writeFileSync(join(directory, pathOfObject(keyOf(a))), renderLiveFile(configMap('a', { k: 'changed' }), stamp));
  const observed = await observedOf(a);
  expect(cluster.matches({ ...request(a), digest: objectDigest(a) }, observed)).toBe(false);
  expect(observed.value).toEqual(configMap('a', { k: 'changed' }));
});

test('a file of ours that cannot be parsed leaves its object there, stale and not as declared, and the list is complete otherwise', async () => {
  await cluster.apply(request(a));
  await cluster.apply(request(b));
  await cluster.list('hinted');
  writeFileSync(join(directory, pathOfObject(keyOf(a))), 'kind: [');
  const torn = await observedOf(a);
  expect(torn).toMatchObject({ key: keyOf(a), stale: true, isReread: true });
  expect(torn.value.kind).toBe('ConfigMap');
  expect(cluster.matches({ ...request(a), digest: objectDigest(a) }, torn)).toBe(false);
  expect(cluster.matches({ ...request(b), digest: objectDigest(b) }, await observedOf(b))).toBe(true);
});

test('an object of ours has no value of its own: it is read when it is asked for', async () => {
  await cluster.apply(request(a));
  const observed = await observedOf(a);
  expect(Object.keys(observed)).not.toContain('value');
  expect(observed.isReread).toBe(true);
  expect(observed.value).toEqual(a);
});

test('a list names the objects that are others than in the list before', async () => {
  await cluster.apply(request(a));
  await cluster.list('complete');
  await cluster.apply(request(b));
  expect([...((await cluster.list('hinted')).changed ?? ['all'])]).toEqual([keyOf(b)]);
  rmSync(join(directory, pathOfObject(keyOf(a))));
  expect([...((await cluster.list('complete')).changed ?? ['all'])]).toEqual([keyOf(a)]);
});
