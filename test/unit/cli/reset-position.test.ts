import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDirectoryCluster } from '../../../src/adapters/directory/cluster.ts';
import { resetPosition } from '../../../src/compose/cluster/reset-position.ts';
import { systemDeps } from '../../../src/compose/kube.ts';
import { heldDigest } from '../../../src/model/agent/inventory-digest.ts';
import { sha256 } from '../../../src/model/text/digest.ts';
import { clusterName, configMapKey, FLEET } from '../../support/relay-world.ts';

const POISON = { epoch: 2 ** 53 - 1, sequence: 2 ** 53 - 1 };
const name = clusterName('west');
const entry = { key: configMapKey('a'), digest: sha256('a'), phase: 'held', origins: [], scope: [] } as const;
const record = { ...entry, nonce: 'n' };
const DIGEST = heldDigest([record]);
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reset-position-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const io = () => ({ cwd: folder, env: {}, version: '0.0.0' });
const open = () => createDirectoryCluster(systemDeps(), { directory: folder });
const files = (): readonly string[] => readdirSync(folder, { recursive: true }).map(String).sort();

async function poison(): Promise<void> {
  const cluster = await open();
  const state = {
    position: POISON,
    admitted: POISON,
    tag: 'a1'.repeat(32),
    digest: DIGEST,
    revisions: [],
    fleet: FLEET,
  };
  await cluster.saveInventory({ state, put: [record], drop: [] });
  await cluster.close();
}

describe('resetting the position of a directory cluster', () => {
  it('clears position, admission and tag, and nothing else', async () => {
    await poison();
    const before = files();
    const report = await resetPosition({ name, directory: '.', kube: {} }, io());
    expect(report).toMatchObject({ position: POISON, admitted: POISON, holds: 1, reset: true });
    expect(files()).toEqual(before);
    const cluster = await open();
    const loaded = await cluster.loadInventory();
    expect(loaded).toEqual({
      type: 'found',
      state: { position: { epoch: 0, sequence: 0 }, digest: DIGEST, revisions: [], fleet: FLEET },
      records: [record],
    });
    await cluster.close();
  });

  it('changes nothing in a dry run', async () => {
    await poison();
    const path = join(folder, '.fleetrelay', 'inventory');
    const before = readFileSync(path, 'utf8');
    const report = await resetPosition({ name, directory: folder, kube: {}, dryRun: true }, io());
    expect(report).toMatchObject({ position: POISON, reset: false });
    expect(readFileSync(path, 'utf8')).toBe(before);
  });

  it('is refused beside a running agent, in a folder without one, and without an inventory', async () => {
    const request = { name, directory: folder, kube: {} };
    await expect(resetPosition(request, io())).rejects.toThrow(/no agent has run on it/);
    const cluster = await open();
    await expect(resetPosition(request, io())).rejects.toThrow(/locked by another agent/);
    await cluster.close();
    await expect(resetPosition(request, io())).rejects.toThrow(/there is no inventory/);
  });
});
