import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sealStore } from '../../../src/adapters/stores/sealed.ts';
import { privateFile } from '../../../src/adapters/tls/files.ts';
import type { SnapshotStore } from '../../../src/ports/snapshot-store.ts';
import {
  GENERATIONS_KEY,
  type OpenedTokenGenerations,
  openTokenGenerations,
  readTokenGenerations,
} from '../../../src/relay/trust/tokens.ts';
import { sealing } from '../../support/sealing.ts';
import { createSharedMemory, type SharedMemory, type SharedMemoryStore } from '../../support/shared-memory-store.ts';
import { silentLog } from '../../support/silent-log.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

const NOW = Date.UTC(2026, 5, 1);
const SECONDS = NOW / 1000;

let root: string;
let memory: SharedMemory;
let clock: VirtualClock;
const opened: OpenedTokenGenerations[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'generations-'));
  memory = createSharedMemory();
  clock = createVirtualClock(NOW);
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map(({ stop }) => stop()));
  await rm(root, { recursive: true });
});

const folder = (name: string): string => join(root, name, 'trust');
const file = (name: string) => privateFile(join(folder(name), 'token-generations.json'));

async function open(name: string, store?: SnapshotStore) {
  const generations = await openTokenGenerations({
    ...{ file: file(name), clock, log: silentLog },
    ...(store === undefined ? {} : { store }),
  });
  opened.push(generations);
  return generations;
}

