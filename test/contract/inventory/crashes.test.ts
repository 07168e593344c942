import { createFakeApi } from '../../support/kubernetes/fake-api.ts';
import { inventoryHistories } from './histories.ts';

inventoryHistories('API server in memory', 150, async () => {
  const api = createFakeApi();
  api.addNamespace('agent');
  return { client: api.client, namespace: 'agent' };
});
