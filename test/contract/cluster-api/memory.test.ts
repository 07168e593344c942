import { createMemoryCluster } from '../../support/agent-cluster.ts';
import { type ClusterHarness, clusterContract, keyOf } from './suite.ts';

clusterContract('memory', async (): Promise<ClusterHarness> => {
  const memory = createMemoryCluster();
  return {
    cluster: memory.open(),
    reopen: async () => memory.open(),
    personPuts: (value) => memory.personPuts(keyOf(value), value, 'drop'),
    personEdits: (key, change) => memory.personPuts(key, change(memory.objects.get(key)?.value ?? {})),
    personRemoves: memory.personRemoves,
    pause: memory.pause,
  };
});
