import { expect, it } from 'vitest';
import { type ObjectKey, objectOfStatus } from '../../src/model/objects/object-key.ts';
import { objectOf } from '../../src/model/text/json.ts';
import { clusterYaml } from '../support/manifests.ts';
import { flowerYaml, statusDomain, statusOf } from '../support/status-domain.ts';
import { fineCluster, type SimCluster } from './ports/cluster.ts';
import { createWorld, type World } from './world.ts';

const NAMES = ['rose', 'tulip', 'iris'];
const domains = [{ engine: statusDomain() }];
const keyOf = (name: string): ObjectKey => objectOfStatus(statusOf(name));

/** Plays a history in which people declare flowers and make them, and processes are killed; returns the declared ones by cluster. */
async function play(world: World): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const { agents, servers, time } = world;
  const dice = world.dice.fork('flowers');
  const [repository] = world.repositories;
  const clusters = agents.map(({ cluster }) => cluster);
  const declared = new Map(clusters.map(({ name }) => [name, new Set<string>()]));
  const push = (files: Readonly<Record<string, string | null>>) => repository?.remote.push(files);
  push(Object.fromEntries(clusters.map(({ name }) => [`${name}.yaml`, clusterYaml(name)])));
  for (const { start } of [...servers, ...agents]) start();
  await time.advance(5_000);
  for (let step = 0; step < 60; step += 1) {
    const [{ cluster, life: agent }, name] = [dice.pick(agents), dice.pick(NAMES)];
    const what = dice.int(10);
    if (what < 4) {
      const among = declared.get(cluster.name);
      const isGone = among?.delete(name) === true;
      if (!isGone) among?.add(name);
      push({ [`${name}-${cluster.name}.yaml`]: isGone ? null : flowerIn(name, cluster) });
    } else if (what < 6) personActs(cluster, keyOf(name), dice.int(3));
    else if (what < 7) cluster.weather.failingWrites = dice.chance(0.5) ? 0.5 : 0;
    else if (what < 9) agent()?.process.kill();
    else dice.pick(servers).life()?.process.kill();
    if (dice.chance(0.5)) for (const { start } of [...servers, ...agents]) start();
    await time.advance(dice.int(20_000));
  }
  for (const cluster of clusters) Object.assign(cluster.weather, fineCluster());
  for (const { start } of [...servers, ...agents]) start();
  await time.advance(30 * 60_000);
  return declared;
}

function flowerIn(name: string, { name: cluster }: SimCluster): string {
  return flowerYaml(name, cluster).replace(`name: ${name}`, `name: ${name}-${cluster}`);
}

function personActs({ memory }: SimCluster, key: ObjectKey, what: number): void {
  const live = memory.objects.get(key)?.value;
  if (live === undefined) memory.personPuts(key, { spec: {}, status: { theirs: true } }, 'drop');
  else if (what === 0) memory.personRemoves(key);
  else memory.personPuts(key, { ...live, status: { ...objectOf(live.status), seen: 'changed' } }, 'drop');
}

it.each([1, 2, 3, 4, 5, 6])(
  'after people have acted and processes were killed, each flower has the status that is declared (seed %i)',
  async (seed) => {
    const world = createWorld(seed, { domains });
    const declared = await play(world);
    for (const { cluster, life } of world.agents) {
      for (const name of NAMES) {
        const live = cluster.memory.objects.get(keyOf(name))?.value;
        if (live === undefined) continue;
        const ours = declared.get(cluster.name)?.has(name) === true ? { seen: true } : {};
        expect([cluster.name, name, live]).toMatchObject([cluster.name, name, { status: { theirs: true, ...ours } }]);
        if (!('seen' in ours)) expect(objectOf(live.status).seen).not.toBe(true);
      }
      const held = life()?.agent?.health().statuses.total;
      expect([cluster.name, held]).toEqual([cluster.name, declared.get(cluster.name)?.size]);
    }
  },
);
