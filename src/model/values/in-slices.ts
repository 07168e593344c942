/** A slice of work ends after this time; then the event loop turns once. */
export const SLICE_MS = 10;

/** The part of a clock that slices need. */
interface SliceClock {
  monotonic(): number;
  sleep(milliseconds: number): Promise<void>;
}

/** Begins a slice of work; the returned function says whether it is over. */
export function sliceOf(clock: Pick<SliceClock, 'monotonic'>): () => boolean {
  const end = clock.monotonic() + SLICE_MS;
  return () => clock.monotonic() >= end;
}

/**
 * Does this work in slices of ten milliseconds, between which the event loop turns. The work yields after each piece. `pauseMs`: the
 * time between two slices, for work that can wait.
 */
export async function inSlices<Value>(
  clock: SliceClock,
  work: Iterator<undefined, Value>,
  pauseMs = 0,
): Promise<Value> {
  let isUp = sliceOf(clock);
  for (;;) {
    const piece = work.next();
    if (piece.done === true) return piece.value;
    if (!isUp()) continue;
    await clock.sleep(pauseMs);
    isUp = sliceOf(clock);
  }
}

/** Does all of this work now. */
export function atOnce<Value>(work: Iterator<undefined, Value>): Value {
  for (;;) {
    const piece = work.next();
    if (piece.done === true) return piece.value;
  }
}
