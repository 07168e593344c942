/** What a server takes that has 1,000 agents connected, and nothing to do. */
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { startFleet, until } from '../../test/support/fleet-processes.ts';
import { installBundle } from '../../test/support/installed-bundle.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../test/support/manifests.ts';
import { cpuSeconds, memoryOf } from '../process-figures.ts';
import { serverSettings } from './as-shipped.ts';
import { startManyAgents } from './many.ts';

const AGENTS = Number(process.env.BENCH_AGENTS ?? 1_000);
const SETTLE_MS = 10_000;
const REST_MS = Number(process.env.BENCH_REST_SECONDS ?? 60) * 1_000;
const GOALS = { serverMiB: 300, cpuPercent: 5 };

/** Runs the benchmark; `--json` prints one object. Linux only: figures come from /proc. */
export async function run(args: readonly string[]): Promise<void> {
  const names = Array.from({ length: AGENTS }, (_, index) => `c${index}`);
  const installed = await installBundle();
  const fleet = await startFleet(
    {
      'clusters.yaml': names.map((name) => clusterYaml(name)).join('---\n'),
      'apps/one.yaml': configMapYaml('one', 'one'),
      'placement.yaml': placementYaml('apps', 'apps/**'),
    },
    { program: installed.program, serve: ['--log-level', 'info', '--poll', '60'], serverEnv: serverSettings() },
  ).catch(async (error: unknown) => {
    await installed.remove();
    throw error;
  });
  try {
    const started = performance.now();
    const agents = await startManyAgents(fleet, names);
    await until(
      `${AGENTS} agents are in sync`,
      async () => {
        await sleep(500);
        const { clusters } = await fleet.status();
        return clusters.length === AGENTS && clusters.every(({ inSync, counts }) => inSync && counts.applied === 1);
      },
      600_000,
    );
    const joinedMillis = Math.round(performance.now() - started);
    await sleep(SETTLE_MS);
    const pid = fleet.server.pid() ?? 0;
    const before = { cpu: cpuSeconds(pid), at: performance.now() };
    await sleep(REST_MS);
    const seconds = (performance.now() - before.at) / 1_000;
    const cpuPercent = Math.round(((cpuSeconds(pid) - before.cpu) / seconds) * 10_000) / 100;
    const { restMiB: serverMiB, peakMiB } = memoryOf(pid);
    agents.stop();
    report({ agents: AGENTS, serverMiB, peakMiB, cpuPercent, joinedMillis, goals: GOALS }, args);
  } finally {
    await fleet.stop();
    await installed.remove();
  }
}

interface Figures {
  readonly agents: number;
  readonly serverMiB: number;
  readonly peakMiB: number;
  readonly cpuPercent: number;
  readonly joinedMillis: number;
  readonly goals: typeof GOALS;
}

function report(figures: Figures, args: readonly string[]): void {
  if (args.includes('--json')) {
    process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
    return;
  }
  const { agents, serverMiB, peakMiB, cpuPercent, joinedMillis, goals } = figures;
  process.stdout.write(
    [
      `${agents} agents, connected and in sync`,
      `server memory at rest (MiB)   ${serverMiB}   goal ${goals.serverMiB}`,
      `server memory at most (MiB)   ${peakMiB}`,
      `server processor (percent)    ${cpuPercent}   goal ${goals.cpuPercent}`,
      `from start to all in sync (ms)  ${joinedMillis}`,
      '',
    ].join('\n'),
  );
}
