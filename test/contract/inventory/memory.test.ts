import { createFakeApi } from '../../support/kubernetes/fake-api.ts';
import { inventoryContract } from './suite.ts';

inventoryContract('API server in memory', async () => {
  const api = createFakeApi();
  api.addNamespace('agent');
  return { client: api.client, namespace: 'agent' };
});
