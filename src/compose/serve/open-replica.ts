import { hostname } from 'node:os';
import { connectKube } from '../../adapters/kubernetes/api/connect.ts';
import { createKubernetesLease } from '../../adapters/kubernetes/lease.ts';
import { createStoreLease } from '../../adapters/stores/store-lease.ts';
import type { RelayConfig } from '../../model/relay-config.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import { withFence } from '../../runtime/replica/fenced-lease.ts';
import type { ProcessDeps } from './sources.ts';
import type { ReplicaSetup } from './wire-replica.ts';

/** The name of the Lease that the replicas of the server elect their leader by, where a cluster keeps it. */
const SERVER_LEASE = 'fleetrelay-server';
/** The record by which they do, where the store keeps it. */
const LEADER_KEY = 'leader';
const NAMESPACE = 'fleetrelay';

/** What this process is among several, and what ends that; undefined: it is the only server of its fleet. */
export async function openReplica(
  { replicas }: Pick<RelayConfig, 'replicas'>,
  version: string,
  store: SnapshotStore,
  deps: ProcessDeps,
): Promise<{ readonly setup: ReplicaSetup; close(): Promise<void> } | undefined> {
  if (replicas.mode === 'one') return undefined;
  if (!store.shared) {
    throw new Error('several replicas need a store that they share: --store redis://HOST:PORT (or --replicas one)');
  }
  const id = `${hostname()}_${deps.random.id().slice(0, 8)}`;
  const advertise = replicas.advertise ?? '';
  if (replicas.lease === 'store') {
    const lease = createStoreLease({ store, clock: deps.clock }, { key: LEADER_KEY, identity: id });
    return { setup: { id, advertise, lease, needsStore: true }, close: async () => undefined };
  }
  const { client, namespace = NAMESPACE } = await connect(version, deps);
  const lease = createKubernetesLease({ ...deps, client }, { namespace, name: SERVER_LEASE, identity: id });
  return {
    setup: { id, advertise, lease: withFence(lease, store, id), needsStore: false },
    close: () => client.close(),
  };
}

async function connect(version: string, deps: ProcessDeps) {
  const inCluster = (deps.env.KUBERNETES_SERVICE_HOST ?? '') !== '';
  const userAgent = `fleetrelay-server/${version}`;
  const connected = await connectKube(deps, { inCluster, userAgent, env: deps.env });
  if (!connected.ok)
    throw new Error(`the cluster that keeps the Lease ${SERVER_LEASE} is not to be found: ${connected.problem}`);
  const { client, namespace } = connected.value;
  return namespace === undefined ? { client } : { client, namespace };
}
