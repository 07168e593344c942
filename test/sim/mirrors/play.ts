import { createFaults } from '../actors/faults.ts';
import type { MakeChecker, Rest } from '../checkers/checker.ts';
import { monotoneRevisions } from '../checkers/monotone-revisions.ts';
import { noDefect } from '../checkers/no-defect.ts';
import { noForeignWrite } from '../checkers/no-foreign-write.ts';
import { totalLoss } from '../checkers/total-loss.ts';
import type { Dice } from '../core/dice.ts';
import type { Doc } from '../desired.ts';
import { approveSometimes, isAnyAgentAway, restart } from '../play.ts';
import { createWorld, type Violation, type World, type WorldOptions } from '../world.ts';
import { lastingMirrors, mirrorDifferences, mirrored } from './checkers.ts';
import { beginMachines, changeMachines, lastingMachines, machineDifferences, mendMachines } from './machines.ts';
import { dropService, LASTING, PASSING, putService } from './services.ts';

const CHECKERS: readonly MakeChecker[] = [
  lastingMirrors,
  mirrored,
  totalLoss,
  noForeignWrite,
  monotoneRevisions,
  noDefect,
];
const STEPS = 2_000;
const REST_MS = 20 * 60_000;
const LOOK_MS = 5_000;
const STILL_MS = 90_000;
/** How long a store may take that servers begin with: what is written at once arrives in any order. */
const STORE_MS = [2, 100, 1_000] as const;

/** What a play has besides Services of clusters. */
export interface MirrorPlay {
  /** Services of declared data planes. */
  readonly hasMachines?: boolean;
}

/** Goes nowhere: a source that holds nothing would be refused. */
const NOTE = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'note', namespace: 'web' } };

/**
 * Plays a fleet whose clusters mirror each other's services in safe mode, through faults, clusters that cannot be listed,
 * and losses of everything that servers know; then brings it to rest, and loses everything once more. Returns the
 * violations.
 */
export async function playMirrors(
  seed: number,
  options: WorldOptions = {},
  { hasMachines = false }: MirrorPlay = {},
): Promise<readonly Violation[]> {
  const world = createWorld(seed, options);
  const checkers = [...CHECKERS, ...(hasMachines ? [lastingMachines] : [])].map((make) => {
    const checker = make(world, (message) => {
      world.note(`VIOLATION ${checker.name}: ${message}`);
      world.violations.push({ checker: checker.name, message });
    });
    return checker;
  });
  const dice = world.dice.fork('mirrors');
  const faults = createFaults(world);
  const machineDice = hasMachines ? world.dice.fork('machines') : undefined;
  begin(world, dice);
  if (hasMachines) beginMachines(world);
  for (const { start } of [...world.servers, ...world.agents]) start();
  await world.time.advance(30_000);
  while (world.violations.length === 0 && world.time.steps() < STEPS) {
    happen(world, dice, faults.strike);
    if (machineDice !== undefined) changeMachines(world, machineDice);
    approveSometimes(world, dice.chance(0.3));
    await world.time.advance(dice.chance(0.1) ? dice.int(60_000) : dice.int(4_000));
  }
  const acts: readonly (readonly [Rest, () => void])[] = [
    [
      'quiet',
      () => {
        faults.mend();
        mendMachines(world);
        for (const { cluster } of world.agents) canBeListed(cluster.memory, true);
      },
    ],
    ['restarted', () => restart(world)],
    [
      'lost',
      () => {
        world.storeWeather.latencyMs = dice.pick(STORE_MS);
        loseEverything(world, dice);
      },
    ],
  ];
  for (const [rest, act] of acts) {
    if (world.violations.length > 0) break;
    world.note(`--- ${rest}`);
    act();
    await comeToRest(world, hasMachines);
    for (const checker of checkers) checker.atRest?.(rest);
  }
  return world.violations;
}

async function comeToRest(world: World, hasMachines: boolean): Promise<void> {
  const until = world.time.elapsed() + REST_MS;
  const isUnsettled = (): boolean =>
    mirrorDifferences(world).length > 0 ||
    isAnyAgentAway(world) ||
    (hasMachines && machineDifferences(world).length > 0);
  do {
    await world.time.advance(LOOK_MS);
    approveSometimes(world, true);
  } while (isUnsettled() && world.time.elapsed() < until && world.violations.length === 0);
  await world.time.advance(STILL_MS);
}

function begin({ agents, repositories }: World, dice: Dice): void {
  const mirror = {
    apiVersion: 'fleetrelay.dev/v1alpha1',
    kind: 'ServiceMirror',
    metadata: { name: 'all' },
    spec: { from: { selector: {} }, to: { selector: {} } },
  };
  const clusters = agents.map(({ cluster: { name } }): Doc => ({ type: 'cluster', name, env: 'prod' }));
  const docs: readonly Doc[] = [...clusters, { type: 'manifest', manifest: mirror }];
  const [main, ...others] = repositories;
  main?.commit(new Map([['fleet/fleet.yaml', { docs, broken: undefined }]]));
  for (const other of others)
    other.commit(new Map([['notes.yaml', { docs: [{ type: 'manifest', manifest: NOTE }], broken: undefined }]]));
  for (const { cluster } of agents) for (const name of LASTING) putService(cluster, name, addressOf(dice));
}

function happen(world: World, dice: Dice, strike: () => string): void {
  const { cluster } = dice.pick(world.agents);
  const what = dice.int(10);
  if (what < 3) putService(cluster, dice.pick([...LASTING, ...PASSING]), addressOf(dice));
  else if (what < 4) dropService(cluster, dice.pick(PASSING));
  else if (what < 5) pushMode(world, dice.pick(['strict', 'scoped']));
  else if (what < 6) {
    world.note(`${cluster.name} cannot be listed`);
    canBeListed(cluster.memory, false);
    world.time.in(1_000 + dice.int(60_000), () => canBeListed(cluster.memory, true));
  } else if (what < 7 && dice.chance(0.5)) loseEverything(world, dice);
  else strike();
}

function pushMode({ repositories, note }: World, mode: string): void {
  const manifest = {
    apiVersion: 'fleetrelay.dev/v1alpha1',
    kind: 'FleetPolicy',
    metadata: { name: 'fleet' },
    spec: { safeMode: { mode } },
  };
  note(`people want safe mode ${mode}`);
  repositories[0]?.commit(
    new Map([['fleet/policy.yaml', { docs: [{ type: 'manifest', manifest }], broken: undefined }]]),
  );
}

function canBeListed({ unknownKinds, forgetState }: World['agents'][number]['cluster']['memory'], can: boolean): void {
  for (const kind of ['/Service', 'discovery.k8s.io/EndpointSlice']) {
    if (can) unknownKinds.delete(kind);
    else unknownKinds.add(kind);
  }
  forgetState();
}

/** Servers and store are gone, and some agents stay away for longer than the servers. */
function loseEverything({ agents, memory, note, servers, tell, time }: World, dice: Dice): void {
  note('everything is lost');
  for (const { life } of servers) life()?.process.kill();
  memory.lose();
  tell({ type: 'storeLost' });
  for (const { start } of servers) time.in(dice.int(5_000), start);
  for (const { life, start } of agents) {
    if (!dice.chance(0.4)) continue;
    life()?.process.kill();
    time.in(dice.int(120_000), start);
  }
}

const addressOf = (dice: Dice): string => `10.0.${dice.int(250)}.${1 + dice.int(250)}`;
