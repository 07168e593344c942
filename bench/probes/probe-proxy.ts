/** What a probe proxy takes that answers the probes of a Pod, and has nothing else to do. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { installBundle } from '../../test/support/installed-bundle.ts';
import { grpcApplication, httpApplication, httpsApplication } from '../../test/support/probed-applications.ts';
import { cpuSeconds, memoryOf } from '../process-figures.ts';

/** Of each kind; with the usual period of ten seconds, an application has as many in an hour and a half. */
const PROBES = Number(process.env.BENCH_PROBES ?? 500);
const REST_MS = Number(process.env.BENCH_REST_SECONDS ?? 20) * 1_000;
const TIMEOUT_HEADER = { 'X-Kuma-Probes-Timeout': '60' };
const GOALS = { restMiB: 60 };

/** Runs the benchmark; `--json` prints one object. Linux only: figures come from /proc. */
export async function run(args: readonly string[]): Promise<void> {
  const http = await httpApplication((_asked, response) => response.end('ok'));
  const https = await httpsApplication((_asked, response) => response.end('ok'));
  const grpc = await grpcApplication(() => 1);
  const installed = await installBundle();
  const started = performance.now();
  const proxy = await startProxy(installed.program);
  try {
    const startMillis = Math.round(performance.now() - started);
    const { restMiB: idleMiB } = await rested(proxy.pid);
    for (let done = 0; done < PROBES; done += 1) {
      await probe(proxy.port, `/${http.port}/healthz`);
      await probe(proxy.port, `/tcp/${http.port}`);
    }
    const { restMiB, cpuPercent } = await rested(proxy.pid);
    for (let done = 0; done < PROBES; done += 1) {
      await probe(proxy.port, `/${https.port}/healthz`, { 'X-Kuma-Probes-Scheme': 'HTTPS' });
      await probe(proxy.port, `/grpc/${grpc.port}`);
    }
    const { restMiB: allKindsMiB, peakMiB } = await rested(proxy.pid);
    report({ restMiB, idleMiB, allKindsMiB, peakMiB, cpuPercent, startMillis, goals: GOALS }, args);
  } finally {
    proxy.stop();
    await Promise.all([http, https, grpc].map((app) => app.stop()));
    await installed.remove();
  }
}

async function startProxy(program: string) {
  const child = spawn(process.execPath, [program, 'probe-proxy', '--port=0', '--pod-ip=127.0.0.1'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    // As in the container, which sets nothing.
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
  });
  const [line] = await once(child.stderr.setEncoding('utf8'), 'data');
  const [port] = (JSON.parse(line) as { readonly ports: readonly number[] }).ports;
  return { pid: child.pid ?? 0, port: port ?? 0, stop: () => child.kill('SIGKILL') };
}

async function probe(port: number, path: string, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  const sent = request({
    host: '127.0.0.1',
    port,
    path,
    agent: false,
    headers: { ...TIMEOUT_HEADER, ...headers },
  }).end();
  const [answer] = await once(sent, 'response');
  answer.resume();
  if (answer.statusCode !== 200) throw new Error(`${path} was answered ${answer.statusCode}`);
}

/** Memory after a while without probes, and the processor time in it in percent of one core. */
async function rested(pid: number) {
  const before = { cpu: cpuSeconds(pid), at: performance.now() };
  await sleep(REST_MS);
  const seconds = (performance.now() - before.at) / 1_000;
  const cpuPercent = Math.round(((cpuSeconds(pid) - before.cpu) / seconds) * 10_000) / 100;
  return { ...memoryOf(pid), cpuPercent };
}

interface Figures {
  readonly restMiB: number;
  readonly idleMiB: number;
  readonly allKindsMiB: number;
  readonly peakMiB: number;
  readonly cpuPercent: number;
  readonly startMillis: number;
  readonly goals: typeof GOALS;
}

function report(figures: Figures, args: readonly string[]): void {
  if (args.includes('--json')) {
    process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
    return;
  }
  const { restMiB, idleMiB, allKindsMiB, peakMiB, cpuPercent, startMillis, goals } = figures;
  process.stdout.write(
    [
      `memory at rest after ${PROBES} probes each by HTTP and TCP (MiB)   ${restMiB}   goal ${goals.restMiB}`,
      `before the first probe (MiB)                             ${idleMiB}`,
      `after as many by HTTPS and gRPC (MiB)                    ${allKindsMiB}`,
      `at most (MiB)                                            ${peakMiB}`,
      `processor at rest (percent)                              ${cpuPercent}`,
      `from start to the first answer (ms)                      ${startMillis}`,
      '',
    ].join('\n'),
  );
}
