import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { SequencedDelta } from '../../../src/model/fleet/output.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import type { SimAgent } from '../../sim/actors/agent.ts';
import { noWrongDeletion } from '../../sim/checkers/no-wrong-deletion.ts';
import type { Doc, FileModel } from '../../sim/desired.ts';
import type { SimRepository } from '../../sim/ports/repository.ts';
import { createWorld, type World } from '../../sim/world.ts';

const C1 = '/ConfigMap/shop/c1' as ObjectKey;
/** A look of a source at its repository, and all that follows from it. */
const LOOK_MS = 20_000;

interface Scene {
  readonly world: World;
  readonly main: SimRepository;
  readonly apps: SimRepository;
  readonly east: SimAgent;
  /** Deltas that the agent was offered, and those that it has taken. */
  readonly offered: SequencedDelta[];
  readonly taken: SequencedDelta[];
  /** What the checker has found. */
  readonly found: string[];
}

test('a delta counts as taken if the agent ended after it was in the inventory and before it could answer', async () => {
  const { world, main, apps, east, offered, taken, found } = await bothWantC1();
  // The first write of a delta is to the disk, the second one to the inventory.
  east.life()?.process.doom('after', 1);
  main.commit(new Map([['apps/one.yaml', null]]));
  await world.time.advance(LOOK_MS);
  expect(east.life()).toBeUndefined();
  expect(east.cluster.memory.inventory.current?.state.position).toEqual(offered.at(-1)?.position);
  expect(taken.at(-1)).toBe(offered.at(-1));
  east.start();
  await world.time.advance(LOOK_MS);
  main.commit(new Map([['fleet/policy.yaml', { ...policy, broken: 'syntax' }]]));
  apps.commit(new Map([['apps/one.yaml', null]]));
  await world.time.advance(LOOK_MS);
  expect(east.cluster.memory.objects.has(C1)).toBe(false);
  expect(found).toEqual([]);
});

test.each((['before', 'after'] as const).flatMap((at) => [0, 1, 2, 3].map((writes) => ({ at, writes }))))(
  'a delta is taken once if its agent ends $at write $writes, and only if the inventory has it',
  async (doom) => {
    const { world, main, east, offered, taken } = await bothWantC1();
    east.life()?.process.doom(doom.at, doom.writes);
    main.commit(new Map([['apps/one.yaml', configMap('c4')]]));
    await world.time.advance(LOOK_MS);
    expect(east.life()).toBeUndefined();
    const last = offered.at(-1);
    const isThere = east.cluster.memory.inventory.current?.state.digest === last?.to;
    expect(taken.filter((delta) => delta === last)).toHaveLength(isThere ? 1 : 0);
  },
);

test('a delta that was not in the inventory when the agent ended does not count: who wanted the object still does', async () => {
  const { world, main, apps, east, offered, taken, found } = await bothWantC1();
  east.life()?.process.doom('before', 1);
  main.commit(new Map([['apps/one.yaml', null]]));
  await world.time.advance(LOOK_MS);
  const last = offered.at(-1);
  expect(taken).not.toContain(last);
  main.commit(new Map([['fleet/policy.yaml', { ...policy, broken: 'syntax' }]]));
  apps.commit(new Map([['apps/one.yaml', null]]));
  await world.time.advance(LOOK_MS);
  if (last === undefined) throw new Error('no delta was offered');
  const revisions = last.revisions.map((ref) => ({ ...ref, revision: (ref.source === 'main' ? main : apps).tip() }));
  world.tell({ type: 'offered', cluster: east.cluster, delta: { ...last, upserts: [], removals: [C1], revisions } });
  expect(found).toEqual([expect.stringContaining('main wanted it as well, and is not completely known')]);
});

const policy = file({
  type: 'policy',
  maxRemovalsPerCluster: 10,
  maxRemovalsPerFleet: 10,
  windowSeconds: 30,
  percent: { perCluster: 100, perFleet: 100, fromOwned: 10 },
});

/** One server, and the cluster `east`, which holds an object that two sources want there. */
async function bothWantC1(): Promise<Scene> {
  const world = worldOfTwoSources();
  const [main, apps] = world.repositories;
  const [east] = world.agents;
  if (main === undefined || apps === undefined || east === undefined) throw new Error('the world lacks a part');
  const [offered, taken, found]: [SequencedDelta[], SequencedDelta[], string[]] = [[], [], []];
  noWrongDeletion(world, (message) => found.push(message));
  world.listen((event) => {
    if (event.type === 'offered') offered.push(event.delta);
    if (event.type === 'taken') taken.push(event.delta);
  });
  main.commit(
    new Map([
      ['clusters/east/cluster.yaml', file({ type: 'cluster', name: east.cluster.name, env: 'prod' })],
      [
        'placements/all.yaml',
        file({ type: 'placement', name: 'all', folder: 'apps', names: [east.cluster.name], env: undefined }),
      ],
      ['fleet/policy.yaml', policy],
      ['apps/one.yaml', configMap('c1')],
    ]),
  );
  apps.commit(
    new Map([
      ['apps/one.yaml', configMap('c1')],
      ['apps/two.yaml', configMap('c2')],
    ]),
  );
  for (const { start } of world.servers) start();
  east.start();
  // Time goes from event to event, and the processes must have begun to schedule the first one.
  await setImmediate();
  await world.time.advance(LOOK_MS);
  expect(east.cluster.memory.inventory.current?.records.get(C1)?.origins.map(({ source }) => source)).toEqual([
    'main',
    'apps',
  ]);
  return { world, main, apps, east, offered, taken, found };
}

function worldOfTwoSources(): World {
  for (let seed = 1; ; seed += 1) {
    const world = createWorld(seed);
    if (world.repositories.length === 2 && world.servers.length === 1) return world;
  }
}

function configMap(name: string): FileModel {
  return file({ type: 'object', object: { kind: 'ConfigMap', namespace: 'shop', name, data: '1' } });
}

function file(...docs: readonly Doc[]): FileModel {
  return { docs, broken: undefined };
}
