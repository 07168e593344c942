/** `git push` → applied by 99 agents, while the hundredth one does its worst. */
import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { LoopDelays } from '../event-loop.ts';
import { serverSettings } from '../fleet/as-shipped.ts';
import { memoryOf } from '../process-figures.ts';
import type { WaitAnswer } from '../push/agents.ts';
import { type PushFleet, startPushFleet } from '../push/fleet.ts';
import { percentile } from '../push/percentile.ts';
import type { AttackCounts, AttackRequest, AttackRound } from './attack.ts';

const AGENTS = Number(process.env.BENCH_AGENTS ?? 100);
const WARM_UP = 5;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 40);
const OBJECTS = Number(process.env.BENCH_OBJECTS ?? 100_000);
/** 100,000 of them are just below the quota of 256 MiB. */
const BYTES_PER_OBJECT = Number(process.env.BENCH_OBJECT_BYTES ?? 2_600);
const TURN_MS = Number(process.env.BENCH_TURN_MS ?? 5_000);
const ASK_MS = 50;
const GOALS = { othersP99Ratio: 1.5, loopCpuP999: 50, loopCpuMax: 100, serverPeakMiB: 600 };
/** More options of Node for the server. */
const EVENT_LOOP = new URL('../event-loop.ts', import.meta.url).href;
const SERVER_OPTIONS = process.env.BENCH_SERVER_OPTIONS ?? '';
/** The hostile agent's Services are mirrored to a cluster without an agent. */
const MIRRORED = process.env.BENCH_MIRRORED !== 'no';
const MIRROR = {
  'clusters/target.yaml': 'apiVersion: admin.gloo.solo.io/v2\nkind: KubernetesCluster\nmetadata:\n  name: target\n',
  'mirror.yaml': `apiVersion: fleetrelay.dev/v1alpha1\nkind: ServiceMirror\nmetadata:\n  name: all\nspec:\n  from: {names: [c${AGENTS - 1}]}\n  to: {names: [target]}\n`,
};

/** Of one phase: with or without the hostile agent. */
interface Phase {
  readonly appliedMillis: readonly number[];
  readonly loop: LoopDelays;
  readonly healthzMaxMillis: number;
  readonly peakMiB: number;
  /** Of the machine, over a minute. */
  readonly load: number;
}

/** Runs the benchmark; `--json` prints one object. Linux only: figures come from /proc. */
export async function run(args: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'fleetrelay-bench-'));
  const delays = join(folder, 'event-loop');
  const settings = serverSettings();
  const agents = start('../push/agents.ts', { UV_THREADPOOL_SIZE: String(AGENTS) });
  const hostile = start('./attack.ts', {});
  let fleet: PushFleet | undefined;
  try {
    fleet = await startPushFleet(folder, AGENTS, {
      files: MIRRORED ? MIRROR : {},
      serverEnv: {
        ...settings,
        NODE_OPTIONS: [settings.NODE_OPTIONS, `--import=${EVENT_LOOP}`, SERVER_OPTIONS].join(' '),
        BENCH_EVENT_LOOP: delays,
      },
    });
    const { clusters, ...about } = fleet.agentsRequest;
    const others = clusters.slice(0, -1);
    await ask(agents, { ...about, clusters: others }, ({ started }: { started?: number }) => started === others.length);
    await phase(fleet, agents, delays, WARM_UP, 'warm');
    const quiet = await phase(fleet, agents, delays, ROUNDS, 'quiet');
    const [culprit] = clusters.slice(-1);
    if (culprit === undefined) throw new Error('there is no hostile agent');
    const { name: cluster, tokenFile } = culprit;
    const request = { server: about.server, caFile: about.caFile, cluster, tokenFile };
    const size = { objects: OBJECTS, bytesPerObject: BYTES_PER_OBJECT, turnMs: TURN_MS };
    await ask(
      hostile,
      { ...request, ...size } satisfies AttackRequest,
      ({ ready }: { ready?: true }) => ready === true,
    );
    let finished = 0;
    hostile.on('message', (said: Partial<AttackRound>) => {
      finished = said.finished ?? finished;
    });
    const attacked = await phase(fleet, agents, delays, ROUNDS, 'attacked', () => finished > 0);
    const named = await namesOf(fleet, cluster);
    const { counts } = await ask<{ counts: AttackCounts }>(hostile, { end: true }, (answer) => 'counts' in answer);
    report(quiet, attacked, { counts, named }, args.includes('--json'));
  } finally {
    agents.disconnect();
    hostile.disconnect();
    hostile.kill();
    await fleet?.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function start(file: string, env: Readonly<Record<string, string>>): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...env },
  });
}

