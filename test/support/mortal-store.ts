import { createMemoryStore } from '../../src/adapters/stores/memory.ts';
import type { SnapshotStore } from '../../src/ports/snapshot-store.ts';

/** A store whose writer can die: from then on it takes a given number of batches more, and answers nothing after that. */
export function createMortalStore() {
  const store = createMemoryStore();
  let batches = Number.POSITIVE_INFINITY;
  let written = 0;
  const mortal: SnapshotStore = {
    ...store,
    write: async (writes) => {
      if (batches <= 0) return new Promise(() => undefined);
      batches -= 1;
      written += 1;
      return store.write(writes);
    },
  };
  return {
    store: mortal,
    written: () => written,
    dieAfter: (more: number): void => {
      batches = more;
    },
    revive: (): void => {
      batches = Number.POSITIVE_INFINITY;
    },
  };
}
