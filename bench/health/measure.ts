/** Measures the health of data planes in a process that was started with --expose-gc, and prints one JSON object. */
import process from 'node:process';
import { engineDomains } from '../../src/domains/engines.ts';
import { createGraph } from '../../src/engine/collections/graph.ts';
import type { Derived } from '../../src/engine/collections/types.ts';
import { createEngine, type Engine } from '../../src/engine/graph.ts';
import { stageFile } from '../../src/runtime/replica/sources.ts';
import { buildInputs, buildUpdates, dataplaneCount, type Inputs, type Update } from './workload.ts';

const warmUpUpdates = 2_000;
const measuredUpdates = 10_000;

/** Times of an update are microseconds, from staging to the list of changed services and inbounds. */
export interface Figures {
  readonly updateMicros: { readonly p50: number; readonly p99: number };
  /** Everything from nothing, in one commit. */
  readonly fullRecomputeMillis: number;
  /** Heap that the loaded engine takes beyond its inputs. */
  readonly bytesPerDataplane: number;
}

/** What the measuring process prints. */
export interface Measurement {
  readonly spread: Figures;
  readonly oneService: Figures;
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

function load(inputs: Inputs): Engine {
  const engine = createEngine(createGraph(), engineDomains);
  engine.inputs.fleet.set('', '', { bounds: { guards: {}, safeModes: [], webhookRemediator: false }, role: 'leader' });
  engine.inputs.sources.set('', 'main', { order: 0, read: true });
  for (const { path, reading } of inputs.files) stageFile(engine, 'main', path, reading);
  for (const [at, key] of inputs.declared.entries()) {
    inputOf(engine, 'connections').set('', key, { connected: true, since: inputs.connectedAt });
    report(engine, { type: 'report', key, workload: workloadAt(at), isHealthy: true });
  }
  for (const [cluster, objects] of inputs.clusters) {
    engine.inputs.snapshots.set('', cluster, { since: inputs.connectedAt });
    for (const object of objects) engine.inputs.live.set(cluster, object.key, object);
  }
  engine.commit();
  return engine;
}

function workloadAt(at: number): string {
  return `10.20.${at >> 8}.${at & 255}:8080`;
}

function inputOf({ domainInputs }: Engine, name: string) {
  const input = domainInputs.health?.[name];
  if (input === undefined) throw new Error(`the domain has no input ${name}`);
  return input;
}

function report(engine: Engine, { key, workload, isHealthy }: Extract<Update, { type: 'report' }>): void {
  inputOf(engine, 'reports').set('', key, { envoyHealthy: true, envoySince: 0, workloads: { [workload]: isHealthy } });
}

function collectionOf(engine: Engine, name: string): Derived<unknown> {
  const found = engine.derived.find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no collection ${name}`);
  return found;
}

function updateMicros(engine: Engine, updates: readonly Update[]): Figures['updateMicros'] {
  const services = engine.graph.watch(collectionOf(engine, 'services'));
  const inbounds = engine.graph.watch(collectionOf(engine, 'inbounds'));
  const micros = new Float64Array(updates.length);
  updates.forEach((update, at) => {
    const start = process.hrtime.bigint();
    if (update.type === 'report') report(engine, update);
    else engine.inputs.live.set(update.cluster, update.object.key, update.object);
    engine.commit();
    const changed = services.take().length + inbounds.take().length;
    micros[at] = Number(process.hrtime.bigint() - start) / 1e3;
    if (changed !== 2) throw new Error(`an update changed ${changed} services and inbounds instead of one of each`);
  });
  const measured = micros.subarray(warmUpUpdates).sort();
  const at = (share: number): number => measured[Math.floor(share * (measured.length - 1))] as number;
  return { p50: at(0.5), p99: at(0.99) };
}

function measure(inOneService: boolean): Figures {
  const inputs = buildInputs({ inOneService });
  const updates = buildUpdates(warmUpUpdates + measuredUpdates, { inOneService });
  const before = heapUsed();
  const engine = load(inputs);
  const bytesPerDataplane = (heapUsed() - before) / dataplaneCount;
  const found = {
    services: collectionOf(engine, 'services').size(),
    inbounds: collectionOf(engine, 'inbounds').size(),
  };
  if (found.services !== inputs.services || found.inbounds !== dataplaneCount) {
    throw new Error(`the engine has ${found.services} services and ${found.inbounds} inbounds`);
  }
  const micros = updateMicros(engine, updates);
  return { updateMicros: micros, bytesPerDataplane, fullRecomputeMillis: millisOf(() => load(inputs)) };
}

const measurement: Measurement = { spread: measure(false), oneService: measure(true) };
process.stdout.write(`${JSON.stringify(measurement)}\n`);
