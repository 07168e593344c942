import { createFakeApi } from '../../support/kubernetes/fake-api.ts';
import { kubernetesLeaseContract } from './kubernetes.ts';

kubernetesLeaseContract('API server in memory', async () => {
  const api = createFakeApi();
  api.addNamespace('agent');
  return { client: api.client, namespace: 'agent' };
});
