/** Measures kernel and floor in one process started with --expose-gc, and prints one JSON object. */
import process from 'node:process';
import { createFloorSubject } from './floor.ts';
import { createKernelSubject } from './kernel.ts';
import {
  buildInputs,
  buildUpdates,
  clusterCount,
  type Inputs,
  type Subject,
  serviceCount,
  type Update,
} from './workload.ts';

const warmUpUpdates = 3000;
const measuredUpdates = 20_000;

/** Figures of one engine. Times of an update are microseconds from staging to the list of changed outputs. */
export interface Figures {
  readonly updateMicros: { readonly p50: number; readonly p99: number };
  /** Heap that loading added, inputs themselves not counted, per input service. */
  readonly bytesPerService: number;
  /** All clusters one after the other, as agents report them. */
  readonly loadMillis: number;
  /** Everything from nothing, at once. */
  readonly fullRecomputeMillis: number;
}

/** What the measuring process prints. */
export interface Measurement {
  readonly services: number;
  readonly clusters: number;
  readonly outputs: number;
  readonly kernel: Figures;
  readonly floor: Figures;
}

function heapUsed(): number {
  if (globalThis.gc === undefined) throw new Error('start node with --expose-gc');
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

function millisOf(work: () => void): number {
  const start = process.hrtime.bigint();
  work();
  return Number(process.hrtime.bigint() - start) / 1e6;
}

function updateMicros(subject: Subject, updates: readonly Update[]): Figures['updateMicros'] {
  const micros = new Float64Array(updates.length);
  updates.forEach((update, at) => {
    const start = process.hrtime.bigint();
    const changed = subject.update(update);
    micros[at] = Number(process.hrtime.bigint() - start) / 1e3;
    if (changed !== 10) throw new Error(`an update changed ${changed} outputs instead of 10`);
  });
  micros.sort();
  const at = (share: number): number => micros[Math.floor(share * (micros.length - 1))] as number;
  return { p50: at(0.5), p99: at(0.99) };
}

function measure<Kind extends Subject>(inputs: Inputs, create: () => Kind, recompute: (subject: Kind) => void) {
  const before = heapUsed();
  const subject = create();
  const loadMillis = millisOf(() => {
    for (const cluster of inputs.clusters) subject.load(cluster);
  });
  const bytesPerService = (heapUsed() - before) / serviceCount;
  updateMicros(subject, buildUpdates(warmUpUpdates, 1));
  const micros = updateMicros(subject, buildUpdates(measuredUpdates, 1 + warmUpUpdates));
  const outputs = subject.outputs();
  const checksum = subject.checksum();
  const fullRecomputeMillis = millisOf(() => recompute(subject));
  const figures: Figures = { updateMicros: micros, bytesPerService, loadMillis, fullRecomputeMillis };
  return { figures, outputs, checksum };
}

const inputs = buildInputs();
const kernel = measure(
  inputs,
  () => createKernelSubject(inputs),
  () => createKernelSubject(inputs).loadAll(),
);
const floor = measure(
  inputs,
  () => createFloorSubject(inputs),
  (subject) => subject.recomputeAll(),
);
if (kernel.checksum !== floor.checksum || kernel.outputs !== floor.outputs) {
  throw new Error(
    `kernel and floor disagree: ${kernel.outputs}/${kernel.checksum}, ${floor.outputs}/${floor.checksum}`,
  );
}
const measurement: Measurement = {
  services: serviceCount,
  clusters: clusterCount,
  outputs: kernel.outputs,
  kernel: kernel.figures,
  floor: floor.figures,
};
process.stdout.write(`${JSON.stringify(measurement)}\n`);
