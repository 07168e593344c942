/** A server is killed and started again: how long until every agent is confirmed in sync, and what is written. */

import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { apiFetch } from '../../test/support/api-fetch.ts';
import { type Fleet, startFleet, until } from '../../test/support/fleet-processes.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../test/support/manifests.ts';
import { cpuSeconds, memoryOf } from '../process-figures.ts';
import { serverSettings } from './as-shipped.ts';
import { startManyAgents } from './many.ts';

const CLUSTERS = Number(process.env.BENCH_CLUSTERS ?? 50);
const OBJECTS = Number(process.env.BENCH_OBJECTS ?? 2_000);
const FILES = 20;
const SETTLE_MS = 5_000;
const LOOK_MS = 100;
const GOALS = { inSyncMillis: 10_000, cpuMillis: 8_000, writes: 0, peakMiB: 1_536 };

/** Runs the benchmark; `--json` prints one object, `--store redis` keeps the state in a real Redis. */
export async function run(args: readonly string[]): Promise<void> {
  const store = args.includes('--store') ? (args[args.indexOf('--store') + 1] ?? '') : 'sqlite';
  const names = Array.from({ length: CLUSTERS }, (_, index) => `c${index}`);
  const keeping = await openStore(store);
  const fleet = await startFleet(
    {
      'clusters.yaml': names.map((name) => clusterYaml(name)).join('---\n'),
      'placement.yaml': placementYaml('apps', 'apps/**'),
      ...manifests(),
    },
    { serve: ['--log-level', 'info', ...keeping.serve], serverEnv: serverSettings() },
  );
  try {
    const agents = await startManyAgents(fleet, names);
    const firstMillis = await millisUntilInSync(fleet);
    await sleep(SETTLE_MS);
    await agents.writes();
    await fleet.server.kill('SIGKILL');
    const killed = performance.now();
    await fleet.server.start();
    const inSyncMillis = Math.round(performance.now() - killed + (await millisUntilInSync(fleet)));
    const cpuMillis = Math.round(cpuSeconds(fleet.server.pid() ?? 0) * 1_000);
    await sleep(SETTLE_MS);
    const writes = await agents.writes();
    const { peakMiB } = memoryOf(fleet.server.pid() ?? 0);
    agents.stop();
    report(
      { store, pairs: CLUSTERS * OBJECTS, inSyncMillis, cpuMillis, writes, peakMiB, firstMillis, goals: GOALS },
      args,
    );
  } finally {
    await fleet.stop();
    await keeping.stop();
  }
}

function manifests(): Record<string, string> {
  const perFile = OBJECTS / FILES;
  return Object.fromEntries(
    Array.from({ length: FILES }, (_, file) => [
      `apps/objects-${file}.yaml`,
      Array.from({ length: perFile }, (_object, index) =>
        configMapYaml(`object-${file}-${index}`, 'x'.repeat(200)),
      ).join('---\n'),
    ]),
  );
}

interface Seen {
  readonly agentVersion: string | null;
  readonly inSync: boolean;
  readonly counts: { readonly applied: number };
}

async function millisUntilInSync(fleet: Fleet): Promise<number> {
  const begun = performance.now();
  await until(
    'every agent is in sync',
    async () => {
      await sleep(LOOK_MS);
      const answer = await apiFetch(`${fleet.server.http()}/api/v1/clusters`);
      const { items } = (await answer.json()) as { items: readonly Seen[] };
      // Its agent is here: of one that the server before had, a replica does not know at once that it is gone.
      const isConfirmed = ({ agentVersion, inSync, counts }: Seen): boolean =>
        agentVersion !== null && inSync && counts.applied === OBJECTS;
      return items.length === CLUSTERS && items.every(isConfirmed);
    },
    900_000,
  );
  return Math.round(performance.now() - begun);
}

interface Keeping {
  readonly serve: readonly string[];
  stop(): Promise<void>;
}

async function openStore(store: string): Promise<Keeping> {
  if (store === 'sqlite') return { serve: [], stop: async () => {} };
  if (store !== 'redis') throw new Error(`there is no store ${JSON.stringify(store)}: sqlite or redis`);
  const { startRedis } = await import('../../test/support/redis.ts');
  const redis = await startRedis();
  return { serve: ['--store', `redis://127.0.0.1:${redis.port}`], stop: () => redis.stop() };
}

interface Figures {
  readonly store: string;
  readonly pairs: number;
  readonly inSyncMillis: number;
  /** Processor time of the server until then. */
  readonly cpuMillis: number;
  readonly writes: number;
  readonly peakMiB: number;
  readonly firstMillis: number;
  readonly goals: typeof GOALS;
}

function report(figures: Figures, args: readonly string[]): void {
  if (args.includes('--json')) {
    process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
    return;
  }
  const { store, pairs, inSyncMillis, cpuMillis, writes, peakMiB, firstMillis, goals } = figures;
  process.stdout.write(
    [
      `${pairs} (object, cluster) pairs, nothing changed, store ${store}`,
      `server started again → all in sync (ms)   ${inSyncMillis}   goal ${goals.inSyncMillis}`,
      `processor time of the server until then   ${cpuMillis}   goal ${goals.cpuMillis}`,
      `objects written in clusters               ${writes}   goal ${goals.writes}`,
      `server memory at most (MiB)               ${peakMiB}   goal ${goals.peakMiB}`,
      `the first time, with everything to write  ${firstMillis}`,
      '',
    ].join('\n'),
  );
}
