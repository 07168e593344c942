import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDirectoryCluster } from '../../../src/adapters/directory/cluster.ts';
import { createAgentDisk } from '../../../src/adapters/disk/agent-disk.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { objectDigest } from '../../../src/model/text/digest.ts';
import type { ClusterApi } from '../../../src/ports/cluster-api.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { configMap, fleet, inventoryChange, keyOf, nonce, request } from './suite.ts';

let home: string;
let directory: string;
let cluster: ClusterApi;
const a = configMap('a', { k: '1' });
const deps = { clock: createSystemClock(), random: createSystemRandom(), log: createRecordingLog() };

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'fleetrelay-vanishes-'));
  directory = join(home, 'cluster');
  cluster = await createDirectoryCluster(deps, { directory });
  await cluster.saveInventory(inventoryChange(1, [a]));
  await cluster.apply(request(a));
  await cluster.list('complete');
});
afterEach(async () => {
  await cluster.close();
  rmSync(home, { recursive: true, force: true });
});

test.each([
  ['gone', () => {}],
  ['another, empty one', () => mkdirSync(directory)],
])('a folder that is %s is no empty cluster: nothing is written, nothing counts as removed', async (_, instead) => {
  renameSync(directory, join(home, 'away'));
  instead();
  await expect(cluster.list('complete')).rejects.toThrow();
  await expect(cluster.list('hinted')).rejects.toThrow();
  expect(await cluster.apply(request(a))).toMatchObject({ type: 'failed' });
  expect(await cluster.remove({ key: keyOf(a), fleet, nonce })).toMatchObject({ type: 'failed' });
  await expect(cluster.saveInventory(inventoryChange(2, [], [keyOf(a)]))).rejects.toThrow();
  if (existsSync(directory)) {
    expect(readdirSync(directory)).toEqual([]);
    rmSync(directory, { recursive: true });
  }
  // The directory is there again: listing works.
  renameSync(join(home, 'away'), directory);
  expect((await cluster.list('complete')).objects.get(keyOf(a))?.value).toEqual(a);
  expect(await cluster.remove({ key: keyOf(a), fleet, nonce })).toEqual({ type: 'gone' });
  await cluster.saveInventory(inventoryChange(2, [], [keyOf(a)]));
  await cluster.close();
  cluster = await createDirectoryCluster(deps, { directory });
  expect(await cluster.loadInventory()).toMatchObject({
    type: 'found',
    records: [],
    state: { position: { sequence: 2 } },
  });
});

test('a deleted inventory is written again completely', async () => {
  rmSync(join(directory, '.fleetrelay/inventory'));
  await cluster.saveInventory(inventoryChange(2, [configMap('b', {})]));
  await cluster.close();
  cluster = await createDirectoryCluster(deps, { directory });
  const loaded = await cluster.loadInventory();
  expect(loaded.type === 'found' && loaded.records.map(({ key }) => key)).toEqual([
    keyOf(a),
    keyOf(configMap('b', {})),
  ]);
});

test('a deleted stored output is written again completely', async () => {
  const folder = join(home, 'disk');
  const step = (sequence: number, value: typeof a) => ({
    position: { epoch: 1, sequence },
    after: { epoch: 1, sequence: sequence - 1 },
    digest: objectDigest(sequence),
    put: [{ key: keyOf(value), digest: objectDigest(value), value }],
    drop: [],
  });
  const disk = createAgentDisk(deps, { folder });
  await disk.append(step(1, a));
  await disk.append(step(2, configMap('b', {})));
  rmSync(join(folder, 'outputs'), { recursive: true });
  await disk.append(step(3, configMap('c', {})));
  await disk.close();
  const again = createAgentDisk(deps, { folder });
  expect((await again.load({ epoch: 1, sequence: 3 }))?.objects.size).toBe(3);
  await again.close();
});

test('the inventory stays short over many restarts', async () => {
  const path = join(directory, '.fleetrelay/inventory');
  const many = Array.from({ length: 2_000 }, (_, n) => configMap(`m${n}`, {}));
  let sequence = 2;
  await cluster.saveInventory(inventoryChange(sequence, many));
  const complete = statSync(path).size;
  let largest = 0;
  for (let restart = 0; restart < 4; restart += 1) {
    await cluster.close();
    cluster = await createDirectoryCluster(deps, { directory });
    await cluster.loadInventory();
    for (let round = 0; round < 4; round += 1) {
      sequence += 1;
      await cluster.saveInventory(inventoryChange(sequence, many));
      largest = Math.max(largest, statSync(path).size);
    }
  }
  expect(largest).toBeLessThan(complete * 7);
});

test('a temporary file that cannot be deleted does not stop the agent from starting', async () => {
  // A folder of that name cannot be deleted as a file, by any user.
  mkdirSync(join(directory, 'namespaces/web/.fleetrelay-0.tmp'));
  writeFileSync(join(directory, 'namespaces/web/.fleetrelay-0.tmp/x'), '');
  await cluster.close();
  cluster = await createDirectoryCluster(deps, { directory });
  expect((await cluster.list('complete')).objects.size).toBe(1);
});
