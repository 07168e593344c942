import { hostname } from 'node:os';
import { connectKube } from '../../adapters/kubernetes/api/connect.ts';
import { createKubernetesLease } from '../../adapters/kubernetes/lease.ts';
import { LEASE_DURATION_MS } from '../../adapters/lease/observed-lease.ts';
import { createStoreLease } from '../../adapters/stores/store-lease.ts';
import type { RelayConfig } from '../../model/fleet/relay-config.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import { withFence } from '../../runtime/replica/candidacy.ts';
import { lockStore, type StoreLock } from '../../runtime/replica/store-lock.ts';
import type { ReplicaSetup } from './foundation.ts';
import { whileWaiting } from './open-store.ts';
import type { ProcessDeps } from './sources.ts';

/** The name of the Lease by which the replicas of the server elect their leader, with `lease: kubernetes`. */
const SERVER_LEASE = 'fleetrelay-server';
/** The record of the leader's lease in the store; a single server locks the store with it. */
const LEADER_KEY = 'leader';
const NAMESPACE = 'fleetrelay';

/** The role of this process: one of several servers, or the only one; `lock` is set if others could use its store. */
export interface OpenedReplica {
  readonly role: { readonly replicas?: ReplicaSetup; readonly lock?: StoreLock };
  close(): Promise<void>;
}

/** Rejects, with a text for people, if the store does not suit the configured mode, or another server has locked it. */
export async function openReplica(
  config: RelayConfig,
  version: string,
  store: SnapshotStore,
  deps: ProcessDeps,
  signal: AbortSignal | undefined,
): Promise<OpenedReplica> {
  const { replicas } = config;
  const id = `${hostname()}_${deps.random.id().slice(0, 8)}`;
  const leaseInStore = () => createStoreLease({ store, clock: deps.clock }, { key: LEADER_KEY, identity: id });
  if (replicas.mode === 'one') {
    // No other process can use another kind of store.
    if (!store.shared) return { role: {}, close: async () => undefined };
    const lock = await whileWaiting(config, deps, 'the store cannot be used yet', (waiting) => {
      const options = { key: LEADER_KEY, durationMs: LEASE_DURATION_MS, waiting };
      return lockStore({ ...deps, lease: leaseInStore() }, signal === undefined ? options : { ...options, signal });
    });
    return { role: { lock }, close: lock.stop };
  }
  if (!store.shared) {
    throw new Error('several replicas need a store that they share: --store redis://HOST:PORT (or --replicas one)');
  }
  const advertise = replicas.advertise ?? '';
  if (replicas.lease === 'store') {
    const setup = { id, advertise, lease: leaseInStore(), needsStore: true };
    return { role: { replicas: setup }, close: async () => undefined };
  }
  const { client, namespace = NAMESPACE } = await connectToApiServer(version, deps);
  const lease = createKubernetesLease({ ...deps, client }, { namespace, name: SERVER_LEASE, identity: id });
  return {
    role: { replicas: { id, advertise, lease: withFence(lease, store, id), needsStore: false } },
    close: () => client.close(),
  };
}

/** Opens a client of the API server that has the Lease. Rejects with an error whose message is for people. */
async function connectToApiServer(version: string, deps: ProcessDeps) {
  const inCluster = (deps.env.KUBERNETES_SERVICE_HOST ?? '') !== '';
  const userAgent = `fleetrelay-server/${version}`;
  const connected = await connectKube(deps, { inCluster, userAgent, env: deps.env });
  if (!connected.ok)
    throw new Error(`the cluster that keeps the Lease ${SERVER_LEASE} cannot be reached: ${connected.problem}`);
  const { client, namespace } = connected.value;
  return namespace === undefined ? { client } : { client, namespace };
}
