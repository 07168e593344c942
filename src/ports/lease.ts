import type { StoreWrite } from './snapshot-store.ts';

/**
 * A lease that at most one process holds at a time. A process whose term has ended does not hold it, even if the process was
 * suspended and has not noticed.
 */
export interface Lease {
  /** Takes or renews the lease, once. One call at a time. Never rejects. */
  acquire(): Promise<LeaseAnswer>;
  /** Releases the lease, if this process holds it, so that another process can take it at once. Never rejects. */
  release(): Promise<void>;
}

/**
 * `held` until the deadline in monotonic milliseconds, counted from before the request was sent. `taken`: another process
 * holds it. `failed`: there was no answer in time; an earlier term still runs to its own deadline.
 */
export type LeaseAnswer =
  | { readonly type: 'held'; readonly deadline: number }
  | { readonly type: 'taken'; readonly holder: string }
  | { readonly type: 'failed'; readonly message: string };

/** A lease with a fence: a former holder cannot write to the store, even if it has not noticed that it lost the lease. */
export interface FencedLease extends Lease {
  /**
   * The fence of the current term, or of the last one as long as this process knows of no other holder; undefined if there is
   * none. A renewal does not change it.
   */
  fence(): Fence | undefined;
}

export interface Fence {
  /** Greater than all earlier terms of the lease, unless the store was lost and no process remembers them. */
  readonly term: number;
  /** Added to a batch, it makes the batch fail with `conflict` if another process has taken the lease. */
  readonly check: StoreWrite;
}
