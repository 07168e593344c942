import { createFaults } from './actors/faults.ts';
import { createPeople } from './actors/people.ts';
import { createStewards, type Stewards, suspendedIn } from './actors/stewards.ts';
import { visitCluster } from './actors/visitors.ts';
import { approvals } from './checkers/approvals.ts';
import type { Checker, MakeChecker, Rest } from './checkers/checker.ts';
import { containment } from './checkers/containment.ts';
import { convergence, differences } from './checkers/convergence.ts';
import { guards } from './checkers/guards.ts';
import { history } from './checkers/history.ts';
import { lastingHolds } from './checkers/lasting-holds.ts';
import { memoryBounded } from './checkers/memory-bounded.ts';
import { monotoneRevisions } from './checkers/monotone-revisions.ts';
import { noDefect } from './checkers/no-defect.ts';
import { noForeignWrite } from './checkers/no-foreign-write.ts';
import { noWrongDeletion } from './checkers/no-wrong-deletion.ts';
import { plan } from './checkers/plan.ts';
import { provenance } from './checkers/provenance.ts';
import { statusTruth } from './checkers/status-truth.ts';
import { stillness } from './checkers/stillness.ts';
import { suspensions } from './checkers/suspensions.ts';
import { totalLoss } from './checkers/total-loss.ts';
import type { Setting } from './setting.ts';
import { createWorld, type Violation, type World, type WorldOptions } from './world.ts';

/** How a seed is played. */
export interface PlayOptions extends WorldOptions {
  /** Events of the world before it comes to rest. */
  readonly steps?: number;
}

/** What became of a seed. */
export interface Played {
  readonly seed: number;
  readonly setting: Setting;
  /** The cluster whose agent is hostile; undefined: none is. */
  readonly hostile: string | undefined;
  readonly steps: number;
  /** Virtual milliseconds. */
  readonly elapsed: number;
  readonly commits: number;
  /** How often each fault struck. */
  readonly faults: ReadonlyMap<string, number>;
  /** Writes of objects in all clusters. */
  readonly writes: number;
  readonly violations: readonly Violation[];
}

const CHECKERS: readonly MakeChecker[] = [
  noWrongDeletion,
  guards,
  lastingHolds,
  approvals,
  suspensions,
  noForeignWrite,
  monotoneRevisions,
  provenance,
  plan,
  history,
  noDefect,
  convergence,
  statusTruth,
  stillness,
  totalLoss,
  memoryBounded,
  containment,
];
const STEPS = 2_000;
/** Faults are over, and this long it may take until everything is as it should be. */
const REST_MS = 20 * 60_000;
const LOOK_MS = 5_000;
const STILL_MS = 90_000;

/** Plays the history of a seed, brings it to rest and checks it all along. Never rejects for what the world does. */
export async function playSeed(seed: number, options: PlayOptions = {}): Promise<Played> {
  const world = createWorld(seed, { hostile: 'drawn', ...options, ...(options.plain ? { hostile: 'never' } : {}) });
  const checkers = CHECKERS.map((make) => makeChecker(world, make));
  const people = createPeople(world);
  const stewards = createStewards(world);
  const stewarding = world.dice.fork('stewarding');
  const raiding = world.dice.fork('raiding');
  const faults = createFaults(world);
  const struck = new Map<string, number>();
  let commits = 0;
  const stepped = (): void => {
    for (const checker of checkers) checker.stepped?.();
  };
  const dice = world.dice.fork('play');

  people.begin();
  for (const { start } of [...world.servers, ...world.agents]) start();
  await world.time.advance(5_000, stepped);
  const isGoingOn = (): boolean => world.violations.length === 0 && world.time.steps() < (options.steps ?? STEPS);
  while (isGoingOn()) {
    const what = dice.int(10);
    if (what < 4) commits += people.commit() === 'nothing' ? 0 : 1;
    else if (what < 5) visitCluster(world, dice);
    else {
      const kind = faults.strike();
      struck.set(kind, (struck.get(kind) ?? 0) + 1);
    }
    if (!world.plain && stewarding.chance(0.15)) stewards.act();
    if (world.hostile !== undefined && raiding.chance(0.3))
      world.note(`${world.hostile.cluster.name} raids: ${world.hostile.raid()}`);
    approveSometimes(world, dice.chance(0.3));
    await world.time.advance(dice.chance(0.1) ? dice.int(60_000) : dice.int(4_000), stepped);
  }
  const acts: readonly (readonly [Rest | undefined, () => void])[] = [
    [
      'quiet',
      () => {
        faults.mend();
        world.hostile?.end();
        people.mend();
        stewards.resumeAll();
      },
    ],
    ['restarted', () => restart(world)],
    ['lost', () => loseEverything(world)],
    [undefined, () => people.clear('objects')],
    ['cleared', () => people.clear('clusters')],
  ];
  for (const [rest, act] of acts) {
    if (world.violations.length > 0) break;
    world.note(`--- ${rest ?? 'emptied'}`);
    act();
    await comeToRest(world, stewards, stepped);
    if (rest !== undefined) for (const checker of checkers) checker.atRest?.(rest);
  }
  const writes = world.agents.reduce((sum, { cluster }) => sum + cluster.writes, 0);
  const { time, violations, setting } = world;
  const played = { steps: time.steps(), elapsed: time.elapsed(), commits, faults: struck, writes };
  return { seed, setting, hostile: world.hostile?.cluster.name, ...played, violations };
}

