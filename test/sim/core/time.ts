/**
 * The time of the world. It stands still until told to go on; everything that happens is an event of it, and events of
 * one moment come in the order in which they were scheduled.
 */
export interface SimTime {
  /** Milliseconds since the beginning of the world. */
  elapsed(): number;
  /** Calls back after `milliseconds`; the returned function calls it off. */
  in(milliseconds: number, callback: () => void): () => void;
  /** Lets the next event happen, if there is one before `until`, and all promises that hang on it. */
  step(until: number): Promise<boolean>;
  /** Goes on by `milliseconds`; `after` is called after every event. */
  advance(milliseconds: number, after?: () => void): Promise<void>;
  /** Events that have happened. */
  steps(): number;
}

interface Event {
  readonly at: number;
  readonly order: number;
  callback: (() => void) | undefined;
}

export function createSimTime(): SimTime {
  const heap: Event[] = [];
  let now = 0;
  let order = 0;
  let steps = 0;

  async function step(until: number): Promise<boolean> {
    while (heap[0] !== undefined && heap[0].callback === undefined) pop(heap);
    const next = heap[0];
    if (next === undefined || next.at > until) return false;
    pop(heap);
    now = next.at;
    steps += 1;
    const { callback } = next;
    next.callback = undefined;
    callback?.();
    // All promises run on before the platform's next turn.
    await new Promise<void>((resolve) => setImmediate(resolve));
    return true;
  }

  return {
    elapsed: () => now,
    in: (milliseconds, callback) => {
      order += 1;
      const event: Event = { at: now + Math.max(0, milliseconds), order, callback };
      push(heap, event);
      return () => {
        event.callback = undefined;
      };
    },
    step,
    advance: async (milliseconds, after) => {
      const until = now + milliseconds;
      while (await step(until)) after?.();
      now = until;
    },
    steps: () => steps,
  };
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

function push(heap: Event[], event: Event): void {
  let at = heap.length;
  heap.push(event);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || !isBefore(event, above)) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = event;
}

function pop(heap: Event[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]];
    if (left === undefined) break;
    const isRight = right !== undefined && isBefore(right, left);
    const smaller = isRight ? right : left;
    if (!isBefore(smaller, last)) break;
    heap[at] = smaller;
    at = 2 * at + (isRight ? 2 : 1);
  }
  heap[at] = last;
}
