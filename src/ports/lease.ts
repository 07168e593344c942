import type { StoreWrite } from './snapshot-store.ts';

/**
 * A lease in the cluster that at most one process holds at a time. A process whose term has ended holds nothing, even if
 * it was asleep and nobody told it.
 */
export interface Lease {
  /** Takes or renews the lease, once. One call at a time. Never rejects. */
  acquire(): Promise<LeaseAnswer>;
  /** Gives the lease back, if this process has it, so that another takes it at once. Never rejects. */
  release(): Promise<void>;
}

/**
 * `held` until the deadline, milliseconds of the monotonic clock, counted from before the request was sent. `taken`:
 * somebody else has it. `failed`: the cluster did not answer, or not in time; an older term still runs to its own
 * deadline.
 */
export type LeaseAnswer =
  | { readonly type: 'held'; readonly deadline: number }
  | { readonly type: 'taken'; readonly holder: string }
  | { readonly type: 'failed'; readonly message: string };

/** A lease whose holder can be kept from acting on a store after it has lost the lease without knowing. */
export interface FencedLease extends Lease {
  /**
   * Of the term that this process has, or had last and nobody took since as far as it knows; undefined if it has none.
   * Renewing keeps it.
   */
  fence(): Fence | undefined;
}

export interface Fence {
  /** Greater than every earlier term of the same lease, unless the store was lost and nobody remembers. */
  readonly term: number;
  /** Put it into a batch: it then fails with `conflict` if somebody else has taken the lease. */
  readonly check: StoreWrite;
}
