import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../../src/adapters/stores/memory.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml, configMapYaml } from '../../support/manifests.ts';
import { discoverOne, forget, mirrorYaml } from '../../support/mirrors.ts';
import { guards, names, restart, typo } from '../../support/started-world.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const SOURCES = ['fleet', 'main', 'extra'];
const X = '/ConfigMap/web/x';
const PATH = 'clusters/east/x.yaml';
const loose = guards({
  maxRemovalsPerCluster: 1000,
  maxRemovalPercentPerCluster: 100,
  maxRemovalsPerFleet: 1000,
  maxRemovalPercentPerFleet: 100,
});
const fleetFiles = {
  'clusters/east/cluster.yaml': clusterYaml('east'),
  'clusters/west/cluster.yaml': clusterYaml('west'),
  'fleet/policy.yaml': loose,
};

/** What a source says of x: `1` and `2` declare it with that content. */
type Word = '1' | '2' | 'none' | 'broken' | 'unread';
type Claimant = 'main' | 'extra';

/** A fleet whose east can be wanted x by two sources; it outlives its servers. */
async function createScene() {
  let world = await createFleetWorld({ sources: SOURCES });
  const words: Record<Claimant, Word> = { main: 'none', extra: 'none' };

  const push = (source: Claimant): void => {
    const word = words[source];
    const text = word === 'none' ? null : word === 'broken' ? typo : configMapYaml('x', word);
    if (word === 'unread') world.sourceNamed(source).condition({ state: 'failing', reason: 'Unreachable' });
    else world.sourceNamed(source).push({ [PATH]: text, 'other.yaml': configMapYaml('other', '1') });
  };
  const start = async (): Promise<void> => {
    world.sourceNamed('fleet').push(fleetFiles);
    push('main');
    push('extra');
    await world.settle();
  };
  await start();
  return {
    world: (): FleetWorld => world,
    words,
    holdsX: (): boolean => names(world, 'east').includes(X),
    says: async (source: Claimant, word: Word): Promise<void> => {
      words[source] = word;
      push(source);
      await world.settle();
    },
    connect: async (): Promise<void> => {
      if (!world.agent('east').isConnected()) world.agent('east').connect();
      await world.settle();
    },
    disconnect: async (): Promise<void> => {
      world.agent('east').disconnect();
      await world.settle();
    },
    /** `unread`: this source cannot be reached when the server restarts. */
    restart: async (unread?: Claimant): Promise<void> => {
      world = await restart(world, SOURCES);
      if (unread !== undefined) words[unread] = 'unread';
      await start();
    },
    loseStore: async (): Promise<void> => {
      for (const agent of world.agents.known.values()) agent.abandon();
      const clock = createVirtualClock(world.clock.now());
      world = await createFleetWorld({ store: createMemoryStore(), clock, agents: world.agents, sources: SOURCES });
      await start();
    },
  };
}

async function noted(world: FleetWorld): Promise<readonly string[]> {
  await world.settle();
  const keys: string[] = [];
  for await (const { key } of world.store.list('contenders/')) keys.push(key);
  return keys;
}

