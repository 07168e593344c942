import { createMemoryStore } from '../../src/adapters/stores/memory.ts';
import type { SnapshotStore } from '../../src/ports/snapshot-store.ts';

/** A store whose writes wait between a call of `hold` and the call of what it returns. */
export function createSlowStore() {
  const memory = createMemoryStore();
  let gate: PromiseWithResolvers<void> | undefined;
  const store: SnapshotStore = {
    ...memory,
    write: async (batch) => {
      await gate?.promise;
      return memory.write(batch);
    },
  };
  return {
    store,
    hold: (): (() => void) => {
      const held = Promise.withResolvers<void>();
      gate = held;
      return () => {
        gate = undefined;
        held.resolve();
      };
    },
  };
}
