/** What a server does when one of the 10,000 endpoints of a service changes that 1,000 Envoys ask for. */

import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { readRelaySecret } from '../../src/adapters/tls/relay-secret.ts';
import { dataplaneSubject } from '../../src/domains/health/model/dataplane.ts';
import { connectionToken } from '../../src/relay/trust/tokens.ts';
import { apiFetch } from '../../test/support/api-fetch.ts';
import { type Fleet, startFleet, until } from '../../test/support/fleet-processes.ts';
import { freePort } from '../../test/support/free-port.ts';
import { installBundle } from '../../test/support/installed-bundle.ts';
import type { LongestBlock } from '../event-loop.ts';
import { serverSettings } from '../fleet/as-shipped.ts';
import type { HealthOfAll, ManyEnvoysRequest, ResponsesOfAll } from '../hds/many-envoys.ts';
import { memoryOf } from '../process-figures.ts';
import { percentile } from '../push/percentile.ts';

const ENDPOINTS = Number(process.env.BENCH_ENDPOINTS ?? 10_000);
const ENVOYS = Number(process.env.BENCH_ENVOYS ?? 1_000);
const CHANGES = Number(process.env.BENCH_CHANGES ?? 10);
const SETTLE_MS = 3_000;
const LIMIT_MS = 600_000;
const GOALS = { longestBlockMillis: 50 };

