import { expect, test } from 'vitest';
import type { Link } from '../../../../src/adapters/stores/redis/link.ts';
import { createBatchWriter } from '../../../../src/adapters/stores/redis/write-batch.ts';
import type { SnapshotStore, StoreEvent } from '../../../../src/ports/snapshot-store.ts';
import { meterStore } from '../../../../src/runtime/stored/metered-store.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

type Answer = 'written' | 'conflict' | Error;

function scripted(answers: Answer[], shared: boolean) {
  let tell: (event: StoreEvent) => void = () => undefined;
  const inner = {
    shared,
    write: async () => {
      const answer = answers.shift() ?? 'written';
      if (answer instanceof Error) throw answer;
      return answer;
    },
    watch: (listener: (event: StoreEvent) => void) => {
      tell = listener;
      return () => undefined;
    },
  } as unknown as SnapshotStore;
  const took: number[] = [];
  const metered = meterStore(inner, createVirtualClock(), (seconds) => void took.push(seconds));
  return { ...metered, took, tell: (event: StoreEvent) => tell(event) };
}

test('counts writes and errors by constant reason, and passes results and errors on', async () => {
  const answers: Answer[] = [
    'written',
    'conflict',
    new Error("OOM command not allowed when used memory > 'maxmemory'"),
    new Error('READONLY You cannot write against a read only replica.'),
    new Error('an unknown failure, with /a/path'),
  ];
  const { store, figures, took } = scripted(answers, true);
  expect(await store.write([])).toBe('written');
  expect(await store.write([])).toBe('conflict');
  await expect(store.write([])).rejects.toThrow('OOM');
  await expect(store.write([])).rejects.toThrow('READONLY');
  await expect(store.write([])).rejects.toThrow('/a/path');
  expect(figures().writes).toBe(1);
  expect([...figures().errors]).toEqual([
    ['Conflict', 1],
    ['MemoryFull', 1],
    ['NotWritable', 1],
    ['Other', 1],
  ]);
  expect(figures().up).toBe(true);
  expect(took).toHaveLength(5);
});

test('a batch that Redis would not take is counted as too large', async () => {
  const write = createBatchWriter({ newId: () => 'a' } as Link);
  const inner = { shared: true, write, watch: () => () => undefined } as unknown as SnapshotStore;
  const { store, figures } = meterStore(inner, createVirtualClock(), () => undefined);
  const batch = Array.from({ length: 5_001 }, (_, index) => ({ key: `${index}`, value: null }));
  await expect(store.write(batch)).rejects.toThrow('5001 records');
  expect([...figures().errors]).toEqual([['TooLarge', 1]]);
});

test('is down when the store reports it or does not answer, and up when it reports up or answers', async () => {
  const { store, figures, tell } = scripted([new Error('the store does not answer: ECONNREFUSED')], true);
  tell({ type: 'down', message: 'gone' });
  expect(figures().up).toBe(false);
  tell({ type: 'up' });
  expect(figures().up).toBe(true);
  await expect(store.write([])).rejects.toThrow();
  expect(figures().up).toBe(false);
  await store.write([]);
  expect(figures().up).toBe(true);
});

test('a store of one process that cannot be written is down', async () => {
  const { store, figures } = scripted([new Error('disk I/O error')], false);
  await expect(store.write([])).rejects.toThrow();
  expect(figures().up).toBe(false);
});
