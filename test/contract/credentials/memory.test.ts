import { createMemoryCredentials } from '../../support/memory-credentials.ts';
import { credentialsContract } from './suite.ts';

credentialsContract('memory', async () => createMemoryCredentials().open, { shared: true });
