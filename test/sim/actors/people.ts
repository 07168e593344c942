import type { Dice } from '../core/dice.ts';
import type { Breakage, Doc, FileModel, GuardPercent, ObjectDoc } from '../desired.ts';
import type { SimRepository } from '../ports/repository.ts';
import type { World } from '../world.ts';

type Changes = Map<string, FileModel | null>;

const ENVS = ['prod', 'test'];
const FOLDERS = ['apps/a', 'apps/b', 'apps/a/deep'];
const FILES = ['one.yaml', 'two.yaml', 'three.yaml', 'four.yaml'];
const BREAKAGES: readonly Breakage[] = ['syntax', 'conflict', 'unknown field', 'no name'];
const POLICY = 'fleet/policy.yaml';

/** People who commit the desired state of the fleet. */
export interface People {
  /** The first commits. */
  begin(): void;
  /** A person commits a change; returns its kind in a word. */
  commit(): string;
  /** Everything that is broken is mended. */
  mend(): void;
  /** Everything but the policy goes: first what is to be in clusters, then the clusters themselves. */
  clear(what: 'objects' | 'clusters'): void;
}

export function createPeople(world: World): People {
  const dice = world.dice.fork('people');
  const percentages = world.plain ? undefined : dice.fork('percentages');
  const clusters = world.agents.map(({ cluster }) => cluster.name);
  const main = world.repositories[0];
  if (main === undefined) throw new Error('a world has at least one source');
  const push = (repository: SimRepository, changes: Changes, what: string): string => {
    if (changes.size === 0) return 'nothing';
    const commit = what === 'rewrite' ? repository.rewrite(changes) : repository.commit(changes);
    world.note(`people ${what} in ${repository.source}: ${[...changes.keys()].join(' ')} (${commit.slice(0, 8)})`);
    return what;
  };
  return {
    begin: () => {
      const changes: Changes = new Map();
      for (const name of clusters) changes.set(clusterPath(name), clusterFile(name, dice));
      for (const name of ['p0', 'p1']) changes.set(placementPath(name), placementFile(name, clusters, dice));
      if (dice.chance(0.7)) changes.set(POLICY, policyFile(dice, percentages));
      push(main, changes, 'begin');
      for (const repository of world.repositories) {
        for (let file = 0; file < 4; file += 1) push(repository, new Map([objectFile(clusters, dice)]), 'add');
      }
    },
    commit: () => {
      const repository = dice.pick(world.repositories);
      const files = [...repository.tree()];
      const whats = Object.entries(ACTS).flatMap(([what, { weight }]) => Array.from({ length: weight }, () => what));
      const what = dice.pick(whats);
      const changes = ACTS[what]?.act({ dice, percentages, clusters, files, isMain: repository === main }) ?? new Map();
      return push(repository, changes, what);
    },
    mend: () => {
      for (const repository of world.repositories) {
        const broken = [...repository.tree()].filter(([, { broken }]) => broken !== undefined);
        push(repository, new Map(broken.map(([path, file]) => [path, { ...file, broken: undefined }])), 'mend');
      }
    },
    clear: (what) => {
      for (const repository of world.repositories) {
        const isGone = ([path, file]: readonly [string, FileModel]): boolean =>
          what === 'objects' ? isObjects(file) : path !== POLICY;
        const gone = [...repository.tree()].filter(isGone).map(([path]) => path);
        const changes: Changes = new Map(gone.map((path) => [path, null]));
        // Objects in an unregistered cluster stay, so every cluster is registered first.
        if (what === 'objects' && repository === main) {
          for (const name of clusters) changes.set(clusterPath(name), clusterFile(name, dice));
        }
        push(repository, changes, 'clear');
      }
    },
  };
}

interface Scene {
  readonly dice: Dice;
  /** Undefined: no policy states a percentage. */
  readonly percentages: Dice | undefined;
  readonly clusters: readonly string[];
  readonly files: readonly (readonly [string, FileModel])[];
  /** Only one repository holds clusters, Placements and the policy. */
  readonly isMain: boolean;
}

