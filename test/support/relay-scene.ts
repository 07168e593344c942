import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { type Fleet, until } from './fleet-processes.ts';
import { clusterYaml, configMapYaml, placementYaml } from './manifests.ts';
import type { Contents, RelayFleet, Replica } from './relay-fleet.ts';

/**
 * What the scenarios of the relay begin with: every cluster has a service `shop` with one address, and gets two ConfigMaps
 * and the services of all others.
 */
export function sceneFiles(names: readonly string[], policy: string = policySpec('scoped')): Record<string, string> {
  return {
    ...Object.fromEntries(names.map((name) => [`clusters/${name}/cluster.yaml`, clusterYaml(name)])),
    'fleet/policy.yaml': policy,
    'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
    'fleet/mirror.yaml': MIRROR,
    'apps/a.yaml': configMapYaml('a', 'one'),
    'apps/b.yaml': configMapYaml('b', 'one'),
  };
}

const MIRROR = `apiVersion: fleetrelay.dev/v1alpha1
kind: ServiceMirror
metadata:
  name: shared
spec:
  from: {selector: {}}
  to: {selector: {}}
`;

const LONG_MS = 90_000;

/** More of its spec: the removals of one step after the other add up to nothing that is held. */
export const ROOMY_GUARDS = '  guards: {percentFromOwned: 1000}\n';

/** A FleetPolicy with a safe mode. */
export function policySpec(mode: 'strict' | 'scoped' | 'off', safeStartWindowSeconds?: number): string {
  const window = safeStartWindowSeconds === undefined ? '' : `, safeStartWindowSeconds: ${safeStartWindowSeconds}`;
  return `apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata:\n  name: fleet\nspec:\n  safeMode: {mode: '${mode}'${window}}\n`;
}

/** A person exports the service of this name, with these addresses; the same again changes its addresses. */
export async function exportService(
  fleet: Pick<Fleet, 'cluster'>,
  cluster: string,
  name: string,
  addresses: readonly string[],
): Promise<void> {
  const labels = { 'fleetrelay.dev/service-export': 'true' };
  const live = await fleet.cluster(cluster);
  await live.put({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'web', labels },
    spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
  });
  await live.put({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${name}-1`, namespace: 'web', labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  });
}

/** What another cluster holds of an exported service. */
export function mirrored(cluster: string, name: string, addresses: string): Readonly<Record<string, string>> {
  return {
    [`Service/web/${cluster}-${name}`]: 'None 80',
    [`EndpointSlice.discovery.k8s.io/web/${cluster}-${name}-1`]: addresses,
  };
}

/** The address of the service `shop` in a cluster of the scene. */
export function addressOf(names: readonly string[], cluster: string): string {
  return `10.${names.indexOf(cluster) + 1}.0.1`;
}

/** What the clusters hold at first. */
export function sceneContents(names: readonly string[]): Contents {
  const maps = { 'ConfigMap/web/a': 'one', 'ConfigMap/web/b': 'one' };
  return Object.fromEntries(
    names.map((name) => {
      const others = names.filter((other) => other !== name);
      const shops = others.map((other) => mirrored(other, 'shop', addressOf(names, other)));
      return [name, Object.assign({}, maps, ...shops)];
    }),
  );
}

/** Exports the services, starts the agents, and waits for the initial state. */
export async function setScene(fleet: RelayFleet, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => exportService(fleet, name, 'shop', [addressOf(names, name)])));
  await fleet.startAgents(...names);
  await fleet.holds(sceneContents(names));
}

/** The contents with these changes; null: it is not there. */
export function changed(
  contents: Contents,
  changes: Readonly<Record<string, Readonly<Record<string, string | null>>>>,
): Contents {
  return Object.fromEntries(
    Object.entries(contents).map(([name, objects]) => {
      const merged = Object.entries({ ...objects, ...changes[name] });
      return [name, Object.fromEntries(merged.filter((entry): entry is [string, string] => entry[1] !== null))];
    }),
  );
}

/** The contents with this in every cluster. */
export function everywhere(contents: Contents, objects: Readonly<Record<string, string | null>>): Contents {
  return changed(contents, Object.fromEntries(Object.keys(contents).map((name) => [name, objects])));
}

/**
 * Servers and Redis end at the same time, by SIGKILL, and start again. The agents live on and reconnect, but for the late
 * ones: those end as well, and are started by the test. Redis is empty afterwards, unless it `keeps` what it had but for
 * what it `loses` (prefixes of records of the store).
 */
export async function restartAll(
  fleet: RelayFleet,
  names: readonly string[],
  options: {
    readonly late: readonly string[];
    readonly keeps?: boolean;
    readonly loses?: readonly string[];
    /** While no server runs. */
    readonly meanwhile?: () => void;
  },
): Promise<void> {
  const { late, keeps = false, loses = [], meanwhile = () => undefined } = options;
  await settled(fleet);
  const servers = [...new Set([fleet.a, fleet.b])];
  await Promise.all([...late.map((name) => fleet.agent(name)), ...servers].map((one) => one.kill('SIGKILL')));
  if (!keeps) {
    await fleet.redis.kill();
    await fleet.redis.restart();
  }
  meanwhile();
  for (const prefix of loses) await loseRecords(fleet, prefix);
  await Promise.all(servers.map((server) => server.start()));
  for (const cluster of names.filter((name) => !late.includes(name))) {
    await until(
      `${cluster} is back`,
      () => servers.some(({ said }) => said('an agent is connected', { cluster })),
      LONG_MS,
    );
  }
}

/** Everything is written to the store: what is known of the fleet is the same at every replica, and applied. */
async function settled(fleet: RelayFleet): Promise<void> {
  for (const { looks } of [fleet.a, fleet.b])
    await looks.summary(/^applied by (\d+) of (\1 clusters|.*waiting for north: not connected yet)$/);
}

async function loseRecords({ redis }: RelayFleet, prefix: string): Promise<void> {
  const found = await redis.command('KEYS', `{fleetrelay}:record:${prefix}*`);
  const keys = Array.isArray(found) ? found.map(String) : [];
  if (keys.length === 0) throw new Error(`the store has nothing of ${prefix}`);
  await redis.command('DEL', ...keys);
}

/** Waits until safe mode waits for exactly these clusters, with these reasons and all ways out. */
export async function waitsFor(
  replica: Replica,
  mode: 'strict' | 'scoped' | 'off',
  reasons: Readonly<Record<string, string>>,
): Promise<void> {
  const found = await until(`${replica.name} waits for ${Object.keys(reasons)}`, async () => {
    const { safeMode } = await replica.status();
    const told = Object.fromEntries(safeMode?.causes.map(({ cluster, reason }) => [cluster, reason]) ?? []);
    return safeMode !== null && isDeepStrictEqual(told, reasons) && safeMode;
  });
  expect(found.mode).toBe(mode);
  for (const { cluster, message } of found.causes) {
    expect(message).toMatch(/bring its agent back; deregister it .*; or set spec\.skipWarming: true/);
    await until(`${replica.name} logs it`, () => replica.said('safe mode waits for a cluster', { cluster }));
  }
}
