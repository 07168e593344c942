import { care } from '../../src/domains/care/engine/care.ts';
import {
  type AnsweredRequest,
  type DeclaredRequest,
  nextAnswer,
} from '../../src/domains/care/engine/operation/requests.ts';
import { lastOperationOf } from '../../src/domains/care/engine/written-operation.ts';
import type { Engine } from '../../src/engine/graph.ts';
import { readObserved } from '../../src/model/fleet/conditions.ts';
import { isJsonObject, type JsonObject, objectOf, objectsOf, textOf } from '../../src/model/text/json.ts';
import { declaredDocument, nothingWritten, writtenBefore } from '../../src/runtime/status/status-documents.ts';
import { createEngineWorld } from './engine-world.ts';
import { clusterYaml, configMapYaml } from './manifests.ts';

/** The key of the Shoot. */
export const SHOOT_KEY = 'garden-web/blue';
/** When the world begins: milliseconds since 1970. */
export const BEGIN = Date.UTC(2026, 0, 1);

/** The manifest of the Shoot. */
export function shootYaml(spec = '{}', annotations = '{}'): string {
  return `apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: blue, namespace: garden-web, annotations: ${annotations}}\nspec: ${spec}\n`;
}

export type ShootWorld = ReturnType<typeof createShootWorld>;

/**
 * The engine with the Shoot `garden-web/blue` and its cluster, on a clock of its own. Time passes as in a server: each passed
 * deadline is staged by itself, and the status is written after each step.
 */
export function createShootWorld(spec = '{}', annotations = '{}') {
  const made = createEngineWorld();
  const { engine } = made;
  let now = BEGIN;
  const history: string[] = [];
  const connect = (cluster: string, connected = true): void => {
    const isHere = { problem: '', warm: true, assumedWarm: false, kindsAsWritten: true };
    engine.inputs.agents.set('', cluster, { ...isHere, connected, since: now });
    engine.inputs.snapshots.set('', cluster, { since: now });
  };
  const register = (cluster: string): void => {
    made.file(`${cluster}.yaml`, clusterYaml(cluster));
    connect(cluster);
  };
  /** Commits and writes until nothing changes. */
  const settle = (): void => {
    for (let rounds = 0; rounds < 10; rounds += 1) {
      engine.commit();
      if (answer(engine)) continue;
      const written = write(engine, now);
      if (written === undefined) return;
      const { type, state, progress } = objectOf(written.lastOperation);
      const text = `${textOf(type)}/${textOf(state)} ${String(progress)}`;
      if (history.at(-1) !== text) history.push(text);
    }
    throw new Error('the status is written without end');
  };
  made.file('shoot.yaml', shootYaml(spec, annotations));
  register('blue');
  return {
    ...made,
    ...{ connect, register, settle, history },
    now: () => now,
    /** Time passes, and each deadline at its moment. */
    wait: (seconds: number): void => {
      const end = now + seconds * 1000;
      for (let due = nextDue(engine, end); due !== undefined; due = nextDue(engine, end)) {
        now = Math.max(now, due.at * 1000);
        engine.inputs.elapsed.set(due.owner, due.key, due.at);
        settle();
      }
      now = end;
      settle();
    },
    /** Declares a ConfigMap in a cluster. */
    declare: (name: string, cluster = 'blue', namespace = 'web', data = ''): void =>
      made.file(`clusters/${cluster}/${namespace}-${name}.yaml`, configMapYaml(name, data, namespace)),
    /** The agent reports a result of a declared object; without a state it reports that it is applied. */
    report: (name: string, news: Partial<Report> = {}, cluster = 'blue', namespace = 'web'): void => {
      const key = `/ConfigMap/${namespace}/${name}`;
      const output = engine.outputs.get(cluster, key);
      if (output?.type !== 'object') throw new Error(`${key} is no output of ${cluster}`);
      const { digest, origins, scope } = output;
      engine.inputs.ledger.set(cluster, key, { digest, origins, scope, phase: 'accepted' });
      const { state = 'applied', reason = '', message = '' } = news;
      const since = state === 'applied' ? {} : { since: now };
      engine.inputs.results.set(cluster, key, { key: key as never, digest, state, reason, message, ...since });
      settle();
    },
    status: (): JsonObject => engine.inputs.observed.get('Shoot', SHOOT_KEY)?.fields ?? {},
    /** `Reconcile/Processing 50` */
    operation: () => history.at(-1),
    errors: () =>
      objectsOf(engine.inputs.observed.get('Shoot', SHOOT_KEY)?.fields.lastErrors).map(({ taskID, codes = null }) => [
        taskID,
        codes,
      ]),
    /** A person asks for an operation by a command. */
    ask: (request: 'reconcile' | 'retry'): void => {
      const answers = engine.domainInputs.care?.answeredRequests;
      answers?.set('', SHOOT_KEY, { ...objectOf(answers.get('', SHOOT_KEY)), request });
      settle();
    },
  };
}

interface Report {
  readonly state: 'applied' | 'failed' | 'conflict' | 'removing';
  readonly reason: string;
  readonly message: string;
}

/** Writes the status and reads it back; undefined: it is written already. */
function write({ statuses, inputs: { observed } }: Engine, now: number): JsonObject | undefined {
  const status = statuses.get('Shoot', SHOOT_KEY);
  if (status === undefined) return undefined;
  const before = observed.get('Shoot', SHOOT_KEY);
  const asFile = before && { status: { ...before.fields, conditions: before.conditions as never } };
  const document = declaredDocument(status, asFile === undefined ? nothingWritten : writtenBefore(asFile, now), now);
  const read = isJsonObject(document.status) ? readObserved(document.status) : undefined;
  if (read === undefined || JSON.stringify(read) === JSON.stringify(before)) return undefined;
  observed.set('Shoot', SHOOT_KEY, read);
  return read.fields;
}

/** Answers requests as a server does. False: none is open. */
function answer({ derived, domainInputs, reported, inputs: { observed } }: Engine): boolean {
  const answers = domainInputs.care?.answeredRequests;
  const declared = derived.find(({ name }) => name === 'requestsOfShoots')?.get('', SHOOT_KEY);
  if (answers === undefined || declared === undefined) return false;
  const last = lastOperationOf(observed.get('Shoot', SHOOT_KEY));
  const begins = reported(care)?.report.operations.get('', SHOOT_KEY)?.begins;
  const next = nextAnswer(declared as DeclaredRequest, answers.get('', SHOOT_KEY) as AnsweredRequest, last, begins);
  if (next !== undefined) answers.set('', SHOOT_KEY, next);
  return next !== undefined;
}

function nextDue({ deadlines, inputs: { elapsed } }: Engine, end: number) {
  const open = [...deadlines.partitions()].flatMap((owner) =>
    [...deadlines.entries(owner)]
      .map(({ key, value: { at } }) => ({ owner, key, at }))
      .filter(({ key, at }) => at * 1000 <= end && (elapsed.get(owner, key) ?? Number.NEGATIVE_INFINITY) < at),
  );
  return open.sort((a, b) => a.at - b.at)[0];
}
