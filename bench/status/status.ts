/** What one change costs whose outcome is the status of one declared object among many. */
import process from 'node:process';
import { engineDomains } from '../../src/domains/engines.ts';
import { createGraph } from '../../src/engine/collections/graph.ts';
import { createEngine } from '../../src/engine/graph.ts';
import type { FileValue } from '../../src/engine/inputs.ts';
import { createLoop } from '../../src/runtime/loop.ts';
import { stageFile } from '../../src/runtime/replica/sources.ts';
import { decodeFile } from '../../test/support/decode-file.ts';
import { percentile } from '../push/percentile.ts';
import { branchTarget } from './branch.ts';
import { resourceTarget } from './resources.ts';
import { dataplane, type Target, type TargetDeps } from './target.ts';

const OBJECTS = 10_000;
const WARM_UP = 300;
const ROUNDS = 2_000;

interface Figures {
  readonly changeMicros: { readonly p50: number; readonly p99: number };
  /** The most writes that one change led to. */
  readonly writes: number;
}

/** `npm run bench -- status [--json]`. */
export async function run(args: readonly string[]): Promise<void> {
  const branch = await measure(branchTarget);
  const resource = await measure(resourceTarget);
  const worst = (pick: (figures: Figures) => number): number => Math.max(pick(branch), pick(resource));
  const result = {
    objects: OBJECTS,
    changes: ROUNDS,
    changeMicros: {
      p50: worst(({ changeMicros }) => changeMicros.p50),
      p99: worst(({ changeMicros }) => changeMicros.p99),
    },
    writes: worst(({ writes }) => writes),
    branch,
    resource,
  };
  if (args.includes('--json')) {
    process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`);
    return;
  }
  process.stdout.write(`${OBJECTS} declared objects, ${ROUNDS} changes   p50 µs   p99 µs   writes\n`);
  for (const [name, { changeMicros, writes }] of Object.entries({
    'status branch': branch,
    'custom resource': resource,
  }))
    process.stdout.write(
      `${name.padEnd(38)}${changeMicros.p50.toFixed(0).padStart(9)}${changeMicros.p99.toFixed(0).padStart(9)}${String(writes).padStart(9)}\n`,
    );
}

async function measure(open: (deps: TargetDeps) => Target): Promise<Figures> {
  const engine = createEngine(createGraph(), engineDomains);
  engine.inputs.fleet.set('', '', { bounds: { guards: {}, safeModes: [], webhookRemediator: false }, role: 'leader' });
  const log = { debug: ignore, info: ignore, warn: complain, error: complain, child: () => log };
  const loop = createLoop({ engine, clock: stillClock, log });
  const target = open({ engine, loop, objects: OBJECTS });
  const { source, path } = target;
  loop.begin();
  loop.transact(() => {
    engine.inputs.sources.set('', source, { order: 0, read: true });
    for (let at = 0; at < OBJECTS; at += 1) {
      const { reading } = decodeFile(path(at), new TextEncoder().encode(dataplane(at)), String(at));
      stageFile(engine, source, path(at), reading);
    }
  });
  loop.settle();
  const first = await target.write();
  if (first < OBJECTS) throw new Error(`${first} statuses were written at first, of ${OBJECTS} objects`);
  await target.comesBack();
  const micros: number[] = [];
  let writes = 0;
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    const changed = path((round * 7_919) % OBJECTS);
    const file = engine.inputs.files.get(source, changed) as FileValue;
    const start = process.hrtime.bigint();
    loop.transact(() => engine.inputs.files.set(source, changed, { ...file, findings: [`found in round ${round}`] }));
    loop.settle();
    const written = await target.write();
    const took = Number(process.hrtime.bigint() - start) / 1e3;
    const again = await target.comesBack();
    if (again > 0) throw new Error(`what was written was written ${again} times more`);
    if (round < WARM_UP) continue;
    micros.push(took);
    writes = Math.max(writes, written);
    if (written === 0) throw new Error('a change was not written');
  }
  micros.sort((a, b) => a - b);
  return { changeMicros: { p50: percentile(micros, 50), p99: percentile(micros, 99) }, writes };
}

/** The loop is settled by hand. */
const stillClock = {
  now: () => Date.UTC(2026, 0, 1),
  monotonic: () => 0,
  sleep: () => new Promise<void>(() => undefined),
  schedule: () => ignore,
};

function ignore(): void {
  // Nothing comes of it.
}

function complain(message: string, data?: unknown): void {
  throw new Error(`${message}: ${JSON.stringify(data)}`);
}
