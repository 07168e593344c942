import { expect, test } from 'vitest';
import { configMap, createConnectedWorld, keyOf } from '../../support/agent-world.ts';

const a = configMap('a', '1');
const keyA = keyOf(a);

test('drift that is seen while its object is being reconciled is corrected afterwards', async () => {
  const { server, cluster, settle } = await createConnectedWorld();
  const gate = Promise.withResolvers<void>();
  cluster.writeGate = gate.promise;
  await server.say({ upserts: [a] });
  await settle();
  // The write is in progress: a list finds the edit, and the object is compared again afterwards.
  cluster.personPuts(keyA, configMap('a', 'drift'));
  await settle();
  gate.resolve();
  cluster.writeGate = undefined;
  await settle();
  expect(cluster.objects.get(keyA)?.value).toEqual(a);
});
