import { load } from 'js-yaml';
import { printYaml } from '../../src/manifest/print-yaml.ts';
import type { KindState } from '../../src/model/agent/agent.ts';
import { displayDiagnostic } from '../../src/model/fleet/diagnostic.ts';
import { displayObjectName, parseExplainQuery } from '../../src/model/fleet/explain-query.ts';
import type { SequencedDelta } from '../../src/model/fleet/output.ts';
import type { SourceAllow } from '../../src/model/fleet/source-rights.ts';
import type { KindScope } from '../../src/model/objects/kinds.ts';
import type { ObjectHealth } from '../../src/model/objects/object-health/health.ts';
import { displayKey } from '../../src/model/objects/object-key.ts';
import { type JsonObject, type JsonValue, textOf } from '../../src/model/text/json.ts';
import { createFleetWorld, type FleetWorld } from '../support/fleet-world.ts';
import { restartWithout } from '../support/mirrors.ts';
import { restart } from '../support/started-world.ts';

/** A golden case: what happens to a fleet, step by step. */
interface Case {
  readonly about: string;
  /** Names, in their order; absent: one. */
  readonly sources?: readonly string[];
  /** What they may do, by name. */
  readonly allow?: Allow;
  readonly steps: readonly Step[];
}

type Allow = Readonly<Record<string, SourceAllow>>;

/** One step; everything in it happens before the world comes to rest. */
interface Step {
  readonly say: string;
  /** Files of the revision that enters: new text, or null. */
  readonly push?: Readonly<Record<string, string | null>>;
  readonly connect?: readonly string[];
  readonly disconnect?: readonly string[];
  /** How an agent says that applied objects are, by cluster and object. */
  readonly health?: Readonly<Record<string, Readonly<Record<string, ObjectHealth>>>>;
  /**
   * The kinds that a cluster says it has, with their scopes (empty: the kind is unknown now, and its scope too;
   * `complete`: namespaced, and all its objects are known).
   */
  readonly kinds?: Readonly<Record<string, Readonly<Record<string, KindScope | 'complete' | ''>>>>;
  /** What has come, or changed, in clusters; after the kinds. */
  readonly live?: Readonly<Record<string, readonly JsonObject[]>>;
  /** What is gone from clusters. */
  readonly gone?: Readonly<Record<string, readonly JsonObject[]>>;
  /** First of all: the server is started again with these rights of the sources; every agent connects again. */
  readonly restartWithAllow?: Allow;
  /** First of all: the server of one source is killed and started again, without the input snapshots of these clusters. */
  readonly restartWithout?: readonly string[];
  /** Objects that an agent cannot apply from now on, by cluster. */
  readonly failing?: Readonly<Record<string, readonly string[]>>;
  /** Approves what is held. */
  readonly approve?: boolean;
  /** A revision of another source than the first, by its name. */
  readonly pushTo?: Readonly<Record<string, Readonly<Record<string, string | null>>>>;
  /** Seconds that pass. */
  readonly wait?: number;
  /** `CLUSTER OBJECT` to explain afterwards. */
  readonly explain?: readonly string[];
  /** Views to show afterwards. */
  readonly get?: readonly string[];
  /** Status files to show afterwards. */
  readonly status?: readonly string[];
}

/** Plays a case and tells, as YAML, what came of each step. */
export async function runCase(text: string): Promise<string> {
  const { about, sources, allow, steps } = load(text) as Case;
  let world = await createFleetWorld({ ...(sources && { sources }), ...(allow && { allow }) });
  const seen = new Map<string, number>();
  const told: JsonValue[] = [];
  const files = new Map<string, string | null>();
  const further = new Map<string, Map<string, string | null>>();
  for (const step of steps) {
    if (step.restartWithout !== undefined) {
      world = await restartWithout(world, step.restartWithout);
      world.source.push(Object.fromEntries(files));
    }
    if (step.restartWithAllow !== undefined) {
      const agents = [...world.agents.known.values()].filter((agent) => agent.isConnected());
      world = await restart(world, sources, step.restartWithAllow);
      world.source.push(Object.fromEntries(files));
      for (const [name, contents] of further) world.sourceNamed(name).push(Object.fromEntries(contents));
      for (const agent of agents) agent.connect();
    }
    for (const [path, text] of Object.entries(step.push ?? {})) files.set(path, text);
    for (const [name, changes] of Object.entries(step.pushTo ?? {})) {
      further.set(name, new Map([...(further.get(name) ?? []), ...Object.entries(changes)]));
    }
    await play(world, step);
    told.push(await tell(world, step, seen));
  }
  return printYaml({ about, steps: told });
}