function makeChecker(world: World, make: MakeChecker): Checker {
  const checker = make(world, (message) => {
    world.note(`VIOLATION ${checker.name}: ${message}`);
    world.violations.push({ checker: checker.name, message });
  });
  return checker;
}

/**
 * Waits until everything is as it should be, and then for a while in which nothing should happen. Every fault was mended at once,
 * but a process may end in its next write. Another one then has what is in the store, where what people said last may be missing.
 */
async function comeToRest(world: World, stewards: Stewards, stepped: () => void): Promise<void> {
  const until = world.time.elapsed() + REST_MS;
  const processes = (): string =>
    [...world.servers, ...world.agents].map(({ life }) => life()?.process.name ?? '').join();
  const isGoingOn = (): boolean => world.time.elapsed() < until && world.violations.length === 0;
  let before: string;
  do {
    do {
      await world.time.advance(LOOK_MS, stepped);
      approveSometimes(world, true);
      stewards.resumeAll();
    } while (isUnsettled(world) && isGoingOn());
    before = processes();
    await world.time.advance(STILL_MS, stepped);
  } while (processes() !== before && isGoingOn());
}

/** Is a revision not admitted, an agent away, a cluster not as desired, or a decision left to a person? */
function isUnsettled(world: World): boolean {
  const isOfHostile = (name: string): boolean => name === world.hostile?.cluster.name;
  const tips = new Map(world.repositories.map(({ source, tip }) => [source, tip()]));
  const behind = world.servers.some(({ life }) => {
    const { api, replica } = life()?.server ?? {};
    if (
      api === undefined ||
      api.removals().some(({ removals }) => removals.some(({ cluster }) => !isOfHostile(cluster)))
    )
      return true;
    if (replica?.leads() === true && api.status().statusBranch?.state === 'failing') return true;
    return api.sources().some(({ name, revision }) => tips.has(name) && revision !== tips.get(name));
  });
  return (
    behind ||
    suspendedIn(world).length > 0 ||
    isAnyAgentAway(world) ||
    isAnyObjectRefused(world) ||
    differences(world).length > 0
  );
}

/**
 * Has a cluster refused to write an object that its agent owns, and the agent has not tried again yet? The cluster need not be
 * declared any more.
 */
export function isAnyObjectRefused({ agents, hostile }: World): boolean {
  return agents.some(({ cluster }) => {
    const owned = cluster.memory.inventory.current?.records;
    return cluster !== hostile?.cluster && [...cluster.refused].some((key) => owned?.has(key));
  });
}

/**
 * Is an agent not running, whether or not its server has noticed that, or is the agent of a declared cluster connected to no server?
 * An agent applies what it has accepted also if its cluster is not declared any more.
 */
export function isAnyAgentAway({ servers, agents, hostile }: World): boolean {
  const views = servers.flatMap(({ life }) => life()?.server?.api.clusters() ?? []);
  return agents.some(({ cluster, life }) => {
    if (cluster === hostile?.cluster) return false;
    const here = views.filter(({ name }) => name === cluster.name);
    return life() === undefined || (here.length > 0 && !here.some(({ connected }) => connected));
  });
}

/** Servers and store are gone at once, and new ones begin with nothing. */
function loseEverything(world: World): void {
  for (const { life } of world.servers) life()?.process.kill();
  world.memory.lose();
  world.tell({ type: 'storeLost' });
  restart(world);
}

/** All servers are gone at once, and others begin with what is in the store. */
export function restart({ servers, network }: World): void {
  for (const { life, start } of servers) {
    life()?.process.kill();
    start();
  }
  // An agent that does not notice would be away for so long that its absence would be reported.
  for (const wire of network.wires()) wire.cut();
}

/** A person reads the decisions that wait for people, and approves them. */
export function approveSometimes(world: World, willing: boolean): void {
  if (!willing) return;
  for (const { life } of world.servers) {
    const server = life()?.server;
    if (server === undefined || life()?.process.state() !== 'running') continue;
    for (const { name, refusedRevision } of server.api.sources()) {
      if (refusedRevision === null) continue;
      world.note(`a person accepts ${refusedRevision} of ${name}`);
      void server.api
        .accept(name, refusedRevision, 'a person')
        .then(({ ok }) => ok && world.tell({ type: 'accepted', source: name, revision: refusedRevision }));
    }
    for (const { digest, removals } of server.api.removals()) {
      world.note(`a person approves ${removals.map(({ cluster, object }) => `${cluster} ${object}`).join(', ')}`);
      void server.api.approve(digest, 'a person').then(({ ok }) => ok && world.tell({ type: 'approved', removals }));
    }
  }
}