describe('a second claim', () => {
  async function ofMain() {
    const scene = await createScene();
    await scene.says('main', '1');
    await scene.connect();
    expect(scene.holdsX()).toBe(true);
    return scene;
  }

  it('that appears while the agent is away is not forgotten when it cannot be read any more', async () => {
    const scene = await ofMain();
    await scene.disconnect();
    await scene.says('extra', '1');
    await scene.says('extra', 'broken');
    await scene.says('main', 'none');
    await scene.connect();
    expect(scene.holdsX()).toBe(true);
    await scene.says('extra', 'none');
    expect(scene.holdsX()).toBe(false);
    expect(await noted(scene.world())).toEqual([]);
  });

  it('is remembered over a restart', async () => {
    const scene = await ofMain();
    await scene.disconnect();
    await scene.says('extra', '2');
    await scene.says('extra', 'broken');
    await scene.restart();
    await scene.says('main', 'none');
    await scene.connect();
    expect(scene.holdsX()).toBe(true);
    await scene.restart('extra');
    await scene.connect();
    expect(scene.holdsX()).toBe(true);
    await scene.says('extra', 'none');
    expect(scene.holdsX()).toBe(false);
  });

  it('that appears while the object is merely kept is remembered', async () => {
    const scene = await ofMain();
    await scene.says('main', 'broken');
    await scene.says('extra', '2');
    await scene.says('extra', 'broken');
    await scene.says('main', 'none');
    expect(scene.holdsX()).toBe(true);
    await scene.says('extra', 'none');
    expect(scene.holdsX()).toBe(false);
    expect(await noted(scene.world())).toEqual([]);
  });

  it('takes over while the agent is away, and counts though the agent never received it', async () => {
    const scene = await ofMain();
    await scene.disconnect();
    await scene.says('extra', '1');
    await scene.says('main', 'none');
    await scene.says('extra', 'broken');
    await scene.connect();
    expect(scene.holdsX()).toBe(true);
  });

  it('counts also if the delta that named it was lost on its way', async () => {
    const scene = await ofMain();
    const east = scene.world().agent('east');
    east.pause();
    await scene.says('extra', '1');
    await scene.says('main', 'none');
    await scene.says('extra', 'broken');
    east.disconnect();
    east.release('lost');
    await scene.connect();
    expect(scene.holdsX()).toBe(true);
  });

  it('counts also for a cluster that was restored from an earlier backup', async () => {
    const scene = await ofMain();
    const { entries } = scene.world().agent('east').holding();
    await scene.says('extra', '1');
    await scene.says('extra', 'broken');
    await scene.disconnect();
    scene.world().agent('east').restore(entries);
    await scene.connect();
    await scene.says('main', 'none');
    expect(scene.holdsX()).toBe(true);
  });

  it('counts though it was unreadable again before the object was ever sent', async () => {
    const scene = await createScene();
    await scene.says('main', '1');
    await scene.says('extra', '1');
    await scene.says('extra', 'broken');
    await scene.connect();
    expect(scene.holdsX()).toBe(true);
    await scene.says('main', 'none');
    expect(scene.holdsX()).toBe(true);
  });

  it('counts though it was the only one, and its delta was lost before it was unreadable', async () => {
    const scene = await createScene();
    await scene.connect();
    const east = scene.world().agent('east');
    east.pause();
    await scene.says('extra', '1');
    east.disconnect();
    east.release('lost');
    await scene.says('extra', 'broken');
    await scene.connect();
    await scene.says('main', '1');
    expect(scene.holdsX()).toBe(true);
    await scene.says('main', 'none');
    expect(scene.holdsX()).toBe(true);
    await scene.says('extra', 'none');
    expect(scene.holdsX()).toBe(false);
    expect(await noted(scene.world())).toEqual([]);
  });

  it('that the agent has received is known when the store is lost', async () => {
    const scene = await ofMain();
    await scene.says('extra', '1');
    await scene.says('extra', 'broken');
    await scene.loseStore();
    await scene.connect();
    await scene.says('main', 'none');
    expect(scene.holdsX()).toBe(true);
  });

  it('costs no record once the agent knows of it', async () => {
    const scene = await ofMain();
    await scene.disconnect();
    await scene.says('extra', '1');
    expect(await noted(scene.world())).toEqual(['contenders/east//ConfigMap/web/x']);
    await scene.connect();
    expect(await noted(scene.world())).toEqual([]);
  });
});

