import type { Clock } from '../../src/ports/clock.ts';
import type { Lease } from '../../src/ports/lease.ts';

/** A lease that several holders in one process contend for. */
export interface MemoryLease {
  of(identity: string): Lease;
  /** While it is set, no request is answered. */
  problem: string | undefined;
}

/** `durationMs`: until others may take it. `termMs`: what its holder has of that. */
export function createMemoryLease(
  clock: Clock,
  { durationMs = 9_000, termMs = 6_000 }: { durationMs?: number; termMs?: number } = {},
): MemoryLease {
  let holder: { readonly identity: string; readonly renewed: number } | undefined;
  const lease: MemoryLease = { of, problem: undefined };
  return lease;

  function of(identity: string): Lease {
    return {
      acquire: async () => {
        if (lease.problem !== undefined) return { type: 'failed', message: lease.problem };
        const now = clock.monotonic();
        const isOthers = holder !== undefined && holder.identity !== identity && now < holder.renewed + durationMs;
        if (isOthers && holder !== undefined) return { type: 'taken', holder: holder.identity };
        holder = { identity, renewed: now };
        return { type: 'held', deadline: now + termMs };
      },
      release: async () => {
        if (holder?.identity === identity && lease.problem === undefined) holder = undefined;
      },
    };
  }
}
