import { describe, expect, test } from 'vitest';
import { createStoreLease } from '../../../src/adapters/stores/store-lease.ts';
import type { FencedLease } from '../../../src/ports/lease.ts';
import { createSharedMemory, type SharedMemory, type SharedMemoryStore } from '../../support/shared-memory-store.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';
import { DURATION_MS, leaseContract } from './suite.ts';

const KEY = 'leader';

function leases(memory: SharedMemory) {
  return (identity: string, clock: VirtualClock, store: SharedMemoryStore = memory.open()): FencedLease =>
    createStoreLease({ store, clock }, { key: KEY, identity });
}

leaseContract('shared store', async () => leases(createSharedMemory()), { ownClocks: true });

describe('lease in a shared store: the fence', () => {
  const value = new TextEncoder().encode('x');

  test('a holder whose lease expired while it was suspended cannot write, and each new holder has a higher term', async () => {
    const memory = createSharedMemory();
    const clock = createVirtualClock();
    const [a, b] = [leases(memory)('a', clock), leases(memory)('b', clock)];
    expect(a.fence()).toBeUndefined();
    await a.acquire();
    await b.acquire();
    const asleep = a.fence()!;
    const store = memory.open();
    expect(await store.write([asleep.check, { key: 'k', value }])).toBe('written');
    await clock.advance(DURATION_MS);
    expect(await b.acquire()).toMatchObject({ type: 'held' });
    expect(b.fence()!.term).toBeGreaterThan(asleep.term);
    expect(await store.write([asleep.check, { key: 'k', value }])).toBe('conflict');
    expect(await store.write([b.fence()!.check, { key: 'k', value }])).toBe('written');
    expect(await a.acquire()).toEqual({ type: 'taken', holder: 'b' });
    expect(a.fence()).toBeUndefined();
  });

  test('renewing keeps the term and the fence; releasing ends both', async () => {
    const memory = createSharedMemory();
    const clock = createVirtualClock();
    const a = leases(memory)('a', clock);
    await a.acquire();
    const first = a.fence()!;
    await clock.advance(1_000);
    await a.acquire();
    expect(a.fence()).toEqual(first);
    await a.release();
    expect(a.fence()).toBeUndefined();
    expect(await memory.open().write([first.check, { key: 'k', value }])).toBe('conflict');
    await a.acquire();
    expect(a.fence()!.term).toBeGreaterThan(first.term);
  });

  test('a restarted process with the same identity gets a new term', async () => {
    const memory = createSharedMemory();
    const clock = createVirtualClock();
    const before = leases(memory)('a', clock);
    await before.acquire();
    const after = leases(memory)('a', clock);
    expect(await after.acquire()).toMatchObject({ type: 'held' });
    expect(after.fence()!.term).toBeGreaterThan(before.fence()!.term);
    expect(await memory.open().write([before.fence()!.check, { key: 'k', value }])).toBe('conflict');
  });

  test('a lost store ends no term for processes that observed it, and terms continue above it', async () => {
    const memory = createSharedMemory();
    const clock = createVirtualClock();
    const [a, b] = [leases(memory)('a', clock), leases(memory)('b', clock)];
    await a.acquire();
    await b.acquire();
    const before = a.fence()!;
    memory.lose();
    expect(await b.acquire()).toEqual({ type: 'taken', holder: 'a' });
    expect(await a.acquire()).toMatchObject({ type: 'held' });
    expect(a.fence()!.term).toBeGreaterThan(before.term);
    memory.lose();
    await clock.advance(DURATION_MS);
    expect(await b.acquire()).toMatchObject({ type: 'held' });
    expect(b.fence()!.term).toBeGreaterThan(before.term);
  });

  test('an older copy of the store that takes over does not lower the term', async () => {
    const memory = createSharedMemory();
    const clock = createVirtualClock();
    const a = leases(memory)('a', clock);
    await a.acquire();
    const copy = memory.copy();
    for (const _ of [1, 2, 3]) {
      await a.release();
      await a.acquire();
    }
    const { term } = a.fence()!;
    memory.fallBack(copy);
    expect(await a.acquire()).toMatchObject({ type: 'held' });
    expect(a.fence()!.term).toBeGreaterThan(term);
  });

  test('a lost answer does not lose the lease, and a store without an answer is reported', async () => {
    const memory = createSharedMemory();
    const clock = createVirtualClock();
    const a = leases(memory)('a', clock);
    memory.swallowReplies();
    expect(await a.acquire()).toMatchObject({ type: 'failed', message: expect.stringContaining('lost') });
    expect(await a.acquire()).toMatchObject({ type: 'held' });
    memory.swallowReplies();
    expect(await a.acquire()).toMatchObject({ type: 'failed' });
    expect(await a.acquire()).toMatchObject({ type: 'held' });
    memory.down('gone');
    expect(await a.acquire()).toEqual({ type: 'failed', message: 'gone' });
    await a.release();
    memory.up();
    expect(await leases(memory)('b', clock).acquire()).toEqual({ type: 'taken', holder: 'a' });
  });

  test('an answer after the deadline does not count', async () => {
    const memory = createSharedMemory();
    const clock = createVirtualClock();
    const store = memory.open();
    let slowness = 3_000;
    const slow: SharedMemoryStore = {
      ...store,
      write: async (writes) => {
        await clock.advance(slowness);
        return store.write(writes);
      },
    };
    const a = leases(memory)('a', clock, slow);
    expect(await a.acquire()).toEqual({ type: 'held', deadline: 6_000 });
    slowness = 6_000;
    expect(await a.acquire()).toMatchObject({ type: 'failed' });
  });

  test('a record that cannot be read has no holder', async () => {
    const memory = createSharedMemory();
    const clock = createVirtualClock();
    await memory.open().write([{ key: KEY, value }]);
    expect(await leases(memory)('a', clock).acquire()).toMatchObject({ type: 'held' });
  });
});
