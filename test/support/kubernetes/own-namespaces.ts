import { connectKube } from '../../../src/adapters/kubernetes/api/connect.ts';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { must } from '../../../src/model/values/result.ts';
import { silentLog } from '../silent-log.ts';
import { sharedPlane } from './shared-plane.ts';

/** Namespaces of a real API server that other files use as well; each test has one for itself. */
export interface OwnNamespaces {
  /** Path of a kubeconfig for the user without any right. */
  readonly limited: string;
  /** A new namespace, and a client that may do everything. */
  make(): Promise<{ readonly client: KubeClient; readonly namespace: string }>;
  stop(): Promise<void>;
}

export async function openOwnNamespaces(): Promise<OwnNamespaces> {
  const { admin, limited } = await sharedPlane();
  const deps = { clock: createSystemClock(), random: createSystemRandom(), log: silentLog };
  const { client } = must(await connectKube(deps, { kubeconfig: admin, userAgent: 'test' }));
  const prefix = `own-${deps.random.id().slice(0, 8).toLowerCase()}`;
  let made = 0;
  return {
    limited,
    make: async () => {
      made += 1;
      const namespace = `${prefix}-${made}`;
      const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
      const answer = await client.request({ method: 'POST', path: '/api/v1/namespaces', body });
      if (answer.type !== 'ok') throw new Error(JSON.stringify(answer));
      return { client, namespace };
    },
    stop: () => client.close(),
  };
}
