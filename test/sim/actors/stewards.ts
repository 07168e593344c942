import type { ManagementServer } from '../../../src/compose/serve/management-server.ts';
import type { SuspensionKind } from '../../../src/runtime/suspensions.ts';
import type { Dice } from '../core/dice.ts';
import type { FileModel } from '../desired.ts';
import type { World } from '../world.ts';

/** People who operate the fleet, besides those who commit its desired state. */
export interface Stewards {
  /** A steward does one act; returns its name. */
  act(): string;
  /** Resumes every suspended cluster and source. */
  resumeAll(): void;
}

const APPROVALS = 'approvals/';
const POLICY = 'fleet/policy.yaml';
const STEWARD = 'a steward';

export function createStewards(world: World): Stewards {
  const dice = world.dice.fork('stewards');
  const acts = Object.entries(ACTS).flatMap(([what, { weight }]) => Array.from({ length: weight }, () => what));
  let approvals = 0;
  const scene: Scene = {
    world,
    dice,
    past: new Map(),
    nextApproval: () => {
      approvals += 1;
      return `a${approvals}`;
    },
  };
  return {
    act: () => {
      const what = dice.pick(acts);
      ACTS[what]?.act(scene);
      return what;
    },
    resumeAll: () => {
      for (const [what, name] of suspendedIn(world)) resume(world, what, name);
    },
  };
}

interface Scene {
  readonly world: World;
  readonly dice: Dice;
  readonly nextApproval: () => string;
  /** Commits that a steward may restore, by source. */
  readonly past: Map<string, readonly string[]>;
}

const ACTS: Readonly<Record<string, { readonly weight: number; readonly act: (scene: Scene) => void }>> = {
  'approve by file': { weight: 4, act: approveByFile },
  'withdraw an approval': { weight: 1, act: withdrawApproval },
  'loosen and remove': { weight: 2, act: loosenAndRemove },
  'restore earlier files': { weight: 4, act: restoreEarlier },
  'look at what is held': {
    weight: 3,
    act: ({ world }) => {
      const leader = leaderOf(world);
      const shown = leader?.server.api.removals().flatMap(({ removals }) => removals) ?? [];
      if (leader !== undefined) world.tell({ type: 'shown', process: leader.process, removals: shown });
    },
  },
  'suspend a cluster': {
    weight: 3,
    act: ({ world, dice }) => suspend(world, dice, 'cluster', dice.pick(world.agents).cluster.name),
  },
  'suspend a source': {
    weight: 2,
    act: ({ world, dice }) => suspend(world, dice, 'source', dice.pick(world.repositories).source),
  },
};

function approveByFile({ world, dice, nextApproval }: Scene): void {
  const [held] = leaderOf(world)?.server.api.removals() ?? [];
  if (held === undefined) return;
  const { digest, removals } = held;
  const name = nextApproval();
  world.tell({ type: 'approvalWritten', name, approval: { digest, removals } });
  const file: FileModel = { docs: [{ type: 'approval', name, digest }], broken: undefined };
  const repository = dice.pick(world.repositories);
  const commit = repository.commit(new Map([[`${APPROVALS}${name}.yaml`, file]]));
  world.note(`a steward approves ${digest.slice(0, 8)} in ${repository.source} as ${name} (${commit.slice(0, 8)})`);
}

function withdrawApproval({ world: { repositories, note }, dice }: Scene): void {
  const repository = dice.pick(repositories);
  const files = [...repository.tree().keys()].filter((path) => path.startsWith(APPROVALS));
  if (files.length === 0) return;
  const path = dice.pick(files);
  note(`a steward withdraws ${path} in ${repository.source}`);
  repository.commit(new Map([[path, null]]));
}

/** One push that loosens the guards and removes objects; then, perhaps, an unrelated push. */
function loosenAndRemove({ world, dice }: Scene): void {
  const [main] = world.repositories;
  if (main === undefined) return;
  const objects = [...main.tree()].filter(([, { docs }]) => docs.every(({ type }) => type === 'object'));
  const gone = objects.filter(() => dice.chance(0.6)).map(([path]) => [path, null] as const);
  const policy: FileModel = {
    docs: [
      {
        type: 'policy',
        maxRemovalsPerCluster: 10,
        maxRemovalsPerFleet: 50,
        windowSeconds: 30,
        percent: { perCluster: 100, perFleet: 100, fromOwned: 10 },
      },
    ],
    broken: undefined,
  };
  const commit = main.commit(new Map<string, FileModel | null>([[POLICY, policy], ...gone]));
  world.note(`a steward loosens and removes ${gone.map(([path]) => path).join(' ')} (${commit.slice(0, 8)})`);
}

