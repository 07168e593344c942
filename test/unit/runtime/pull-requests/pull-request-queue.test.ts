import { expect, test } from 'vitest';
import { createMemoryStore } from '../../../../src/adapters/stores/memory.ts';
import { parseSourceName } from '../../../../src/model/fleet/ids.ts';
import { must } from '../../../../src/model/values/result.ts';
import type { SnapshotStore, StoreEvent } from '../../../../src/ports/snapshot-store.ts';
import { createPullRequestQueue } from '../../../../src/runtime/pull-requests/pull-request-queue.ts';
import { createSharedMemory } from '../../../support/shared-memory-store.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

const MAIN = must(parseSourceName('main'));
const OTHER = must(parseSourceName('other'));
const clock = createVirtualClock();

/** A queue whose work ends when the test says so. */
function createReplica(store: SnapshotStore, ready = () => true) {
  const log: string[] = [];
  const running: { readonly name: string; readonly end: () => void }[] = [];
  const work = async (source: string, pullRequest: number, signal: AbortSignal): Promise<void> => {
    const name = `${source}#${pullRequest}`;
    log.push(`begin ${name}`);
    await new Promise<void>((resolve) => {
      running.push({ name, end: resolve });
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    log.push(`${signal.aborted ? 'abort' : 'end'} ${name}`);
  };
  const queue = createPullRequestQueue({ clock, log: silentLog, store, work, ready }, [MAIN, OTHER]);
  return {
    ...{ queue, log },
    endAll: async (): Promise<void> => {
      for (const { end } of running.splice(0)) end();
      await clock.settle();
    },
  };
}

async function keysOf(store: SnapshotStore): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list('pull-requests/')) keys.push(key);
  return keys;
}

test('pull requests of one source are worked on one after the other, beside other sources', async () => {
  const { queue, log, endAll } = createReplica(createMemoryStore());
  queue.lead(true);
  for (const number of [3, 1, 2]) await queue.request(MAIN, number);
  await queue.request(OTHER, 9);
  await clock.settle();
  expect(log).toEqual(['begin main#3', 'begin other#9']);
  for (let turn = 0; turn < 4; turn += 1) await endAll();
  expect(log.filter((line) => line.includes('main'))).toEqual([
    ...['begin main#3', 'end main#3', 'begin main#1', 'end main#1', 'begin main#2', 'end main#2'],
  ]);
  await queue.stop();
});

test('what was worked on is forgotten, and not before', async () => {
  const store = createMemoryStore();
  const { queue, endAll } = createReplica(store);
  queue.lead(true);
  await queue.request(MAIN, 7);
  await clock.settle();
  expect(await keysOf(store)).toEqual(['pull-requests/main/7']);
  await endAll();
  expect(await keysOf(store)).toEqual([]);
  await queue.stop();
});

test('a pull request that is requested again aborts its work, and is worked on after those that wait', async () => {
  const store = createMemoryStore();
  const { queue, log, endAll } = createReplica(store);
  queue.lead(true);
  await queue.request(MAIN, 1);
  await clock.settle();
  await queue.request(MAIN, 2);
  await queue.request(MAIN, 1);
  await queue.request(MAIN, 1);
  await clock.settle();
  expect(log).toEqual(['begin main#1', 'abort main#1', 'begin main#2']);
  await endAll();
  await endAll();
  expect(log.slice(3)).toEqual(['end main#2', 'begin main#1', 'end main#1']);
  expect(await keysOf(store)).toEqual([]);
  await queue.stop();
});

test('of a flood of pull requests a bounded number waits, and each of them once', async () => {
  const store = createMemoryStore();
  const { queue } = createReplica(store);
  const answers = [];
  for (let number = 1; number <= 150; number += 1) answers.push(await queue.request(MAIN, number));
  expect(answers.filter(Boolean)).toHaveLength(100);
  expect(await queue.request(MAIN, 50)).toBe(true);
  expect(await queue.request(OTHER, 1)).toBe(true);
  expect(await keysOf(store)).toHaveLength(101);
});

test('only the leader works; what a follower is told reaches it', async () => {
  const shared = createSharedMemory();
  const [leader, follower] = [createReplica(shared.open()), createReplica(shared.open())];
  leader.queue.lead(true);
  await follower.queue.request(MAIN, 5);
  await clock.settle();
  expect([leader.log, follower.log]).toEqual([['begin main#5'], []]);
  await follower.queue.request(MAIN, 5);
  await clock.settle();
  expect(leader.log).toEqual(['begin main#5', 'abort main#5', 'begin main#5']);
  await leader.endAll();
  expect(shared.keys()).toEqual([]);
  await leader.queue.stop();
});

test('the next leader continues what the last one had not finished', async () => {
  const shared = createSharedMemory();
  const [first, next] = [createReplica(shared.open()), createReplica(shared.open())];
  first.queue.lead(true);
  for (const number of [1, 2]) await first.queue.request(MAIN, number);
  await clock.settle();
  first.queue.lead(false);
  await clock.settle();
  expect(first.log).toEqual(['begin main#1', 'abort main#1']);
  next.queue.lead(true);
  await clock.settle();
  for (let turn = 0; turn < 2; turn += 1) await next.endAll();
  expect(next.log).toEqual(['begin main#1', 'end main#1', 'begin main#2', 'end main#2']);
  await next.queue.stop();
});

test('a request that arrives while the last one is being forgotten is not lost', async () => {
  const shared = createSharedMemory();
  const [store, other] = [shared.open(), shared.open()];
  let isLate = true;
  // The leader learns of the second request only after its deletion was refused.
  const deaf: SnapshotStore = {
    ...store,
    watch: () => () => undefined,
    write: async (writes) => {
      if (isLate && writes[0]?.value === null) {
        isLate = false;
        await createReplica(other).queue.request(MAIN, 7);
      }
      return store.write(writes);
    },
  };
  const { queue, log, endAll } = createReplica(deaf);
  queue.lead(true);
  await queue.request(MAIN, 7);
  await clock.settle();
  await endAll();
  await endAll();
  expect(log).toEqual(['begin main#7', 'end main#7', 'begin main#7', 'end main#7']);
  expect(shared.keys()).toEqual([]);
  await queue.stop();
});

test('a call that tells too late of a request which is worked on already does not lose it', async () => {
  const store = createMemoryStore();
  let tell: (event: StoreEvent) => void = () => undefined;
  const watched: SnapshotStore = {
    ...store,
    watch: (listener) => {
      tell = listener;
      return () => undefined;
    },
  };
  const { queue, log, endAll } = createReplica(watched);
  queue.lead(true);
  await clock.settle();
  await createReplica(store).queue.request(MAIN, 5);
  tell({ type: 'up' });
  await clock.settle();
  tell({ type: 'changed', keys: ['pull-requests/main/5'] });
  await clock.settle();
  await endAll();
  expect(log).toEqual(['begin main#5', 'abort main#5', 'begin main#5', 'end main#5']);
  expect(await keysOf(store)).toEqual([]);
  await queue.stop();
});

test('no work begins before the server is ready', async () => {
  let isReady = false;
  const { queue, log } = createReplica(createMemoryStore(), () => isReady);
  queue.lead(true);
  await queue.request(MAIN, 1);
  await clock.advance(30_000);
  expect(log).toEqual([]);
  isReady = true;
  await clock.advance(1_000);
  expect(log).toEqual(['begin main#1']);
  await queue.stop();
});
