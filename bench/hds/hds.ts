/** What a server takes that has 1,000 Envoys connected, whose reports have no news. */

import { fork } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readRelaySecret } from '../../src/adapters/tls/relay-secret.ts';
import { dataplaneSubject } from '../../src/domains/health/model/dataplane.ts';
import { connectionToken } from '../../src/relay/trust/tokens.ts';
import { apiFetch } from '../../test/support/api-fetch.ts';
import { type Fleet, startFleet, until } from '../../test/support/fleet-processes.ts';
import { freePort } from '../../test/support/free-port.ts';
import { installBundle } from '../../test/support/installed-bundle.ts';
import { serverSettings } from '../fleet/as-shipped.ts';
import { cpuSeconds, memoryOf } from '../process-figures.ts';
import type { ManyEnvoysRequest } from './many-envoys.ts';

const ENVOYS = Number(process.env.BENCH_ENVOYS ?? 1_000);
const PER_SERVICE = 10;
const REPORT_MS = 5_000;
const SETTLE_MS = 10_000;
const REST_MS = Number(process.env.BENCH_REST_SECONDS ?? 60) * 1_000;
const GOALS = { serverMiB: 350, cpuPercent: 10, commits: 0 };

/** Runs the benchmark; `--json` prints one object. Linux only: figures come from /proc. */
export async function run(args: readonly string[]): Promise<void> {
  const installed = await installBundle();
  const xds = `127.0.0.1:${await freePort()}`;
  const names = Array.from({ length: ENVOYS }, (_, index) => `d${index}`);
  const fleet = await startFleet(
    { 'dataplanes.yaml': names.map(dataplaneYaml).join('---\n') },
    {
      program: installed.program,
      serve: ['--log-level', 'info', '--poll', '60', '--xds', xds],
      serverEnv: serverSettings(),
    },
  ).catch(async (error: unknown) => {
    await installed.remove();
    throw error;
  });
  const child = fork(fileURLToPath(new URL('./many-envoys.ts', import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  try {
    const started = performance.now();
    child.send(await envoysOf(fleet, xds, names));
    await until(
      `${ENVOYS} data planes are online`,
      async () => {
        await sleep(500);
        const rows = await rowsOf(fleet, 'dataplanes');
        return rows.length === ENVOYS && rows.every(({ status }) => status === 'Online');
      },
      600_000,
    );
    const joinedMillis = Math.round(performance.now() - started);
    await sleep(SETTLE_MS);
    const pid = fleet.server.pid() ?? 0;
    const before = { cpu: cpuSeconds(pid), at: performance.now(), ...(await countsOf(fleet)) };
    await sleep(REST_MS);
    const after = await countsOf(fleet);
    const seconds = (performance.now() - before.at) / 1_000;
    const cpuPercent = Math.round(((cpuSeconds(pid) - before.cpu) / seconds) * 10_000) / 100;
    const { restMiB: serverMiB, peakMiB } = memoryOf(pid);
    const commits = after.commits - before.commits;
    const reports = after.reports - before.reports;
    report({ envoys: ENVOYS, reports, serverMiB, peakMiB, cpuPercent, commits, joinedMillis, goals: GOALS }, args);
  } finally {
    child.disconnect();
    await fleet.stop();
    await installed.remove();
  }
}

function dataplaneYaml(name: string, index: number): string {
  return `type: Dataplane
mesh: default
name: ${name}
networking:
  address: 10.${index >> 16}.${(index >> 8) & 255}.${index & 255}
  inbound:
  - {port: 8080, servicePort: 80, serviceAddress: 127.0.0.1, serviceProbe: {tcp: {}}, tags: {kuma.io/service: ${serviceOf(index)}}}
`;
}

function serviceOf(index: number): string {
  return `s${Math.floor(index / PER_SERVICE)}`;
}

async function envoysOf(fleet: Fleet, server: string, names: readonly string[]): Promise<ManyEnvoysRequest> {
  const secret = await readRelaySecret(join(fleet.dataDir, 'trust/relay-secret'));
  return {
    ...{ server, caFile: join(fleet.dataDir, 'trust/ca.crt'), reportMs: REPORT_MS },
    envoys: names.map((name, index) => ({
      node: `default.${name}`,
      token: connectionToken(secret, dataplaneSubject(`default/${name}`)),
      service: serviceOf(index),
      reports: true,
    })),
  };
}

async function rowsOf(fleet: Fleet, view: string): Promise<readonly { readonly status: string }[]> {
  const answer = await apiFetch(`${fleet.server.http()}/api/v1/views/${view}`);
  return ((await answer.json()) as { readonly items: readonly { readonly status: string }[] }).items;
}

/** Commits of the engine, and reports, since the start of the server. */
async function countsOf(fleet: Fleet): Promise<{ readonly commits: number; readonly reports: number }> {
  const text = await (await fetch(`${fleet.server.metrics()}/metrics`)).text();
  const sum = (name: string): number =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'gm'))].reduce(
      (all, [, value]) => all + Number(value),
      0,
    );
  return { commits: sum('fleetrelay_engine_commit_seconds_count'), reports: sum('fleetrelay_hds_reports_total') };
}

interface Figures {
  readonly envoys: number;
  /** That arrived while the server was looked at. */
  readonly reports: number;
  readonly serverMiB: number;
  readonly peakMiB: number;
  readonly cpuPercent: number;
  readonly commits: number;
  readonly joinedMillis: number;
  readonly goals: typeof GOALS;
}

function report(figures: Figures, args: readonly string[]): void {
  if (args.includes('--json')) {
    process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
    return;
  }
  const { envoys, reports, serverMiB, peakMiB, cpuPercent, commits, joinedMillis, goals } = figures;
  process.stdout.write(
    [
      `${envoys} Envoys, connected and healthy; ${reports} reports without news`,
      `server memory (MiB)              ${serverMiB}   goal ${goals.serverMiB}`,
      `server memory at most (MiB)      ${peakMiB}`,
      `server processor (percent)       ${cpuPercent}   goal ${goals.cpuPercent}`,
      `commits of the engine            ${commits}   goal ${goals.commits}`,
      `from start to all online (ms)    ${joinedMillis}`,
      '',
    ].join('\n'),
  );
}
