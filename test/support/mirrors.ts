import type { KindState } from '../../src/model/agent/agent.ts';
import type { JsonObject } from '../../src/model/text/json.ts';
import type { SnapshotStore } from '../../src/ports/snapshot-store.ts';
import type { FleetWorld } from './fleet-world.ts';
import { createFleetWorld } from './fleet-world.ts';
import { createVirtualClock } from './virtual-clock.ts';

/** A live Service that is exported. */
export function liveService(name: string, namespace = 'web', spec: JsonObject = { ports: [{ port: 80 }] }): JsonObject {
  const labels = { 'fleetrelay.dev/service-export': 'true', app: name };
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace, labels }, spec };
}

/** The EndpointSlice of a live Service, with these addresses. */
export function liveSlice(service: string, addresses: readonly string[], name = `${service}-1`): JsonObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace: 'web', labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    endpoints: addresses.map((address) => ({ addresses: [address], nodeName: 'n1', conditions: { ready: true } })),
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  };
}

/** What a cluster says of the kinds that mirroring reads. */
export function kindsOf(states: { readonly service?: KindState['state']; readonly slice?: KindState['state'] } = {}) {
  const said = (kind: string, state: KindState['state']): KindState => ({
    kind,
    state,
    message: state === 'unknown' ? 'forbidden' : '',
    scope: 'Namespaced',
  });
  return [
    said('/Service', states.service ?? 'complete'),
    said('discovery.k8s.io/EndpointSlice', states.slice ?? 'complete'),
  ];
}

export function mirrorYaml(name: string, from: string, to: string): string {
  return `apiVersion: fleetrelay.dev/v1alpha1\nkind: ServiceMirror\nmetadata:\n  name: ${name}\nspec:\n  from:\n    ${from}\n  to:\n    ${to}\n`;
}

export function safeModeYaml(mode: string, seconds = 180, guards = ''): string {
  return `apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata:\n  name: fleet\nspec:\n  safeMode: {mode: "${mode}", safeStartWindowSeconds: ${seconds}}\n${guards}`;
}

/** A cluster sends its first snapshot: one exported service with one address. */
export function discoverOne(world: FleetWorld, cluster: string, service = 'shop'): void {
  world.agent(cluster).discovers({
    upserts: [liveService(service), liveSlice(service, ['10.0.0.1'])],
    kinds: kindsOf(),
  });
}

/** The server is killed, and what the store had of these clusters' input snapshots is lost. `now`: of the next one's clock. */
export async function restartWithout(
  world: FleetWorld,
  clusters: readonly string[],
  now = world.clock.now(),
): Promise<FleetWorld> {
  for (const agent of world.agents.known.values()) agent.abandon();
  await world.settle();
  await world.server.stop();
  for (const cluster of clusters) {
    for (const kind of ['live', 'kinds']) await forget(world.store, `clusters/${cluster}/${kind}`);
  }
  return createFleetWorld({
    store: world.store,
    statusFiles: new Map(world.statusFiles),
    clock: createVirtualClock(now),
    agents: world.agents,
  });
}

/** Takes every record of a prefix out of a store. */
export async function forget(store: SnapshotStore, prefix: string): Promise<void> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  if (keys.length > 0) await store.write(keys.map((key) => ({ key, value: null })));
}
