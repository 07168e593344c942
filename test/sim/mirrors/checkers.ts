import type { MakeChecker } from '../checkers/checker.ts';
import type { World } from '../world.ts';
import { machineKeys } from './machines.ts';
import { LASTING, mirrorKeys, servicesIn } from './services.ts';

/**
 * Services that are never removed stay known everywhere for as long as they are mirrored: even while clusters cannot be
 * observed, no delta removes them or leaves them without addresses.
 */
export const lastingMirrors: MakeChecker = (world, fail) => {
  const lasting = new Set(
    world.agents.flatMap(({ cluster }) => LASTING.flatMap((service) => mirrorKeys(cluster.name, service))),
  );
  world.listen((event) => {
    if (event.type !== 'offered') return;
    const { cluster, delta } = event;
    for (const key of delta.removals) {
      if (lasting.has(key)) fail(`${key} is removed in ${cluster.name}, and what it stands for is there`);
    }
    for (const { key, value } of delta.upserts) {
      const isEmpty = Array.isArray(value.endpoints) && value.endpoints.length === 0;
      if (lasting.has(key) && isEmpty) fail(`${key} has no addresses in ${cluster.name}, and its service has some`);
    }
  });
  return { name: 'lasting mirrors' };
};

/** Once everything is quiet, every cluster knows the services of the others as they are. */
export const mirrored: MakeChecker = (world, fail) => ({
  name: 'mirrored',
  atRest: () => {
    for (const difference of mirrorDifferences(world)) fail(difference);
  },
});

export function mirrorDifferences({ agents }: World): readonly string[] {
  return agents.flatMap(({ cluster }) => {
    const others = agents.map((agent) => agent.cluster).filter((other) => other !== cluster);
    const wanted = new Map(
      others.flatMap((from) =>
        servicesIn(from).flatMap((name) => mirrorKeys(from.name, name).map((key) => [key, from])),
      ),
    );
    const held = new Map([...cluster.memory.objects].filter(([, { stamp }]) => stamp !== undefined));
    const keys = new Set([...held.keys()].map((key) => `${key}`).filter((key) => !machineKeys.includes(key)));
    return [
      ...[...wanted.keys()].filter((key) => !keys.has(key)).map((key) => `${cluster.name} lacks ${key}`),
      ...[...keys].filter((key) => !wanted.has(key)).map((key) => `${cluster.name} still has ${key}`),
    ];
  });
}
