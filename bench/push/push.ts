/** `git push` with the hook, until every one of 100 directory agents has applied it. */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { WaitAnswer } from './agents.ts';
import { type PushFleet, startPushFleet } from './fleet.ts';
import { percentile } from './percentile.ts';

const AGENTS = 100;
const WARM_UP = 5;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 40);

interface Round {
  readonly appliedMillis: number;
  readonly pushMillis: number;
}

/** Runs the benchmark; `--json` prints one object. */
export async function run(args: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'fleetrelay-bench-'));
  const agents = fork(fileURLToPath(new URL('./agents.ts', import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // This process stands for as many machines, each with a disk that it syncs by itself.
    env: { ...process.env, UV_THREADPOOL_SIZE: String(AGENTS) },
  });
  let fleet: PushFleet | undefined;
  try {
    fleet = await startPushFleet(folder, AGENTS);
    await ask(agents, fleet.agentsRequest, (answer: { started?: number }) => answer.started === AGENTS);
    const rounds: Round[] = [];
    for (let round = 0; round < WARM_UP + ROUNDS; round++) {
      const measured = await measure(fleet, agents, `round-${round}`);
      if (round >= WARM_UP) rounds.push(measured);
    }
    report(rounds, args.includes('--json'));
  } finally {
    agents.disconnect();
    await fleet?.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(fleet: PushFleet, agents: ChildProcess, marker: string): Promise<Round> {
  await fleet.edit(marker);
  const applied = ask<WaitAnswer>(agents, { marker }, (answer) => answer.marker === marker);
  const before = performance.timeOrigin + performance.now();
  await fleet.push();
  const pushed = performance.timeOrigin + performance.now();
  return { appliedMillis: (await applied).at - before, pushMillis: pushed - before };
}

function ask<Answer>(agents: ChildProcess, request: object, fits: (answer: Answer) => boolean): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void => reject(new Error(`the agents' process ended with ${code}`));
    const listen = (answer: unknown): void => {
      if (!fits(answer as Answer)) return;
      agents.off('message', listen);
      agents.off('exit', ended);
      resolve(answer as Answer);
    };
    agents.on('message', listen);
    agents.once('exit', ended);
    agents.send(request);
  });
}

function report(rounds: readonly Round[], json: boolean): void {
  const figures = (pick: (round: Round) => number) => {
    const sorted = rounds.map(pick).sort((a, b) => a - b);
    return { p50: percentile(sorted, 50), p99: percentile(sorted, 99) };
  };
  const result = {
    agents: AGENTS,
    rounds: rounds.length,
    appliedMillis: figures((round) => round.appliedMillis),
    pushMillis: figures((round) => round.pushMillis),
    appliedPerPush: figures((round) => round.appliedMillis / round.pushMillis),
  };
  if (json) process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`);
  else {
    const row = (name: string, { p50, p99 }: { p50: number; p99: number }): string =>
      `${name.padEnd(34)} ${p50.toFixed(1).padStart(8)} ${p99.toFixed(1).padStart(8)}\n`;
    process.stdout.write(`${AGENTS} agents, ${rounds.length} pushes`.padEnd(34));
    process.stdout.write('      p50      p99\n');
    process.stdout.write(row('git push begun → applied in all (ms)', result.appliedMillis));
    process.stdout.write(row('git push alone (ms)', result.pushMillis));
    process.stdout.write(row('ratio', result.appliedPerPush));
  }
}
