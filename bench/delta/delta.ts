/** What a delta of one object costs a server and an agent, in a cluster with many objects and in one with few. */
import process from 'node:process';
import { percentile } from '../push/percentile.ts';
import { createAgentEnd } from './agent-end.ts';
import { createServerEnd } from './server-end.ts';

const MANY = 50_000;
const FEW = 1_000;
const WARM_UP = 300;
const ROUNDS = 1_000;
const GOAL_MICROS = 2_000;

interface Micros {
  readonly p50: number;
  readonly p99: number;
}

interface Figures {
  readonly serverMicros: Micros;
  readonly agentMicros: Micros;
}

/** `npm run bench -- delta [--json]`. */
export async function run(args: readonly string[]): Promise<void> {
  const few = await measure(FEW);
  const many = await measure(MANY);
  const ratio = (of: keyof Figures): number => Math.round((many[of].p50 / few[of].p50) * 100) / 100;
  const result = {
    objects: MANY,
    ...many,
    few: { objects: FEW, ...few },
    ratio: { server: ratio('serverMicros'), agent: ratio('agentMicros') },
    goals: { 'serverMicros.p99': GOAL_MICROS, 'agentMicros.p99': GOAL_MICROS },
  };
  if (args.includes('--json')) {
    process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`);
    return;
  }
  process.stdout.write('one object changes                     p50 µs   p99 µs\n');
  for (const [objects, figures] of [
    [FEW, few],
    [MANY, many],
  ] as const) {
    for (const [name, { p50, p99 }] of [
      ['server', figures.serverMicros],
      ['agent', figures.agentMicros],
    ] as const) {
      const what = `${name}, ${objects} objects`;
      process.stdout.write(`${what.padEnd(36)}${p50.toFixed(0).padStart(9)}${p99.toFixed(0).padStart(9)}\n`);
    }
  }
}

async function measure(objects: number): Promise<Figures> {
  const [server, agent] = [createServerEnd(objects), createAgentEnd()];
  await agent.take(server.make());
  await server.accepted();
  await agent.rest();
  if (agent.owned() !== objects || server.inFlight() > 0) throw new Error('the first delta did not arrive');
  const [serverMicros, agentMicros]: [number[], number[]] = [[], []];
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    server.change((round * 7_919) % objects, String(round + 1));
    const begun = clockMicros();
    const delta = server.make();
    const made = clockMicros();
    await agent.take(delta);
    const taken = clockMicros();
    await server.accepted();
    const done = clockMicros();
    await agent.rest();
    if (round < WARM_UP) continue;
    serverMicros.push(made - begun + (done - taken));
    agentMicros.push(taken - made);
  }
  if (server.inFlight() > 0) throw new Error('a delta was not accepted');
  return { serverMicros: percentiles(serverMicros), agentMicros: percentiles(agentMicros) };
}

/** Microseconds of the clock: the processor time of a thread is counted in steps of 4 ms. */
function clockMicros(): number {
  return Number(process.hrtime.bigint()) / 1e3;
}

function percentiles(micros: number[]): Micros {
  micros.sort((a, b) => a - b);
  return { p50: percentile(micros, 50), p99: percentile(micros, 99) };
}
