import { connectKube } from '../../../src/adapters/kubernetes/api/connect.ts';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';
import { must } from '../../../src/model/result.ts';
import { silentLog } from '../silent-log.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts';

/** A real API server whose tests each have a namespace for themselves. */
export interface OwnNamespaces {
  readonly plane: ControlPlane;
  /** A new namespace, and a client that may do everything. */
  make(): Promise<{ readonly client: KubeClient; readonly namespace: string }>;
  stop(): Promise<void>;
}

export async function startOwnNamespaces(options: ControlPlaneOptions = {}): Promise<OwnNamespaces> {
  const plane = await startControlPlane(options);
  const deps = { clock: createSystemClock(), random: createSystemRandom(), log: silentLog };
  const { client } = must(await connectKube(deps, { kubeconfig: plane.kubeconfig(), userAgent: 'test' }));
  let made = 0;
  return {
    plane,
    make: async () => {
      made += 1;
      const namespace = `own-${made}`;
      const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
      const answer = await client.request({ method: 'POST', path: '/api/v1/namespaces', body });
      if (answer.type !== 'ok') throw new Error(JSON.stringify(answer));
      return { client, namespace };
    },
    stop: async () => {
      await client.close();
      await plane.stop();
    },
  };
}