/** Runs the benchmark; `--json` prints one object. Linux only: figures come from /proc. */
export async function run(args: readonly string[]): Promise<void> {
  const installed = await installBundle();
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-bench-'));
  const blocks = join(folder, 'event-loop');
  const xds = `127.0.0.1:${await freePort()}`;
  const fleet = await startFleet(
    { 'dataplanes.yaml': Array.from({ length: ENDPOINTS }, (_, index) => dataplaneYaml(index)).join('---\n') },
    {
      program: installed.program,
      serve: ['--log-level', 'info', '--poll', '60', '--xds', xds],
      serverEnv: {
        ...serverSettings(),
        NODE_OPTIONS: `--import=${new URL('../event-loop.ts', import.meta.url).href}`,
        BENCH_EVENT_LOOP: blocks,
      },
    },
  );
  const child = fork(new URL('../hds/many-envoys.ts', import.meta.url), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  try {
    const arrived = arrivalsOf(child);
    child.send(await envoysOf(fleet, xds));
    await until(
      'all Envoys have the endpoints',
      async () => arrived() >= ENVOYS && (await endpointsOf(fleet)) === ENDPOINTS,
      LIMIT_MS,
    );
    const seen: Change[] = [];
    for (let made = 0; made < CHANGES; made += 1) {
      const report = (): boolean => child.send({ isHealthy: made % 2 === 1 } satisfies HealthOfAll);
      seen.push(await change(fleet, blocks, arrived, report));
    }
    const sorted = (figure: keyof Change): readonly number[] => seen.map((one) => one[figure]).sort((a, b) => a - b);
    const { restMiB: serverMiB, peakMiB } = memoryOf(fleet.server.pid() ?? 0);
    report(
      {
        ...{ endpoints: ENDPOINTS, envoys: ENVOYS, changes: CHANGES },
        longestBlockCpuMillis: rounded(sorted('cpuMillis').at(-1) ?? 0),
        medianBlockCpuMillis: rounded(percentile(sorted('cpuMillis'), 50)),
        longestBlockMillis: rounded(sorted('millis').at(-1) ?? 0),
        arrivedMillis: rounded(percentile(sorted('arrivedMillis'), 50)),
        pushes: seen.reduce((sum, { pushes }) => sum + pushes, 0),
        ...{ serverMiB, peakMiB, goals: GOALS },
      },
      args,
    );
  } finally {
    child.disconnect();
    await fleet.stop();
    await installed.remove();
    rmSync(folder, { recursive: true });
  }
}

/** What one change of an endpoint took. */
interface Change extends LongestBlock {
  /** From the report until all Envoys have the endpoints. */
  readonly arrivedMillis: number;
  readonly pushes: number;
}

async function change(fleet: Fleet, blocks: string, arrived: () => number, report: () => void): Promise<Change> {
  const [before, sent] = [arrived(), await pushesSent(fleet)];
  await sleep(SETTLE_MS);
  await longestBlock(fleet, blocks);
  const started = performance.now();
  report();
  await until('all Envoys have the change', () => arrived() >= before + ENVOYS);
  const arrivedMillis = performance.now() - started;
  const block = await longestBlock(fleet, blocks);
  return { ...block, arrivedMillis, pushes: (await pushesSent(fleet)) - sent };
}

/** The number of responses that have arrived; the server is not asked. */
function arrivalsOf(child: ChildProcess): () => number {
  let arrived = 0;
  child.on('message', ({ responses }: ResponsesOfAll) => {
    arrived = responses;
  });
  return () => arrived;
}

async function longestBlock({ server }: Fleet, file: string): Promise<LongestBlock> {
  rmSync(file, { force: true });
  server.signal('SIGUSR2');
  await until('the server has said how long it was blocked', () => existsSync(file));
  return JSON.parse(readFileSync(file, 'utf8')) as LongestBlock;
}

/** The health of the first one is reported. */
function dataplaneYaml(index: number): string {
  const probe = index === 0 ? 'serviceProbe: {tcp: {}}, ' : '';
  return `type: Dataplane
mesh: default
name: d${index}
networking:
  address: 10.${index >> 16}.${(index >> 8) & 255}.${index & 255}
  inbound:
  - {port: 8080, servicePort: 80, serviceAddress: 127.0.0.1, ${probe}tags: {kuma.io/service: shop}}
`;
}

async function envoysOf(fleet: Fleet, server: string): Promise<ManyEnvoysRequest> {
  const secret = await readRelaySecret(join(fleet.dataDir, 'trust/relay-secret'));
  const envoy = (index: number) => ({
    node: `default.d${index}`,
    token: connectionToken(secret, dataplaneSubject(`default/d${index}`)),
    reports: index === 0,
    ...(index === 0 ? {} : { service: 'shop' }),
  });
  return {
    ...{ server, caFile: join(fleet.dataDir, 'trust/ca.crt'), reportMs: 60_000 },
    envoys: Array.from({ length: ENVOYS + 1 }, (_, index) => envoy(index)),
  };
}

async function endpointsOf(fleet: Fleet): Promise<number> {
  const answer = await apiFetch(`${fleet.server.http()}/api/v1/views/services`);
  const { items } = (await answer.json()) as {
    readonly items: readonly { readonly endpoints: { readonly ready: number } }[];
  };
  return items[0]?.endpoints.ready ?? 0;
}

async function pushesSent(fleet: Fleet): Promise<number> {
  const text = await (await fetch(`${fleet.server.metrics()}/metrics`)).text();
  return Number(/^fleetrelay_eds_pushes_total\{result="sent"\} (\d+)$/m.exec(text)?.[1] ?? 0);
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

interface Figures {
  readonly endpoints: number;
  readonly envoys: number;
  readonly changes: number;
  readonly longestBlockCpuMillis: number;
  readonly medianBlockCpuMillis: number;
  readonly longestBlockMillis: number;
  readonly arrivedMillis: number;
  readonly pushes: number;
  readonly serverMiB: number;
  readonly peakMiB: number;
  readonly goals: typeof GOALS;
}

function report(figures: Figures, args: readonly string[]): void {
  if (args.includes('--json')) {
    process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
    return;
  }
  const { endpoints, envoys, changes, arrivedMillis, pushes } = figures;
  process.stdout.write(
    [
      `${changes} changes of one of ${endpoints} endpoints, for ${envoys} Envoys`,
      `longest block, processor time (ms)        ${figures.longestBlockCpuMillis}`,
      `the same, median of the changes           ${figures.medianBlockCpuMillis}`,
      `longest block by the clock (ms)           ${figures.longestBlockMillis}   goal ${GOALS.longestBlockMillis}`,
      `from the report to all Envoys (ms)        ${arrivedMillis}`,
      `pushes                                    ${pushes}`,
      `server memory (MiB)                       ${figures.serverMiB}`,
      `server memory at most (MiB)               ${figures.peakMiB}`,
      '',
    ].join('\n'),
  );
}