/** Lets what was set off come to its end, files included. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 10_000; turn += 1) {
    if (await holds()) return;
    await clock.settle();
  }
  expect.fail('it never came to be');
}

const onDisk = async (name: string, cluster = 'east'): Promise<number | undefined> =>
  (await readTokenGenerations(file(name))).get(cluster);

describe('of one server', () => {
  test('a renewal is the second in which it is made, and is there after a restart, for the owner alone', async () => {
    const generations = await open('a');
    expect(generations.current('east')).toBe(0);
    expect(await generations.renew('east')).toBe(SECONDS);
    expect(generations.current('east')).toBe(SECONDS);
    expect(generations.current('west')).toBe(0);
    expect((await open('a')).current('east')).toBe(SECONDS);
    expect((await stat(join(folder('a'), 'token-generations.json'))).mode & 0o777).toBe(0o600);
  });

  test('every renewal is later than the one before, also within a second and after the clock was set back', async () => {
    const generations = await open('a');
    expect(await Promise.all([generations.renew('east'), generations.renew('east')])).toEqual([SECONDS, SECONDS + 1]);
    clock = createVirtualClock(NOW - 3_600_000);
    expect(await (await open('a')).renew('east')).toBe(SECONDS + 2);
  });

  test('nothing has changed when it cannot be made durable', async () => {
    await writeFile(join(root, 'a'), 'no folder');
    const generations = await open('b');
    await writeFile(join(root, 'b'), 'no folder');
    await expect(generations.renew('east')).rejects.toThrow();
    expect(generations.current('east')).toBe(0);
  });

  test('a damaged file is not taken for one without renewals', async () => {
    await (await open('a')).renew('east');
    for (const text of ['', '{', '[]', '{"east":"1"}', '{"east":-1}', '{"east":1.5}']) {
      await writeFile(join(folder('a'), 'token-generations.json'), text);
      await expect(open('a'), text).rejects.toThrow(/token-generations\.json is damaged: restore it, or/);
    }
  });

  test('a right token of a generation that was forgotten makes it count again, and is told', async () => {
    const generations = await open('a');
    const changed: string[] = [];
    const unwatch = generations.watch((cluster) => changed.push(cluster));
    generations.shown('east', 7);
    expect(generations.current('east')).toBe(7);
    generations.shown('east', 6);
    expect(generations.current('east')).toBe(7);
    await until(async () => (await onDisk('a')) === 7);
    expect(changed).toEqual(['east']);
    unwatch();
    await generations.renew('east');
    expect(changed).toEqual(['east']);
  });

  test('stop waits until a generation that was shown is on disk', async () => {
    const generations = await open('a');
    generations.shown('east', 7);
    await generations.stop();
    expect(await onDisk('a')).toBe(7);
  });
});

describe('of several replicas', () => {
  async function two() {
    const stores = [memory.open(), memory.open()] as const;
    const [a, b] = [await open('a', stores[0]), await open('b', stores[1])];
    return { a, b, stores };
  }

  test('a renewal at one counts at the other, in its folder too, and is told', async () => {
    const { a, b } = await two();
    const changed: string[] = [];
    b.watch((cluster) => changed.push(cluster));
    await a.renew('east');
    await until(async () => b.current('east') === SECONDS && (await onDisk('b')) === SECONDS);
    expect(changed).toEqual(['east']);
  });

  test('renewals at both at once are both kept', async () => {
    const { a, b } = await two();
    await Promise.all([a.renew('east'), b.renew('west')]);
    await until(() => [a, b].every((each) => each.current('east') + each.current('west') === 2 * SECONDS));
  });

  test('a replica without the store renews nothing, and reports it; it gets the renewals of others when the store is back', async () => {
    const { a, b, stores } = await two();
    stores[1].cut();
    await expect(b.renew('east')).rejects.toThrow();
    expect(b.current('east')).toBe(0);
    await a.renew('east');
    expect(b.current('east')).toBe(0);
    stores[1].mend();
    await until(() => b.current('east') === SECONDS);
  });

  test('a lost store gets them back from memory, and an older copy of it changes nothing', async () => {
    const { a, b } = await two();
    const copy = memory.copy();
    await a.renew('east');
    await until(() => b.current('east') === SECONDS);
    for (const lose of [() => memory.lose(), () => memory.fallBack(copy)]) {
      lose();
      await until(async () => (await memory.open().get(GENERATIONS_KEY)) !== undefined);
      expect([a, b].map((each) => each.current('east'))).toEqual([SECONDS, SECONDS]);
    }
  });

  test('a lost store gets them back from the folder of a replica that starts', async () => {
    await (await two()).a.renew('east');
    memory = createSharedMemory();
    await open('a', memory.open());
    expect((await open('c', memory.open())).current('east')).toBe(SECONDS);
  });

  test('a record that is lost without an event is restored within a minute', async () => {
    const { a } = await two();
    await a.renew('east');
    memory.evict(GENERATIONS_KEY);
    await clock.advance(60_000);
    await until(() => memory.keys().includes(GENERATIONS_KEY));
  });

  test('a replica that starts without an answer does not start', async () => {
    const store: SharedMemoryStore = memory.open();
    store.cut('the store is away');
    await expect(open('a', store)).rejects.toThrow('the store is away');
  });

  test('after a loss of everything a renewal is later than the ones that were forgotten', async () => {
    await (await two()).a.renew('east');
    await clock.advance(1_000);
    memory = createSharedMemory();
    const anew = await open('c', memory.open());
    expect(anew.current('east')).toBe(0);
    expect(await anew.renew('east')).toBe(SECONDS + 1);
  });

  test('access to the store without the secret cannot make earlier tokens valid', async () => {
    const secrets = [new Uint8Array(32).fill(1)];
    const a = await open('a', sealStore(memory.open(), secrets, sealing));
    const before = await memory.open().get(GENERATIONS_KEY);
    await a.renew('east');
    const forged = Buffer.from('{"east":1}');
    await memory.open().write([{ key: GENERATIONS_KEY, value: before?.value ?? forged }]);
    await until(async () => {
      const { value } = (await memory.open().get(GENERATIONS_KEY)) ?? { value: forged };
      return !forged.equals(value);
    });
    expect(a.current('east')).toBe(SECONDS);
    expect((await open('b', sealStore(memory.open(), secrets, sealing))).current('east')).toBe(SECONDS);
    expect(await readFile(join(folder('b'), 'token-generations.json'), 'utf8')).toBe(`{"east":${SECONDS}}\n`);
  });
});
