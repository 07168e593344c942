import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFreshness } from '../../src/adapters/stores/freshness.ts';
import { sealStore } from '../../src/adapters/stores/sealed.ts';
import { AUTHORITY_KEY, createOwnAuthority } from '../../src/adapters/tls/own-authority.ts';
import type { SnapshotStore, StoredRecord, StoreEvent } from '../../src/ports/snapshot-store.ts';
import { recordingLog } from '../support/running-server.ts';
import { createSharedMemory, type SharedMemory } from '../support/shared-memory-store.ts';

const SECRET = new Uint8Array(32).fill(1);
const DAY_MS = 86_400_000;

/** One process of a fleet: its sealed store, what is in its log, and the events that it got. */
function openProcess(memory: SharedMemory, now = () => 1_000) {
  const log = recordingLog();
  const store = sealStore(memory.open(), [SECRET], { clock: { now }, log });
  const events: StoreEvent[] = [];
  store.watch((event) => void events.push(event));
  return { store, log, lost: () => events.filter(({ type }) => type === 'lost').length };
}

const write = (store: SnapshotStore, text: string, key = 'a') => store.write([{ key, value: Buffer.from(text) }]);
const read = async (store: SnapshotStore, key = 'a') => String(Buffer.from((await store.get(key))?.value ?? []));

/** Writes to the store without the secret, as one who has its password can. */
async function putBack(memory: SharedMemory, record: StoredRecord | undefined): Promise<void> {
  if (record === undefined) throw new Error('there is no record');
  await memory.open().write([{ key: record.key, value: record.value }]);
}

let memory: SharedMemory;
beforeEach(() => {
  memory = createSharedMemory();
});

describe('an older value that is put back into a sealed store', () => {
  test('counts as a loss of the store once, so that its owner writes it again', async () => {
    const { store, log, lost } = openProcess(memory);
    await write(store, 'suspended');
    const older = await memory.open().get('a');
    await write(store, 'resumed');
    await putBack(memory, older);
    expect([await read(store), lost()]).toEqual(['suspended', 1]);
    expect(log.lines.join()).toContain('warn the store has an older value of a record than before');
    expect([await read(store), lost()]).toEqual(['suspended', 1]);
    await write(store, 'resumed');
    expect([await read(store), lost()]).toEqual(['resumed', 1]);
    await putBack(memory, older);
    for await (const _ of store.list('')) expect(lost()).toBe(2);
  });

  test('is noticed by a process that has only read the newer one', async () => {
    const [writer, reader] = [openProcess(memory), openProcess(memory)];
    await write(writer.store, 'one');
    const older = await memory.open().get('a');
    await write(writer.store, 'two');
    await read(reader.store);
    await putBack(memory, older);
    expect([await read(reader.store), reader.lost()]).toEqual(['one', 1]);
  });

  test('is noticed after its key was deleted and made again by another process', async () => {
    const [one, other] = [openProcess(memory, () => 1_000), openProcess(memory, () => 2_000)];
    await write(one.store, 'first');
    const older = await memory.open().get('a');
    await one.store.write([{ key: 'a', value: null }]);
    await write(other.store, 'second');
    expect([await read(one.store), one.lost()]).toEqual(['second', 0]);
    await putBack(memory, older);
    expect([await read(one.store), one.lost()]).toEqual(['first', 1]);
  });

  test('is what the store itself reported as lost: that is told once', async () => {
    const { store, lost } = openProcess(memory);
    await write(store, 'one');
    const copy = memory.copy();
    await write(store, 'two');
    memory.fallBack(copy);
    await expect.poll(lost).toBe(1);
    expect([await read(store), lost()]).toEqual(['one', 1]);
  });

  test('cannot take back a certificate authority', async () => {
    const folders = ['a', 'b'].map((name) => mkdtempSync(join(folder, name)));
    const { store, log } = openProcess(memory);
    const [own, other] = folders.map((dir) => createOwnAuthority(dir, store));
    const start = Date.UTC(2026, 5, 1);
    await own?.refresh(start);
    const older = await memory.open().get(AUTHORITY_KEY);
    const both = await own?.refresh(start + 276 * DAY_MS);
    expect(both?.authorities).toHaveLength(2);
    await putBack(memory, older);
    expect(await own?.refresh(start + 277 * DAY_MS)).toEqual(both);
    expect(log.lines.join()).toContain(AUTHORITY_KEY);
    expect((await other?.refresh(start + 277 * DAY_MS))?.authorities).toEqual(both?.authorities);
  });
});

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshness-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('what is no older value', () => {
  test('a write that is repeated because its answer was lost', async () => {
    let time = 1_000;
    const { store, lost } = openProcess(memory, () => ++time);
    memory.swallowReplies();
    await expect(write(store, 'one')).rejects.toThrow();
    expect(await write(store, 'one')).toBe('written');
    expect([await read(store), lost()]).toEqual(['one', 0]);
  });

  test('what a read has found that began before a newer value was known', () => {
    const freshness = createFreshness(() => 5);
    const begun = freshness.begin();
    freshness.bytesOf('a', () => new Uint8Array(1));
    freshness.settled('a', true);
    expect(freshness.isPutBack('a', 4, begun)).toBe(false);
    expect(freshness.isPutBack('a', 4, freshness.begin())).toBe(true);
  });

  test('a write of a process whose clock is late, after it has read the newer one', async () => {
    const [early, late] = [openProcess(memory, () => 9_000), openProcess(memory, () => 1_000)];
    await write(early.store, 'one');
    await read(late.store);
    await write(late.store, 'two');
    expect([await read(early.store), early.lost()]).toEqual(['two', 0]);
  });
});
