import { objectOf } from '../../../src/model/text/json.ts';
import { createMemoryCluster } from '../../support/agent-cluster.ts';
import { type StatusHarness, statusContract, theirs } from './status-suite.ts';
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

statusContract('memory', async (): Promise<StatusHarness> => {
  const memory = createMemoryCluster();
  const object = keyOf(theirs);
  const live = () => memory.objects.get(object)?.value;
  return {
    cluster: memory.open(),
    reopen: async () => memory.open(),
    makesObject: () => memory.personPuts(object, theirs, 'drop'),
    removesObject: () => memory.personRemoves(object),
    writes: (status) => memory.personPuts(object, { ...live(), status: { ...objectOf(live()?.status), ...status } }),
    status: () => (live() === undefined ? undefined : objectOf(live()?.status)),
    pause: memory.pause,
  };
});
