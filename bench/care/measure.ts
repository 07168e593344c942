/** Measures the care of Shoots in a process that was started with --expose-gc, and prints one JSON object. */
import process from 'node:process';
import { SHOOT_CONDITIONS } from '../../src/domains/care/model/shoot.ts';
import { engineDomains } from '../../src/domains/engines.ts';
import { createGraph } from '../../src/engine/collections/graph.ts';
import { createEngine, type Engine } from '../../src/engine/graph.ts';
import { declareInputs, type EngineInputs } from '../../src/engine/inputs.ts';
import { stageFile } from '../../src/runtime/replica/sources.ts';
import { decodeFile } from '../../test/support/decode-file.ts';
import {
  buildShoots,
  GOOD_SINCE,
  node,
  nodeCount,
  type ShootInputs,
  seedFiles,
  shootCount,
  wideNodeCount,
} from './workload.ts';

const warmUpFlips = 1_000;
const measuredFlips = 4_000;

/** Microseconds of one live change, from staging to the new status. */
export interface Flips {
  readonly p50: number;
  readonly p99: number;
}

/** What the measuring process prints. */
export interface Measurement {
  readonly flipMicros: Flips;
  /** The same in a Shoot with 5,000 Nodes. */
  readonly wideMicros: Flips;
  /** All Shoots have a failure, and the threshold of each passes in one commit. */
  readonly thresholdMillis: number;
  /** Every condition of every Shoot is judged again, in one commit. */
  readonly syncMillis: number;
  /** Heap that the loaded engine takes beyond a graph that has its inputs alone. */
  readonly bytesPerShoot: number;
  /** Statuses that a commit with nothing new changed. */
  readonly unchangedWrites: number;
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

/** The inputs in a graph of their own, with nothing that is derived from them. */
function inputsAlone(shoots: readonly ShootInputs[]): EngineInputs {
  const graph = createGraph();
  const inputs = declareInputs(graph);
  stage({ inputs }, shoots);
  graph.commit();
  return inputs;
}

function load(shoots: readonly ShootInputs[]): Engine {
  const engine = createEngine(createGraph(), engineDomains);
  const { inputs } = engine;
  inputs.fleet.set('', '', { bounds: { guards: {}, safeModes: [], webhookRemediator: false }, role: 'leader' });
  inputs.sources.set('', 'main', { order: 0, read: true });
  for (const { path, reading } of seedFiles()) stageFile(engine, 'main', path, reading);
  add(engine, shoots);
  return engine;
}

/** Adds Shoots with all that their agents report, and writes their first good status. */
function add(engine: Engine, shoots: readonly ShootInputs[]): void {
  stage(engine, shoots);
  engine.commit();
  for (const { key } of shoots) write(engine, key);
  engine.commit();
}

function stage(engine: Pick<Engine, 'inputs'>, shoots: readonly ShootInputs[]): void {
  const { inputs } = engine;
  for (const { path, reading } of shoots.flatMap(({ files }) => files)) stageFile(engine, 'main', path, reading);
  for (const { cluster, seed, inCluster, inSeed } of shoots) {
    for (const name of [cluster, seed]) {
      const agent = { connected: true, problem: '', warm: true, assumedWarm: false, kindsAsWritten: false };
      inputs.agents.set('', name, { ...agent, since: GOOD_SINCE });
      inputs.snapshots.set('', name, { since: GOOD_SINCE });
    }
    for (const object of inCluster) inputs.live.set(cluster, object.key, object);
    for (const object of inSeed) inputs.live.set(seed, object.key, object);
  }
}

/** Takes the status of a Shoot as written, as the status sink does. */
function write(engine: Engine, key: string, at = GOOD_SINCE): void {
  const status = engine.statuses.get('Shoot', key);
  if (status === undefined) throw new Error(`there is no status of ${key}`);
  const time = new Date(at).toISOString();
  const conditions = status.conditions.map((each) => ({ ...each, lastTransitionTime: time, lastUpdateTime: time }));
  const { lastOperation, ...fields } = { ...status.fields, ...status.timedFields } as Record<string, unknown>;
  const operation = { ...(lastOperation as object), lastUpdateTime: time };
  engine.inputs.observed.set('Shoot', key, { conditions, fields: { ...fields, lastOperation: operation } } as never);
}

function flip(engine: Engine, shoots: readonly ShootInputs[], nodes: number): Flips {
  const statuses = engine.graph.watch(engine.statuses);
  const micros = new Float64Array(warmUpFlips + measuredFlips);
  let state = 12345;
  let down: { readonly cluster: string; readonly at: number } | undefined;
  for (let index = 0; index < micros.length; index += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const shoot = shoots[state % shoots.length] as ShootInputs;
    // Every second change makes the Node ready again that the one before has made unready.
    const change = down ?? { cluster: shoot.cluster, at: (state >>> 8) % nodes };
    const object = node(change.at, down !== undefined);
    down = down === undefined ? change : undefined;
    const start = process.hrtime.bigint();
    engine.inputs.live.set(change.cluster, object.key, object);
    engine.commit();
    const changed = statuses.take().length;
    micros[index] = Number(process.hrtime.bigint() - start) / 1e3;
    if (changed !== 1) throw new Error(`a change of one Node changed ${changed} statuses`);
  }
  const measured = micros.subarray(warmUpFlips).sort();
  const at = (share: number): number => measured[Math.floor(share * (measured.length - 1))] as number;
  return { p50: at(0.5), p99: at(0.99) };
}

function thresholds(engine: Engine, shoots: readonly ShootInputs[]): number {
  const object = node(0, false);
  for (const { cluster } of shoots) engine.inputs.live.set(cluster, object.key, object);
  engine.commit();
  for (const { key } of shoots) write(engine, key);
  engine.commit();
  const due = shoots.map(({ key }) => `EveryNodeReady/${key}`);
  const count = (status: string): number =>
    shoots.filter(({ key }) => conditionOf(engine, key, 'EveryNodeReady') === status).length;
  if (count('Progressing') !== shoots.length) throw new Error(`${count('Progressing')} Shoots are Progressing`);
  const millis = millisOf(() => {
    for (const key of due) {
      engine.inputs.elapsed.set('care', key, engine.deadlines.get('care', key)?.at ?? Number.MAX_SAFE_INTEGER);
    }
    engine.commit();
  });
  if (count('False') !== shoots.length) throw new Error(`the thresholds of ${count('False')} Shoots have passed`);
  return millis;
}

function conditionOf(engine: Engine, key: string, type: string): string | undefined {
  return engine.statuses.get('Shoot', key)?.conditions.find((each) => each.type === type)?.status;
}

/** A changed setting of the policy is read by every check. */
function sync(engine: Engine): number {
  const staged = (monitorPeriod: string): void => {
    const metadata = { name: 'fleet' };
    const spec = { care: { monitorPeriod } };
    const text = JSON.stringify({ apiVersion: 'fleetrelay.dev/v1alpha1', kind: 'FleetPolicy', metadata, spec });
    stageFile(engine, 'main', 'policy.yaml', decodeFile('policy.yaml', new TextEncoder().encode(text), text).reading);
  };
  staged('50s');
  engine.commit();
  staged('51s');
  let computed = 0;
  const millis = millisOf(() => {
    computed = engine.commit().computed;
  });
  if (computed < shootCount * SHOOT_CONDITIONS.length) throw new Error(`only ${computed} entries were computed again`);
  return millis;
}

function unchangedWrites(engine: Engine, shoots: readonly ShootInputs[]): number {
  const statuses = engine.graph.watch(engine.statuses);
  for (const { cluster, seed, inCluster, inSeed } of shoots) {
    for (const object of inCluster) engine.inputs.live.set(cluster, object.key, { ...object });
    for (const object of inSeed) engine.inputs.live.set(seed, object.key, { ...object });
  }
  engine.commit();
  return statuses.take().length;
}

const shoots = buildShoots();
const spread = shoots.slice(0, shootCount);
const wide = shoots.slice(shootCount);
const before = heapUsed();
const inputs = inputsAlone(spread);
const withInputs = heapUsed();
const engine = load(spread);
const bytesOfInputs = withInputs - before;
const bytesPerShoot = (heapUsed() - withInputs - bytesOfInputs) / shootCount;
if (inputs.live.size() !== engine.inputs.live.size()) throw new Error('the inputs are not the same');
const bad = SHOOT_CONDITIONS.filter((type) => spread.some(({ key }) => conditionOf(engine, key, type) !== 'True'));
if (bad.length > 0) throw new Error(`at the beginning ${bad.join(', ')} is not True`);
function wideMicros(): Flips {
  add(engine, wide);
  return flip(engine, wide, wideNodeCount);
}

const measurement: Measurement = {
  unchangedWrites: unchangedWrites(engine, spread),
  flipMicros: flip(engine, spread, nodeCount),
  wideMicros: wideMicros(),
  syncMillis: sync(engine),
  thresholdMillis: thresholds(engine, spread),
  bytesPerShoot,
};
process.stdout.write(`${JSON.stringify(measurement)}\n`);
