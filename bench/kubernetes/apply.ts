/** 1,000 Services and 1,000 EndpointSlices into a real API server: the agent against a client that does nothing else. */
import process from 'node:process';
import { AGENT_MEMORY_SETTINGS } from '../../src/compose/manifests/agent-pod.ts';
import { until } from '../../test/support/fleet-processes.ts';
import { placementYaml } from '../../test/support/manifests.ts';
import { asFiles, servicesWithEndpoints } from './objects.ts';
import { applyNaively, type KubernetesWorld, startKubernetesWorld } from './world.ts';
import { countWrites, followCreations } from './writes.ts';

const SERVICES = 1_000;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const GOAL_RATIO = 1.3;

interface Round {
  readonly createMillis: number;
  readonly fromPushMillis: number;
  readonly naiveMillis: number;
}

/** Runs the benchmark; `--json` prints one object. */
export async function run(args: readonly string[]): Promise<void> {
  const world = await startKubernetesWorld();
  try {
    await world.namespace('warm');
    await applyNaively(world, servicesWithEndpoints(100, 'warm'));
    const agent = world.fleet.agent('east');
    const asShipped = { args: ['--log-level', 'info'], env: AGENT_MEMORY_SETTINGS };
    await agent.start(asShipped);
    world.fleet.push({ 'placement.yaml': placementYaml('apps', 'apps/**') });
    const rounds: Round[] = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await measure(world, round));
    const before = await countWrites(world.cluster.api);
    await agent.kill('SIGTERM');
    await agent.start(asShipped);
    await untilInSync(world, ROUNDS * SERVICES * 2);
    const unchangedWrites = (await countWrites(world.cluster.api)) - before;
    report(rounds, unchangedWrites, args.includes('--json'));
  } finally {
    await world.stop();
  }
}

async function measure(world: KubernetesWorld, round: number): Promise<Round> {
  const [theirs, ours] = [`naive-${round}`, `ours-${round}`];
  for (const name of [theirs, ours]) await world.namespace(name);
  const naive = (): Promise<number> => applyNaively(world, servicesWithEndpoints(SERVICES, theirs));
  // The server gets slower with each round: both go first in turn.
  const before = round % 2 === 0 ? await naive() : undefined;
  const creations = followCreations(world.cluster, ours, SERVICES * 2);
  const pushed = performance.now();
  world.fleet.push(asFiles(`apps/${ours}`, servicesWithEndpoints(SERVICES, ours)));
  const { first, last } = await creations;
  await untilInSync(world, (round + 1) * SERVICES * 2);
  const naiveMillis = before ?? (await naive());
  return { createMillis: last - first, fromPushMillis: last - pushed, naiveMillis };
}

async function untilInSync({ fleet }: KubernetesWorld, objects: number): Promise<void> {
  const look = async (): Promise<boolean> => {
    const east = (await fleet.status()).clusters.find(({ name }) => name === 'east');
    return east?.connected === true && east.inSync && east.counts.applied === objects;
  };
  await until(`the agent has applied ${objects} objects`, look, 120_000);
}

function report(rounds: readonly Round[], unchangedWrites: number, json: boolean): void {
  const middle = (pick: (round: Round) => number): number => {
    const sorted = rounds.map(pick).sort((a, b) => a - b);
    return Math.round((sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN) * 100) / 100;
  };
  const result = {
    objects: SERVICES * 2,
    rounds: rounds.length,
    createMillis: middle(({ createMillis }) => createMillis),
    naiveMillis: middle(({ naiveMillis }) => naiveMillis),
    ratio: middle(({ createMillis, naiveMillis }) => createMillis / naiveMillis),
    fromPushMillis: middle(({ fromPushMillis }) => fromPushMillis),
    unchangedWrites,
    goals: { ratio: GOAL_RATIO, unchangedWrites: 0 },
  };
  if (json) process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`);
  else {
    const { objects, createMillis, naiveMillis, ratio, fromPushMillis } = result;
    process.stdout.write(
      [
        `${objects} objects, the middle one of ${rounds.length} rounds`,
        `first created → last created, agent (ms)   ${createMillis}`,
        `the same, naive client, 16 in flight (ms)  ${naiveMillis}`,
        `ratio (goal: ${GOAL_RATIO})                          ${ratio}`,
        `git push begun → last created (ms)         ${fromPushMillis}`,
        `writes after a restart (goal: 0)           ${unchangedWrites}`,
        '',
      ].join('\n'),
    );
  }
}