const ACTS: Readonly<Record<string, { readonly weight: number; readonly act: (scene: Scene) => Changes }>> = {
  add: { weight: 10, act: ({ dice, clusters }) => new Map([objectFile(clusters, dice)]) },
  change: {
    weight: 8,
    act: (scene) =>
      onFile(scene, isObjects, ({ docs }, dice) => ({
        docs: docs.map((doc) => changed(doc, dice)),
        broken: undefined,
      })),
  },
  shrink: {
    weight: 4,
    act: (scene) =>
      onFile(scene, isObjects, ({ docs }) => (docs.length < 2 ? null : { docs: docs.slice(1), broken: undefined })),
  },
  remove: { weight: 4, act: (scene) => onFile(scene, isObjects, () => null) },
  move: { weight: 4, act: move },
  break: {
    weight: 4,
    act: (scene) =>
      onFile(
        scene,
        () => true,
        (file, dice) => ({ ...file, broken: dice.pick(BREAKAGES) }),
      ),
  },
  mend: {
    weight: 6,
    act: (scene) =>
      onFile(
        scene,
        ({ broken }) => broken !== undefined,
        (file) => ({ ...file, broken: undefined }),
      ),
  },
  placement: {
    weight: 4,
    act: ({ dice, clusters, isMain }) => {
      const name = dice.pick(isMain ? ['p0', 'p1', 'p2'] : ['q0', 'q1']);
      return new Map([[placementPath(name), dice.chance(0.2) ? null : placementFile(name, clusters, dice)]]);
    },
  },
  cluster: {
    weight: 3,
    act: ({ dice, clusters, isMain }) => {
      if (!isMain) return new Map();
      const name = dice.pick(clusters);
      return new Map([[clusterPath(name), dice.chance(0.3) ? null : clusterFile(name, dice)]]);
    },
  },
  policy: {
    weight: 1,
    act: ({ dice, percentages, isMain }) => (isMain ? new Map([[POLICY, policyFile(dice, percentages)]]) : new Map()),
  },
  wipe: { weight: 1, act: ({ files }) => new Map(files.map(([path]) => [path, null])) },
  rewrite: { weight: 1, act: ({ dice, clusters }) => new Map([objectFile(clusters, dice)]) },
};

function isObjects({ docs }: FileModel): boolean {
  return docs.every(({ type }) => type === 'object');
}

function onFile(
  { dice, files }: Scene,
  fits: (file: FileModel) => boolean,
  change: (file: FileModel, dice: Dice) => FileModel | null,
): Changes {
  const candidates = files.filter(([, file]) => fits(file));
  if (candidates.length === 0) return new Map();
  const [path, file] = dice.pick(candidates);
  return new Map([[path, change(file, dice)]]);
}

function move(scene: Scene): Changes {
  const { dice, files, clusters } = scene;
  const candidates = files.filter(([, file]) => isObjects(file));
  if (candidates.length === 0) return new Map();
  const [from, file] = dice.pick(candidates);
  const [to] = objectFile(clusters, dice);
  return to === from
    ? new Map()
    : new Map([
        [from, null],
        [to, { ...file, broken: undefined }],
      ]);
}

function changed(doc: Doc, dice: Dice): Doc {
  return doc.type === 'object' ? { type: 'object', object: { ...doc.object, data: `v${dice.int(1_000)}` } } : doc;
}

function objectFile(clusters: readonly string[], dice: Dice): [string, FileModel] {
  const folder = dice.chance(0.2) ? `clusters/${dice.pick(clusters)}/own` : dice.pick(FOLDERS);
  const objects = new Map<string, ObjectDoc>();
  for (let left = 1 + dice.int(4); left > 0; left -= 1) {
    const object = someObject(dice);
    objects.set(`${object.kind} ${object.namespace} ${object.name}`, object);
  }
  const docs = [...objects.values()].map((object): Doc => ({ type: 'object', object }));
  return [`${folder}/${dice.pick(FILES)}`, { docs, broken: undefined }];
}

function someObject(dice: Dice): ObjectDoc {
  const namespace = dice.pick(['shop', 'web']);
  const data = `v${dice.int(1_000)}`;
  return dice.chance(0.15)
    ? { kind: 'Namespace', namespace: '', name: namespace, data }
    : { kind: 'ConfigMap', namespace, name: `c${dice.int(12)}`, data };
}

function clusterPath(name: string): string {
  return `clusters/${name}/cluster.yaml`;
}

function placementPath(name: string): string {
  return `placements/${name}.yaml`;
}

function clusterFile(name: string, dice: Dice): FileModel {
  return { docs: [{ type: 'cluster', name, env: dice.pick(ENVS) }], broken: undefined };
}

function placementFile(name: string, clusters: readonly string[], dice: Dice): FileModel {
  const env = dice.chance(0.6) ? dice.pick(ENVS) : undefined;
  const names = env === undefined || dice.chance(0.3) ? clusters.filter(() => dice.chance(0.6)) : [];
  const chosen = env === undefined && names.length === 0 ? clusters.slice(0, 1) : names;
  return { docs: [{ type: 'placement', name, folder: dice.pick(FOLDERS), names: chosen, env }], broken: undefined };
}

function policyFile(dice: Dice, percentages: Dice | undefined): FileModel {
  const maxRemovalsPerCluster = dice.pick([1, 3, 10]);
  const windowSeconds = dice.pick([30, 120, 600]);
  const maxRemovalsPerFleet = maxRemovalsPerCluster * 3;
  const percent = percentages === undefined ? undefined : percentOf(percentages);
  return {
    docs: [{ type: 'policy', maxRemovalsPerCluster, maxRemovalsPerFleet, windowSeconds, percent }],
    broken: undefined,
  };
}

function percentOf(dice: Dice): GuardPercent | undefined {
  if (dice.chance(0.3)) return undefined;
  return { perCluster: dice.pick([15, 34, 60]), perFleet: dice.pick([10, 34, 60]), fromOwned: dice.pick([1, 4, 10]) };
}
