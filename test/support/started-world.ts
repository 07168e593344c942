import type { SourceAllow } from '../../src/model/fleet/source-rights.ts';
import { createFleetWorld, type FleetWorld } from './fleet-world.ts';
import { clusterYaml, configMapYaml, placementYaml } from './manifests.ts';
import { createVirtualClock } from './virtual-clock.ts';

export const typo = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [\n';
export const abc = ['/ConfigMap/web/a', '/ConfigMap/web/b', '/ConfigMap/web/c'];
export const base = {
  'clusters/east/cluster.yaml': clusterYaml('east', { env: 'prod' }),
  'clusters/west/cluster.yaml': clusterYaml('west', { env: 'prod' }),
  'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
  'apps/a.yaml': configMapYaml('a', '1'),
  'apps/b.yaml': configMapYaml('b', '1'),
  'apps/c.yaml': configMapYaml('c', '1'),
};

export async function startedWorld(
  files: Readonly<Record<string, string>> = base,
  options: Parameters<typeof createFleetWorld>[0] = {},
): Promise<FleetWorld> {
  const world = await createFleetWorld(options);
  world.source.push(files);
  world.agent('east').connect();
  world.agent('west').connect();
  await world.settle();
  return world;
}

export function names(world: FleetWorld, cluster: string): readonly string[] {
  return world
    .agent(cluster)
    .holding()
    .entries.map(({ key }) => key)
    .sort();
}

/** The server is killed; its agents and its store are not. */
export async function restart(
  world: FleetWorld,
  sources?: readonly string[],
  allow?: Readonly<Record<string, SourceAllow>>,
): Promise<FleetWorld> {
  for (const agent of world.agents.known.values()) agent.abandon();
  return createFleetWorld({
    store: world.store,
    statusFiles: new Map(world.statusFiles),
    clock: createVirtualClock(world.clock.now()),
    agents: world.agents,
    ...(sources === undefined ? {} : { sources }),
    ...(allow === undefined ? {} : { allow }),
  });
}

export function guards(settings: Readonly<Record<string, number>>): string {
  const lines = Object.entries(settings).map(([name, value]) => `    ${name}: ${value}\n`);
  return `apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata:\n  name: fleet\nspec:\n  guards:\n${lines.join('')}`;
}
