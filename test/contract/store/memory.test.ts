import { createMemoryStore } from '../../../src/adapters/stores/memory.ts';
import { storeContract } from './suite.ts';

storeContract('memory', async () => createMemoryStore());
