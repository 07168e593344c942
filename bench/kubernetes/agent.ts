/** What an agent takes at rest, in a cluster with 10,000 objects. */
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { AGENT_MEMORY_SETTINGS } from '../../src/compose/manifests/agent-pod.ts';
import { until } from '../../test/support/fleet-processes.ts';
import { placementYaml } from '../../test/support/manifests.ts';
import { cpuSeconds, memoryOf } from '../process-figures.ts';
import { asFiles, deployments, servicesWithEndpoints } from './objects.ts';
import { applyNaively, type KubernetesWorld, startKubernetesWorld } from './world.ts';

const OWNED_SERVICES = 1_000;
const OTHER_SERVICES = 2_500;
const OTHER_DEPLOYMENTS = 3_000;
const SETTLE_MS = 10_000;
const REST_MS = Number(process.env.BENCH_REST_SECONDS ?? 60) * 1_000;
const GOALS = { peakMiB: 120, cpuPercent: 1 };

/** Runs the benchmark; `--json` prints one object. Linux only: figures come from /proc. */
export async function run(args: readonly string[]): Promise<void> {
  const world = await startKubernetesWorld();
  try {
    await fill(world);
    const agent = world.fleet.agent('east');
    const asShipped = { args: ['--log-level', 'info'], env: AGENT_MEMORY_SETTINGS };
    await agent.start(asShipped);
    await untilAtRest(world);
    // What it took to apply everything is another question than what it takes to start and to be there.
    await agent.kill('SIGTERM');
    const started = performance.now();
    await agent.start(asShipped);
    await untilAtRest(world);
    const startMillis = Math.round(performance.now() - started);
    await sleep(SETTLE_MS);
    const pid = agent.pid() ?? 0;
    const before = { cpu: cpuSeconds(pid), at: performance.now() };
    await sleep(REST_MS);
    const seconds = (performance.now() - before.at) / 1_000;
    const cpuPercent = Math.round(((cpuSeconds(pid) - before.cpu) / seconds) * 10_000) / 100;
    const { peakMiB, restMiB } = memoryOf(pid);
    const objects = 2 * OWNED_SERVICES + 2 * OTHER_SERVICES + OTHER_DEPLOYMENTS;
    report({ objects, owned: 2 * OWNED_SERVICES, peakMiB, restMiB, cpuPercent, startMillis, goals: GOALS }, args);
  } finally {
    await world.stop();
  }
}

async function fill(world: KubernetesWorld): Promise<void> {
  for (const name of ['ours', 'theirs']) await world.namespace(name);
  await applyNaively(world, servicesWithEndpoints(OTHER_SERVICES, 'theirs'));
  await applyNaively(world, deployments(OTHER_DEPLOYMENTS, 'theirs'));
  const files = asFiles('apps', servicesWithEndpoints(OWNED_SERVICES, 'ours'));
  world.fleet.push({ ...files, 'placement.yaml': placementYaml('apps', 'apps/**') });
}

async function untilAtRest({ fleet }: KubernetesWorld): Promise<void> {
  const look = async (): Promise<boolean> => {
    const east = (await fleet.status()).clusters.find(({ name }) => name === 'east');
    return east?.connected === true && east.inSync && east.counts.applied === 2 * OWNED_SERVICES;
  };
  await until('the agent has applied everything and is connected', look, 180_000);
}

interface Figures {
  readonly objects: number;
  readonly owned: number;
  readonly peakMiB: number;
  readonly restMiB: number;
  readonly cpuPercent: number;
  readonly startMillis: number;
  readonly goals: typeof GOALS;
}

function report(figures: Figures, args: readonly string[]): void {
  if (args.includes('--json')) {
    process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
    return;
  }
  const { objects, owned, peakMiB, restMiB, cpuPercent, startMillis } = figures;
  process.stdout.write(
    [
      `an agent at rest, ${objects} objects, ${owned} of them its own`,
      `memory, the most since it began (MiB; goal ${GOALS.peakMiB})  ${peakMiB}`,
      `memory at rest (MiB)                           ${restMiB}`,
      `processor at rest (percent of one; goal ${GOALS.cpuPercent})     ${cpuPercent}`,
      `started → in sync (ms)                         ${startMillis}`,
      '',
    ].join('\n'),
  );
}
