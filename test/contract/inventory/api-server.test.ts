import { afterAll, beforeAll, describe } from 'vitest';
import { connectKube } from '../../../src/adapters/kubernetes/api/connect.ts';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { must } from '../../../src/model/result.ts';
import { noKubernetes } from '../../support/kubernetes/binaries.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { silentLog } from '../../support/silent-log.ts';
import { inventoryContract } from './suite.ts';

describe.skipIf(noKubernetes)('on a real API server', () => {
  let plane: ControlPlane;
  let client: KubeClient;
  let namespaces = 0;

  beforeAll(async () => {
    plane = await startControlPlane();
    const deps = { clock: createSystemClock(), random: createSystemRandom(), log: silentLog };
    client = must(await connectKube(deps, { kubeconfig: plane.kubeconfig(), userAgent: 'test' })).client;
  });

  afterAll(async () => {
    await client?.close();
    await plane?.stop();
  });

  inventoryContract('real API server', async () => {
    namespaces += 1;
    const namespace = `inventory-${namespaces}`;
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
    const answer = await client.request({ method: 'POST', path: '/api/v1/namespaces', body });
    if (answer.type !== 'ok') throw new Error(JSON.stringify(answer));
    return { client, namespace };
  });
});
