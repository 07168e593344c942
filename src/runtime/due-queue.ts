interface Item {
  readonly key: string;
  at: number;
  place: number;
}

export type DueQueue = ReturnType<typeof createDueQueue>;

/** Keys ordered by a number each: a binary heap that knows the place of each key, so that every call costs at most O(log n). */
export function createDueQueue() {
  const heap: Item[] = [];
  const items = new Map<string, Item>();

  const put = (item: Item, place: number): void => {
    heap[place] = item;
    item.place = place;
  };
  const rise = (item: Item): void => {
    for (;;) {
      const place = (item.place - 1) >> 1;
      const parent = heap[place];
      if (item.place === 0 || parent === undefined || parent.at <= item.at) return;
      put(parent, item.place);
      put(item, place);
    }
  };
  const sink = (item: Item): void => {
    for (;;) {
      const left = heap[2 * item.place + 1];
      const right = heap[2 * item.place + 2];
      const child = right !== undefined && left !== undefined && right.at < left.at ? right : left;
      if (child === undefined || child.at >= item.at) return;
      const { place } = child;
      put(child, item.place);
      put(item, place);
    }
  };
  return {
    /** Adds a key, or moves it. */
    set: (key: string, at: number): void => {
      const item = items.get(key) ?? { key, at, place: heap.length };
      item.at = at;
      items.set(key, item);
      put(item, item.place);
      rise(item);
      sink(item);
    },
    delete: (key: string): void => {
      const item = items.get(key);
      const last = heap.at(-1);
      if (item === undefined || last === undefined) return;
      items.delete(key);
      heap.pop();
      if (last === item) return;
      put(last, item.place);
      rise(last);
      sink(last);
    },
    /** A key with the lowest number; undefined if there is none. */
    first: (): { readonly key: string; readonly at: number } | undefined => heap[0],
  };
}
