import { createFaults } from '../actors/faults.ts';
import type { MakeChecker, Rest } from '../checkers/checker.ts';
import { noDefect } from '../checkers/no-defect.ts';
import type { Dice } from '../core/dice.ts';
import type { Doc } from '../desired.ts';
import { approveSometimes, isAnyAgentAway, restart } from '../play.ts';
import { createWorld, type Violation, type World, type WorldOptions } from '../world.ts';
import {
  differences,
  enginesOf,
  fleetDifferences,
  fleetOf,
  followsReports,
  rowsOf,
  showsTheFleet,
} from './checkers.ts';
import { changeCluster, declaredDataplane, fillCluster } from './fleet.ts';

const CHECKERS: readonly MakeChecker[] = [followsReports, showsTheFleet, noDefect];
const STEPS = 1_500;
const REST_MS = 20 * 60_000;
const LOOK_MS = 5_000;
const AWAY_MS = 5 * 60_000;
const DECLARED = ['d0', 'd1', 'd2'] as const;

/**
 * Plays a fleet whose Pods, Services and Dataplanes change, through faults and a cluster that goes stale, and compares what
 * the servers show with an oracle. Returns the violations.
 */
export async function playDataplanes(seed: number, options: WorldOptions = {}): Promise<readonly Violation[]> {
  const world = createWorld(seed, options);
  const checkers = CHECKERS.map((make) => {
    const checker = make(world, (message) => {
      world.note(`VIOLATION ${checker.name}: ${message}`);
      world.violations.push({ checker: checker.name, message });
    });
    return checker;
  });
  const dice = world.dice.fork('dataplanes');
  const faults = createFaults(world);
  const look = (): void => {
    for (const checker of checkers) checker.stepped?.();
  };
  begin(world, dice);
  for (const { start } of [...world.servers, ...world.agents]) start();
  await world.time.advance(30_000);
  while (world.violations.length === 0 && world.time.steps() < STEPS) {
    happen(world, dice, faults.strike);
    approveSometimes(world, dice.chance(0.3));
    await world.time.advance(dice.chance(0.1) ? dice.int(60_000) : dice.int(4_000));
    look();
  }
  const acts: readonly (readonly [Rest, () => void | Promise<void>])[] = [
    ['quiet', faults.mend],
    ['restarted', () => restart(world)],
    ['cleared', () => goStale(world, dice)],
  ];
  for (const [rest, act] of acts) {
    if (world.violations.length > 0) break;
    world.note(`--- ${rest}`);
    await act();
    await comeToRest(world);
    look();
    for (const checker of checkers) checker.atRest?.(rest);
  }
  return world.violations;
}

async function comeToRest(world: World): Promise<void> {
  const until = world.time.elapsed() + REST_MS;
  const isUnsettled = (): boolean => isAnyAgentAway(world) || fleetDifferences(world).length > 0;
  do {
    await world.time.advance(LOOK_MS);
    approveSometimes(world, true);
  } while (isUnsettled() && world.time.elapsed() < until && world.violations.length === 0);
}

/** The agent of a cluster ends: its data planes stay as they were reported last, are stale, and follow when it is back. */
async function goStale(world: World, dice: Dice): Promise<void> {
  const { cluster, life, start } = dice.pick(world.agents);
  const before = fleetOf(world);
  // The end of an earlier fault can start the agent.
  const kill = (): void => life()?.process.kill();
  kill();
  await world.time.advance(AWAY_MS, kill);
  changeCluster(cluster, dice);
  await world.time.advance(AWAY_MS, kill);
  for (const { name, engine } of enginesOf(world)) {
    for (const difference of differences(engine, before)) report(world, `${name}, ${cluster.name} away: ${difference}`);
    for (const row of rowsOf(engine, 'dataplanes')) {
      const isAway = row.cluster === cluster.name;
      if ((row.stale === true) !== isAway)
        report(world, `${name}: ${row.name} of ${row.cluster} is stale: ${row.stale}`);
    }
  }
  start();
}

function report(world: World, message: string): void {
  world.note(`VIOLATION stale clusters: ${message}`);
  world.violations.push({ checker: 'stale clusters', message });
}

function begin({ agents, repositories }: World, dice: Dice): void {
  const [main, ...others] = repositories;
  const clusters = agents.map(({ cluster: { name } }): Doc => ({ type: 'cluster', name, env: 'prod' }));
  main?.commit(new Map([['fleet/fleet.yaml', { docs: clusters, broken: undefined }]]));
  for (const repository of others) repository.commit(new Map([['d9.yaml', fileOf(dice, 'd9')]]));
  for (const { cluster } of agents) fillCluster(cluster, dice);
}

function happen(world: World, dice: Dice, strike: () => string): void {
  const what = dice.int(10);
  if (what < 6) changeCluster(dice.pick(world.agents).cluster, dice);
  else if (what < 8) {
    const name = dice.pick(DECLARED);
    world.repositories[0]?.commit(new Map([[`dataplanes/${name}.yaml`, dice.chance(0.2) ? null : fileOf(dice, name)]]));
  } else strike();
}

function fileOf(dice: Dice, name: string) {
  const docs: readonly Doc[] = [{ type: 'manifest', manifest: declaredDataplane(dice, name) }];
  return { docs, broken: undefined };
}
