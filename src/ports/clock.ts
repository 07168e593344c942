/** Time. Code outside `adapters/system` uses no other clock or timer. */
export interface Clock {
  /** Wall clock, milliseconds since 1970; may jump. For times that people read. */
  now(): number;
  /** Monotonic milliseconds, for deadlines and durations. */
  monotonic(): number;
  /** Resolves after `milliseconds`, or at once when the signal aborts (never rejects). */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Calls `callback` once after `milliseconds`; the returned function cancels. Does not keep the process alive. */
  schedule(milliseconds: number, callback: () => void): () => void;
}
