import type { Lease } from '../../../src/ports/lease.ts';
import { createMemoryLease, type MemoryLease } from '../../support/memory-lease.ts';
import type { VirtualClock } from '../../support/virtual-clock.ts';
import { leaseContract } from './suite.ts';

leaseContract(
  'memory',
  async () => {
    let shared: MemoryLease | undefined;
    return (identity: string, clock: VirtualClock): Lease => {
      shared ??= createMemoryLease(clock);
      return shared.of(identity);
    };
  },
  { ownClocks: false },
);
