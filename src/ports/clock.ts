/** Time. The only way to it outside `adapters/system`. */
export interface Clock {
  /** Wall clock, milliseconds since 1970; may jump. For what people read. */
  now(): number;
  /** Monotonic milliseconds; for deadlines and durations. */
  monotonic(): number;
  /** Resolves after `milliseconds`, or at once when the signal aborts (never rejects). */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Calls back once after `milliseconds`; the returned function cancels. Does not keep the process alive by itself. */
  schedule(milliseconds: number, callback: () => void): () => void;
}