async function play(world: FleetWorld, step: Step): Promise<void> {
  for (const [cluster, objects] of Object.entries(step.failing ?? {})) {
    for (const object of objects) world.agent(cluster).failing.add(object);
  }
  for (const cluster of step.disconnect ?? []) world.agent(cluster).disconnect();
  if (step.push !== undefined) world.source.push(step.push);
  for (const [source, changes] of Object.entries(step.pushTo ?? {})) world.sourceNamed(source).push(changes);
  for (const cluster of step.connect ?? []) {
    const admission = world.agent(cluster).connect();
    if (admission.type !== 'admitted') throw new Error(`${cluster} was not admitted: ${admission.message}`);
  }
  for (const [cluster, objects] of Object.entries(step.health ?? {})) {
    for (const [object, health] of Object.entries(objects)) world.agent(cluster).finds(object, health);
  }
  for (const [cluster, kinds] of Object.entries(step.kinds ?? {})) {
    world.agent(cluster).lists(Object.entries(kinds).map(([kind, scope]) => kindState(kind, scope)));
  }
  for (const [cluster, upserts] of Object.entries(step.live ?? {})) world.agent(cluster).discovers({ upserts });
  for (const [cluster, removals] of Object.entries(step.gone ?? {})) world.agent(cluster).discovers({ removals });
  if (step.approve === true) {
    await world.settle();
    await world.server.api.approve(world.server.api.removals()[0]?.digest ?? '', 'golden');
  }
  await world.clock.advance((step.wait ?? 0) * 1000);
  await world.settle();
}

function kindState(kind: string, scope: KindScope | 'complete' | ''): KindState {
  if (scope === '') return { kind, state: 'unknown', message: '' };
  if (scope === 'complete') return { kind, state: 'complete', message: '', scope: 'Namespaced' };
  return { kind, state: 'offered', message: '', scope };
}

async function tell(world: FleetWorld, step: Step, seen: Map<string, number>): Promise<JsonValue> {
  const { api } = world.server;
  const { summary, clusters, diagnostics, safeMode } = api.status();
  const deltas = clusters.flatMap(({ name }) => {
    const all = world.agent(name).deltas;
    const fresh = all.slice(seen.get(name) ?? 0);
    seen.set(name, all.length);
    return fresh.map((delta) => ({ cluster: name, ...deltaOf(delta) }));
  });
  const held = api.removals().map(({ message, removals }) => ({
    message,
    removals: removals.map(({ cluster, object }) => `${cluster} ${object}`),
  }));
  const why = await Promise.all((step.explain ?? []).map((each) => explain(world, each)));
  return {
    say: step.say,
    deltas,
    ...(held.length === 0 ? {} : { held }),
    ...(safeMode === null ? {} : { safeMode: { ...safeMode } }),
    ...(diagnostics.length === 0 ? {} : { diagnostics: diagnostics.map(displayDiagnostic) }),
    summary,
    ...(why.length === 0 ? {} : { why }),
    ...(step.get === undefined ? {} : { get: Object.fromEntries(step.get.map((name) => [name, rowsOf(world, name)])) }),
    ...(step.status === undefined
      ? {}
      : {
          status: Object.fromEntries(
            step.status.map((path) => [path, load(world.statusFiles.get(path) ?? 'null') as JsonValue]),
          ),
        }),
  };
}

function rowsOf(world: FleetWorld, name: string): JsonValue {
  const answer = world.server.api.view(name, {});
  if (!answer.ok) throw new Error(answer.message);
  return answer.value;
}

function deltaOf({ upserts, touches, removals, keeps }: SequencedDelta): { readonly [key: string]: JsonValue } {
  return {
    ...list(
      'upserts',
      upserts.map(({ key, origins }) => `${displayKey(key)} from ${origins.map(({ path }) => path).join(', ')}`),
    ),
    ...list(
      'touches',
      touches.map(({ key, origins }) => `${displayKey(key)} now from ${origins.map(({ path }) => path).join(', ')}`),
    ),
    ...list('removals', removals.map(displayKey)),
    ...list(
      'keeps',
      keeps.map(({ key, reason }) => `${displayKey(key)}: ${reason}`),
    ),
  };
}

function list(name: string, items: readonly string[]): { readonly [key: string]: JsonValue } {
  return items.length === 0 ? {} : { [name]: items };
}

async function explain(world: FleetWorld, text: string): Promise<JsonValue> {
  const question = parseExplainQuery(text.split(' '));
  if (!question.ok) throw new Error(`${text}: ${question.problem}`);
  const { object, ...rest } = question.value;
  const answer = await world.server.api.explain({ ...rest, object: displayObjectName(object) });
  if (!answer.ok) return { of: text, answer: answer.message };
  const { message, because } = answer.value;
  return {
    of: text,
    state: 'entity' in answer.value ? textOf(answer.value.entity.status) : answer.value.state,
    ...(message === '' ? {} : { message }),
    because: because.map(
      ({ kind, name, at, note, depth = 0 }) =>
        '  '.repeat(depth) + [kind, name, at, note].filter((part) => part !== '').join(' | '),
    ),
  };
}
