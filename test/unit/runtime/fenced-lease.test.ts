import { expect, test } from 'vitest';
import { withFence } from '../../../src/runtime/replica/candidacy.ts';
import { createMemoryLease } from '../../support/memory-lease.ts';
import { createSharedMemory } from '../../support/shared-memory-store.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const value = new TextEncoder().encode('x');

function setUp() {
  const clock = createVirtualClock();
  const elsewhere = createMemoryLease(clock);
  const memory = createSharedMemory();
  const of = (id: string) => withFence(elsewhere.of(id), memory.open(), id);
  return { clock, memory, a: of('a'), b: of('b'), store: memory.open() };
}

test('a lease that is kept elsewhere has a fence in the store: its former holder cannot write any more', async () => {
  const { clock, a, b, store } = setUp();
  await a.acquire();
  const first = a.fence();
  await a.acquire();
  expect(a.fence()).toEqual(first);
  expect(await store.write([first!.check, { key: 'k', value }])).toBe('written');
  await clock.advance(10_000);
  expect(await b.acquire()).toMatchObject({ type: 'held' });
  expect(await store.write([first!.check, { key: 'k', value }])).toBe('conflict');
  expect(await store.write([b.fence()!.check, { key: 'k', value }])).toBe('written');
  expect(b.fence()!.term).toBeGreaterThan(first!.term);
  expect(await a.acquire()).toMatchObject({ type: 'taken' });
  expect(a.fence()).toBeUndefined();
});

test('without the store the lease is held, with the fence of before; a new one is taken when the store has lost it', async () => {
  const { memory, a, store } = setUp();
  memory.down();
  expect(await a.acquire()).toMatchObject({ type: 'held' });
  expect(a.fence()).toBeUndefined();
  memory.up();
  await a.acquire();
  const first = a.fence();
  memory.lose();
  expect(await store.write([first!.check, { key: 'k', value }])).toBe('conflict');
  await a.acquire();
  expect(a.fence()!.term).toBeGreaterThan(first!.term);
  expect(await store.write([a.fence()!.check, { key: 'k', value }])).toBe('written');
});