describe('a claim by a ServiceMirror on what a document declares', () => {
  const service = `apiVersion: v1\nkind: Service\nmetadata:\n  name: east-shop\n  namespace: web\nspec:\n  ports: [{port: 80}]\n`;
  const key = '/Service/web/east-shop';

  async function declaredAndMirrored(agent: 'here' | 'away'): Promise<FleetWorld> {
    const world = await createFleetWorld({ sources: SOURCES });
    world.sourceNamed('fleet').push(fleetFiles);
    world.sourceNamed('main').push({ 'clusters/west/shop.yaml': service });
    world.sourceNamed('extra').push({});
    world.agent('east').connect();
    world.agent('west').connect();
    await world.settle();
    expect(names(world, 'west')).toEqual([key]);
    if (agent === 'away') world.agent('west').disconnect();
    world.sourceNamed('extra').push({ 'mirror.yaml': mirrorYaml('shared', 'names: [east]', 'names: [west]') });
    discoverOne(world, 'east');
    await world.settle();
    return world;
  }

  it.each(['here', 'away'] as const)(
    'keeps it while the cluster it mirrors is not seen; its agent was %s',
    async (agent) => {
      const before = await declaredAndMirrored(agent);
      for (const each of before.agents.known.values()) each.abandon();
      await before.server.stop();
      for (const kind of ['live', 'kinds']) await forget(before.store, `clusters/east/${kind}`);
      const clock = createVirtualClock(before.clock.now());
      const world = await createFleetWorld({ store: before.store, clock, agents: before.agents, sources: SOURCES });
      world.sourceNamed('fleet').push(fleetFiles);
      world.sourceNamed('main').push({});
      world.sourceNamed('extra').push({ 'mirror.yaml': mirrorYaml('shared', 'names: [east]', 'names: [west]') });
      world.agent('west').connect();
      await world.settle();
      expect(names(world, 'west')).toContain(key);
    },
  );
});

describe('any order of claims, absences and restarts', () => {
  type Step =
    | { readonly type: 'says'; readonly source: Claimant; readonly word: Word }
    | { readonly type: 'connect' | 'disconnect' | 'lose' }
    | { readonly type: 'restart'; readonly unread: Claimant | undefined };
  const claimant = fc.constantFrom<Claimant>('main', 'extra');
  const steps: fc.Arbitrary<readonly Step[]> = fc.array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          type: fc.constant('says' as const),
          source: claimant,
          word: fc.constantFrom<Word>('1', '2', 'none', 'broken'),
        }),
      },
      { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('connect' as const, 'disconnect' as const) }) },
      { weight: 1, arbitrary: fc.record({ type: fc.constant('lose' as const) }) },
      {
        weight: 1,
        arbitrary: fc.record({
          type: fc.constant('restart' as const),
          unread: fc.option(claimant, { nil: undefined }),
        }),
      },
    ),
    { minLength: 4, maxLength: 14 },
  );

  it('removes nothing that a source has wanted and does not deny', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const scene = await createScene();
        await scene.connect();
        /** Sources that have declared the object; each stays until a complete read of it omits the object. */
        const wanting = new Set<Claimant>();
        const look = (before: boolean): void => {
          for (const source of ['main', 'extra'] as const) {
            const word = scene.words[source];
            if (word === '1' || word === '2') wanting.add(source);
            if (word === 'none') wanting.delete(source);
          }
          if (before && !scene.holdsX()) expect([...wanting]).toEqual([]);
        };
        for (const step of all) {
          const before = scene.holdsX();
          switch (step.type) {
            case 'says':
              await scene.says(step.source, step.word);
              break;
            case 'connect':
              await scene.connect();
              break;
            case 'disconnect':
              await scene.disconnect();
              break;
            case 'lose':
              // What is on its way is lost, and the stream with it.
              if (!scene.world().agent('east').isConnected()) break;
              scene.world().agent('east').pause();
              await scene.says('extra', scene.words.extra === 'none' ? '1' : 'broken');
              scene.world().agent('east').disconnect();
              scene.world().agent('east').release('lost');
              break;
            case 'restart':
              // The only claimant of an object that was never applied is not remembered: there is nothing to remove.
              if (!before && wanting.size === 1) wanting.clear();
              await scene.restart(step.unread);
          }
          look(before);
        }
        await scene.connect();
        await scene.says('main', 'none');
        await scene.says('extra', 'none');
        expect(scene.holdsX()).toBe(false);
        expect(await noted(scene.world())).toEqual([]);
      }),
      { numRuns: Number(process.env.FLEETRELAY_HISTORIES ?? 40) },
    );
  }, 120_000);
});
