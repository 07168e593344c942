import { expect, test } from 'vitest';
import { configMap, createConnectedWorld, keyOf } from '../../support/agent-world.ts';

const a = configMap('a', '1');
const keyA = keyOf(a);

test('drift that is seen while its object is being worked on is put back afterwards', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  const gate = Promise.withResolvers<void>();
  cluster.writeGate = gate.promise;
  await server.say({ upserts: [a] });
  await settle();
  // It is written, and the answer is on its way: a look finds the edit and leaves the object to who works on it.
  cluster.personPuts(keyA, configMap('a', 'drift'));
  await settle();
  gate.resolve();
  cluster.writeGate = undefined;
  await settle();
  expect(cluster.objects.get(keyA)?.value).toEqual(a);
});