async function phase(
  fleet: PushFleet,
  agents: ChildProcess,
  delays: string,
  rounds: number,
  name: string,
  isDone = (): boolean => true,
): Promise<Phase> {
  await loopDelays(fleet, delays);
  const endAsking = askHealth(fleet);
  const appliedMillis: number[] = [];
  for (let round = 0; round < rounds || !isDone(); round += 1) {
    const marker = `${name}-${round}`;
    await fleet.edit(marker);
    const applied = ask<WaitAnswer>(agents, { marker }, (answer) => answer.marker === marker);
    const before = performance.timeOrigin + performance.now();
    await fleet.push();
    appliedMillis.push((await applied).at - before);
  }
  const healthzMaxMillis = await endAsking();
  const { peakMiB } = memoryOf(fleet.pid);
  const [load = 0] = loadavg();
  const sorted = appliedMillis.sort((a, b) => a - b);
  return { appliedMillis: sorted, loop: await loopDelays(fleet, delays), healthzMaxMillis, peakMiB, load };
}

function ask<Answer>(child: ChildProcess, request: object, fits: (answer: Answer) => boolean): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void => reject(new Error(`a process of the benchmark ended with ${code}`));
    const listen = (answer: unknown): void => {
      if (!fits(answer as Answer)) return;
      child.off('message', listen);
      child.off('exit', ended);
      resolve(answer as Answer);
    };
    child.on('message', listen);
    child.once('exit', ended);
    child.send(request);
  });
}

/** The delays of the server's event loop since the last call. */
async function loopDelays({ pid }: PushFleet, file: string): Promise<LoopDelays> {
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(file)) await sleep(10);
  return JSON.parse(readFileSync(file, 'utf8')) as LoopDelays;
}

/** Asks for the health of the server all the time; the returned function ends that, and tells the longest wait for an answer. */
function askHealth({ metrics }: PushFleet): () => Promise<number> {
  let isOver = false;
  let longest = 0;
  const asking = (async () => {
    while (!isOver) {
      const before = performance.now();
      await (await fetch(`${metrics}/healthz`)).text();
      longest = Math.max(longest, performance.now() - before);
      await sleep(ASK_MS);
    }
  })();
  return async () => {
    isOver = true;
    await asking;
    return longest;
  };
}

/** Where the culprit is named: its condition or problem in the API, and the metrics with its name that the others do not have. */
async function namesOf(fleet: PushFleet, cluster: string): Promise<readonly string[]> {
  const { items } = (await fleet.ask('/api/v1/clusters')) as {
    readonly items: readonly { readonly name: string; readonly message?: string; readonly problem?: string }[];
  };
  const { message, problem } = items.find(({ name }) => name === cluster) ?? {};
  const lines = (await (await fetch(`${fleet.metrics}/metrics`)).text()).split('\n');
  const counted = lines.filter((line) => line.includes(`cluster="${cluster}"`) && !line.endsWith(' 0'));
  return [`message: ${message}`, `problem: ${problem}`, ...counted];
}

function report(
  quiet: Phase,
  attacked: Phase,
  { counts, named }: { readonly counts: AttackCounts; readonly named: readonly string[] },
  json: boolean,
): void {
  const rounded = (value: number): number => Math.round(value * 10) / 10;
  const figures = ({ appliedMillis, loop, healthzMaxMillis, peakMiB, load }: Phase) => ({
    appliedMillis: { p50: rounded(percentile(appliedMillis, 50)), p99: rounded(percentile(appliedMillis, 99)) },
    loopDelayMillis: { p999: rounded(loop.p999Millis), max: rounded(loop.millis) },
    loopCpuMillis: { p999: rounded(loop.cpuP999Millis), max: rounded(loop.cpuMillis) },
    healthzMaxMillis: rounded(healthzMaxMillis),
    pushes: appliedMillis.length,
    peakMiB,
    load: rounded(load),
  });
  const [before, after] = [figures(quiet), figures(attacked)];
  const result = {
    ...{ agents: AGENTS, rounds: ROUNDS, objects: OBJECTS, mirrored: MIRRORED, counts },
    othersP99Ratio: rounded(after.appliedMillis.p99 / before.appliedMillis.p99),
    loopCpuMillis: after.loopCpuMillis,
    loopDelayMillis: after.loopDelayMillis,
    healthzMaxMillis: after.healthzMaxMillis,
    serverPeakMiB: rounded(after.peakMiB - before.peakMiB),
    longTurns: { count: attacked.loop.longTurnCount, longest: attacked.loop.longTurns },
    ...{ quiet: before, attacked: after, named, goals: GOALS },
  };
  if (json) process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`);
  else
    for (const [key, value] of Object.entries(result))
      process.stdout.write(`${key.padEnd(20)} ${JSON.stringify(value)}\n`);
}
