import { describe, expect, test } from 'vitest';
import type { Lease } from '../../../src/ports/lease.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

/** The duration after which a lease that is not renewed has expired. */
export const DURATION_MS = 9_000;

/** Makes processes that contend for one lease that no process holds yet; each has its own clock. */
export type LeaseHome = () => Promise<(identity: string, clock: VirtualClock) => Lease>;

/** What every lease must do. */
export function leaseContract(name: string, make: LeaseHome, { ownClocks }: { readonly ownClocks: boolean }): void {
  describe(`${name}: contract of a lease`, () => {
    test('one process holds it, and the others learn its name; its deadline is before they may take it', async () => {
      const clock = createVirtualClock();
      const lease = await make();
      const [a, b] = [lease('a', clock), lease('b', clock)];
      const held = await a.acquire();
      expect(held).toMatchObject({ type: 'held' });
      if (held.type === 'held') {
        expect(held.deadline).toBeGreaterThan(clock.monotonic());
        expect(held.deadline).toBeLessThan(clock.monotonic() + DURATION_MS);
      }
      expect(await b.acquire()).toEqual({ type: 'taken', holder: 'a' });
      await clock.advance(DURATION_MS - 1);
      expect(await b.acquire()).toEqual({ type: 'taken', holder: 'a' });
    });

    test('renewing moves the deadline, and others go on waiting', async () => {
      const clock = createVirtualClock();
      const lease = await make();
      const [a, b] = [lease('a', clock), lease('b', clock)];
      const first = await a.acquire();
      for (let round = 0; round < 4; round += 1) {
        await clock.advance(DURATION_MS / 2);
        const next = await a.acquire();
        expect(next.type === 'held' && first.type === 'held' && next.deadline > first.deadline).toBe(true);
        expect(await b.acquire()).toEqual({ type: 'taken', holder: 'a' });
      }
    });

    test('a holder that does not renew loses it to another process, and learns that', async () => {
      const clock = createVirtualClock();
      const lease = await make();
      const [a, b] = [lease('a', clock), lease('b', clock)];
      await a.acquire();
      await b.acquire();
      await clock.advance(DURATION_MS);
      expect(await b.acquire()).toMatchObject({ type: 'held' });
      expect(await a.acquire()).toEqual({ type: 'taken', holder: 'b' });
    });

    test('a released lease is taken at once; releasing the lease of another process does nothing', async () => {
      const clock = createVirtualClock();
      const lease = await make();
      const [a, b] = [lease('a', clock), lease('b', clock)];
      await a.release();
      await a.acquire();
      await b.release();
      expect(await b.acquire()).toEqual({ type: 'taken', holder: 'a' });
      await a.release();
      expect(await b.acquire()).toMatchObject({ type: 'held' });
      await a.release();
      expect(await a.acquire()).toEqual({ type: 'taken', holder: 'b' });
    });

    test('a process that was suspended and finds its own lease unchanged holds it again', async () => {
      const clock = createVirtualClock();
      const lease = await make();
      const a = lease('a', clock);
      await a.acquire();
      await clock.advance(10 * DURATION_MS);
      expect(await a.acquire()).toMatchObject({ type: 'held' });
    });

    test('of many at once exactly one gets it', async () => {
      const clock = createVirtualClock();
      const lease = await make();
      const leases = Array.from({ length: 8 }, (_, index) => lease(`process-${index}`, clock));
      for (let round = 0; round < 3; round += 1) {
        const answers = await Promise.all(leases.map((one) => one.acquire()));
        expect(answers.filter(({ type }) => type === 'held').length).toBeLessThanOrEqual(1);
      }
      const answers = await Promise.all(leases.map((one) => one.acquire()));
      expect(answers.filter(({ type }) => type === 'held')).toHaveLength(1);
    });

    test.skipIf(!ownClocks)('a process whose clock is years off takes no lease from another', async () => {
      const lease = await make();
      const [now, later] = [createVirtualClock(), createVirtualClock(Date.UTC(2040, 0, 1))];
      const [a, b] = [lease('a', now), lease('b', later)];
      await a.acquire();
      expect(await b.acquire()).toEqual({ type: 'taken', holder: 'a' });
      await later.advance(DURATION_MS - 1);
      expect(await b.acquire()).toEqual({ type: 'taken', holder: 'a' });
      await now.advance(1_000);
      await a.acquire();
      await later.advance(1);
      expect(await b.acquire()).toEqual({ type: 'taken', holder: 'a' });
      await later.advance(DURATION_MS);
      expect(await b.acquire()).toMatchObject({ type: 'held' });
    });
  });
}
