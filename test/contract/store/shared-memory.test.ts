import { createSharedMemory } from '../../support/shared-memory-store.ts';
import { sharedStoreContract } from './shared-suite.ts';
import { storeContract } from './suite.ts';

storeContract('shared memory', async () => createSharedMemory().open());

sharedStoreContract('shared memory', async () => {
  const memory = createSharedMemory();
  return {
    process: async () => {
      const store = memory.open();
      return { store, swallowReply: () => memory.swallowReplies(), cut: () => store.cut(), mend: () => store.mend() };
    },
    lose: async () => memory.lose(),
    evict: async (key) => memory.evict(key),
    full: async (isFull) => {
      memory.refusing = isFull ? 'OOM: the memory is full' : undefined;
    },
  };
});