/** A steward restores the objects of a source as of an earlier commit, which may remove objects again. */
function restoreEarlier({ world: { repositories, note }, dice, past }: Scene): void {
  const repository = dice.pick(repositories);
  const { source, tree, treeAt, tip, commit } = repository;
  const known = past.get(source) ?? [];
  past.set(source, [...known.slice(-3), tip()]);
  const earlier = treeAt(known.length === 0 ? '' : dice.pick(known));
  if (earlier === undefined) return;
  const now = tree();
  const isObjects = (path: string): boolean =>
    [now.get(path), earlier.get(path)].every((file) => file?.docs.every(({ type }) => type === 'object') ?? true);
  const paths = [...new Set([...now.keys(), ...earlier.keys()])].filter(isObjects);
  const changes = paths.filter((path) => now.get(path) !== earlier.get(path));
  if (changes.length === 0) return;
  const made = commit(new Map(changes.map((path) => [path, earlier.get(path) ?? null])));
  note(`a steward restores earlier files in ${source}: ${changes.join(' ')} (${made.slice(0, 8)})`);
}

/** Returns the process that leads, with its server. */
function isRunning({ servers }: World, name: string): boolean {
  return servers.some(({ life }) => {
    const process = life()?.process;
    return process?.name === name && process.state() !== 'dead';
  });
}

function leaderOf({ servers }: World): { readonly process: string; readonly server: ManagementServer } | undefined {
  for (const { life } of servers) {
    const { process, server } = life() ?? {};
    if (server === undefined || process?.state() !== 'running' || server.api.elsewhere() !== undefined) continue;
    return { process: process.name, server };
  }
  return undefined;
}

function suspend(world: World, dice: Dice, what: SuspensionKind, name: string): void {
  const leader = leaderOf(world);
  if (leader === undefined) return;
  const { api } = leader.server;
  const told = (ok: boolean, revision: string | undefined): void => {
    // A server that has ended gives no answer, and the store may lack its suspension.
    if (!ok || !isRunning(world, leader.process)) return;
    world.note(`a steward suspends the ${what} ${name}`);
    world.tell({ type: 'suspended', process: leader.process, what, name, revision });
  };
  // The server first completes the commit that is under way. So the answer may name a later revision than it shows now.
  if (what === 'cluster') void api.suspendCluster(name, STEWARD, '').then(({ ok }) => told(ok, undefined));
  else
    void api
      .suspendSource(name, STEWARD, '')
      .then((answer) => told(answer.ok, answer.ok ? (answer.value.revision ?? undefined) : undefined));
  world.time.in(2_000 + dice.int(dice.chance(0.3) ? 300_000 : 30_000), () => resume(world, what, name));
}

function resume(world: World, what: SuspensionKind, name: string): void {
  const api = leaderOf(world)?.server.api;
  if (api === undefined) {
    world.time.in(5_000, () => resume(world, what, name));
    return;
  }
  // Sent before the call: a delta that departs at the same moment departs after it.
  world.tell({ type: 'resumed', what, name });
  world.note(`a steward resumes the ${what} ${name}`);
  void (what === 'cluster' ? api.resumeCluster(name, STEWARD) : api.resumeSource(name, STEWARD));
}

/** Clusters and sources that any server reports as suspended. */
export function suspendedIn(world: World): readonly (readonly [SuspensionKind, string])[] {
  const apis = world.servers.flatMap(({ life }) => life()?.server?.api ?? []);
  const found = apis.flatMap((api) => [
    ...api.clusters().flatMap(({ name, suspended }) => (suspended === null ? [] : [['cluster', name] as const])),
    ...api.sources().flatMap(({ name, suspended }) => (suspended === null ? [] : [['source', name] as const])),
  ]);
  return [...new Map(found.map(([what, name]) => [`${what} ${name}`, [what, name] as const])).values()];
}
