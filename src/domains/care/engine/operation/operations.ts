import type { Collection, Derived, Graph, Index, Reader } from '../../../../engine/collections/types.ts';
import type { AfterProgress } from '../../../../engine/domain.ts';
import type { EngineInputs } from '../../../../engine/inputs.ts';
import { problemOfWebhook } from '../../../../model/objects/webhooks/problematic.ts';
import { type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../../../model/text/json.ts';
import { parseRfc3339 } from '../../../../model/text/time.ts';
import { given } from '../../../../model/values/given.ts';
import type { BoundShoot } from '../binding.ts';
import { WEBHOOK_KINDS } from '../constraints/webhooks.ts';
import { careSettingsOf } from '../settings.ts';
import type { ConditionFinding } from '../thresholds.ts';
import { type ClusterReads, obstacleOf } from '../visibility.ts';
import { type LastError, type LastOperation, lastErrorsOf, lastOperationOf } from '../written-operation.ts';
import { isHeldForLong, isLate, passedMoments } from './deadlines.ts';
import { errorOfTask } from './errors.ts';
import { extensionErrorsOf } from './extension-errors.ts';
import { nextOperation, type Outcome, type Situation, type Tasks } from './machine.ts';
import { type AnsweredRequest, type DeclaredRequest, isRequested } from './requests.ts';
import {
  deriveTaskIndexes,
  joinLists,
  NO_TASKS,
  type Place,
  readTasks,
  secondOf,
  type Task,
  type TaskIndexes,
} from './tasks.ts';
import { operationType } from './types.ts';

/** The operation of a Shoot as it is to be written. */
export interface ShootOperation extends Outcome {
  /** Of the status; absent: no Seed runs the control plane. */
  readonly seedName?: string;
}

/** What operations follow from besides progress. */
export interface OperationReads
  extends ClusterReads,
    Pick<EngineInputs, 'observed' | 'elapsed' | 'results' | 'live' | 'fleet' | 'suspended'> {
  readonly bindings: Derived<BoundShoot>;
  /** Those that no source declares any more. */
  readonly gone: Derived<BoundShoot>;
  readonly settings: Collection<JsonValue>;
  /** `status.hibernated`, by Shoot. */
  readonly hibernated: Derived<boolean>;
  readonly apiServer: Derived<ConditionFinding>;
  readonly extensionErrors: Index<LastError>;
  readonly declaredRequests: Derived<DeclaredRequest>;
  /** By Shoot, in the empty partition. */
  readonly answeredRequests: Collection<AnsweredRequest>;
}

interface AllReads extends OperationReads {
  readonly tasks: TaskIndexes;
  /** Webhooks that could keep their cluster from waking up, by cluster and name. */
  readonly webhooks: Index<unknown>;
}

/** Derives the last operation and the last errors of each Shoot that is cared for. Partition empty, key the Shoot's. */
export function deriveOperations(
  graph: Graph,
  { progress }: AfterProgress,
  parts: OperationReads,
): Derived<ShootOperation> {
  const tasks = deriveTaskIndexes(graph, progress, deriveTaskClusters(graph, parts));
  const webhooks = graph.index('problematicWebhooksByName', parts.live, ({ partition: cluster, key, value }) =>
    WEBHOOK_KINDS.some((kind) => key.startsWith(`${kind}/`))
      ? objectsOf(value.value.webhooks)
          .filter((webhook) => problemOfWebhook(webhook) !== undefined)
          .map(({ name }) => `${cluster}/${textOf(name)}`)
      : [],
  );
  const reads: AllReads = { ...parts, tasks, webhooks };
  const { clusters, agents, snapshots, observed, elapsed, results, settings, hibernated, apiServer } = parts;
  const states = [clusters, agents, snapshots, observed, elapsed, results, settings, hibernated, apiServer, webhooks];
  const requests = [parts.extensionErrors, parts.declaredRequests, parts.answeredRequests, parts.suspended];
  return graph.derive<BoundShoot, ShootOperation>({
    name: 'operationsOfShoots',
    from: [parts.bindings, parts.gone],
    reads: [...states, ...requests, parts.fleet, tasks.byPlace, tasks.failing, tasks.seconds],
    seesAll: true,
    compute: ({ key, value: shoot }, read, emit) => {
      if (!shoot.isIgnored) emit('', key, operationOf(read, key, shoot, reads));
    },
  });
}

/** Derives the clusters that can have tasks of Shoots: {@link placesOf} names no other. Partition empty, key the cluster. */
function deriveTaskClusters(graph: Graph, { bindings, gone, observed }: OperationReads): Collection<unknown> {
  return graph.gather<BoundShoot, true>({
    name: 'clustersOfTasks',
    from: [bindings, gone],
    reads: [observed],
    seesAll: true,
    compute: ({ key, value: { cluster, seed } }, read, emit) => {
      const before = textOf(read.get(observed, 'Shoot', key)?.fields.seedName);
      for (const name of new Set([cluster, seed ?? cluster, before])) if (name !== '') emit('', name, true);
    },
  });
}

function operationOf(read: Reader, key: string, shoot: BoundShoot, reads: AllReads): ShootOperation {
  const written = read.get(reads.observed, 'Shoot', key);
  const last = lastOperationOf(written);
  const errors = lastErrorsOf(written);
  const fields: JsonObject = written?.fields ?? {};
  const { seed, isDeleted } = shoot;
  const before = textOf(fields.seedName);
  const type = operationType({ isDeleted, seed }, { last, seed: before });
  const places = placesOf(shoot, type === 'Migrate' ? before : undefined);
  const passed = passedMoments(read, key, reads);
  const { tasks, newestSecond } = tasksOf(
    read,
    places,
    { hadTime: passed.attempt, isMigration: type === 'Migrate' },
    reads,
  );
  const declared = read.get(reads.declaredRequests, '', key);
  const situation: Situation = {
    last,
    errors,
    type,
    tasks,
    passed,
    cycleStart: textOf(fields.retryCycleStartTime),
    obstacle: operationObstacle(read, shoot, fields, last, reads),
    isAsleep: shoot.wantsHibernation && read.get(reads.hibernated, '', key) === true,
    suspension: places.flatMap(([cluster]) => read.get(reads.suspended, '', cluster) ?? [])[0],
    isRequested:
      (declared !== undefined && isRequested(declared, read.get(reads.answeredRequests, '', key), last)) ||
      (last?.state === 'Failed' && isOfOtherVersion(read, fields, reads)),
    answers: read.get(reads.apiServer, 'APIServerAvailable', key)?.outcome === 'good',
    hasNewAttempt:
      last?.state === 'Failed' && hasNewAttempt(read, last.lastUpdateTime, newestSecond, tasks, errors, reads),
    errorOf: (task) => errorOfTask(task, errorContext(read, reads)),
    foreign: extensionErrorsOf(read, reads.extensionErrors, seed, shoot.controlPlaneNamespace),
  };
  const seedName = type === 'Migrate' || (type === 'Delete' && before !== '') ? before : seed;
  return { ...nextOperation(situation), ...given({ seedName }) };
}

/** `leaves`: the Seed that the control plane leaves; then only what is there counts. */
function placesOf({ cluster, seed, controlPlaneNamespace }: BoundShoot, leaves: string | undefined): readonly Place[] {
  if (leaves !== undefined) return [[leaves, controlPlaneNamespace]];
  return seed === undefined || seed === cluster ? [[cluster]] : [[cluster], [seed, controlPlaneNamespace]];
}

function operationObstacle(
  read: Reader,
  shoot: BoundShoot,
  { clusterIdentity }: JsonObject,
  last: LastOperation | undefined,
  reads: OperationReads,
): Situation['obstacle'] {
  const { cluster, seed = cluster } = shoot;
  const message = obstacleOf(read, shoot, reads);
  if (message !== undefined) {
    return { message, isGone: [cluster, seed].some((name) => read.get(reads.clusters, '', name) === undefined) };
  }
  const id = read.get(reads.agents, '', cluster)?.id;
  const isReplaced = clusterIdentity !== undefined && id !== undefined && id !== clusterIdentity;
  // The status names the new cluster from now on: there the next operation begins.
  return isReplaced && last !== undefined
    ? { message: `cluster ${cluster} is another one now`, isGone: true }
    : undefined;
}

/** An operation that another version of this program has given up is tried again. */
function isOfOtherVersion(read: Reader, { gardener }: JsonObject, { fleet }: OperationReads): boolean {
  const { version } = objectOf(gardener);
  const now = read.get(fleet, '', '')?.version;
  return version !== undefined && now !== undefined && now !== version;
}

/** `hadTime`: the task timeout has passed since the operation began, or was tried again. */
function tasksOf(
  read: Reader,
  places: readonly Place[],
  { hadTime, isMigration }: { readonly hadTime: boolean; readonly isMigration: boolean },
  reads: AllReads,
): { readonly tasks: Tasks; readonly newestSecond: number } {
  const { failing: all, present, ...found } = readTasks(read, reads.tasks, places);
  const staying = isMigration ? present() : NO_TASKS;
  const isWrong = ({ cluster, second }: (typeof all)[number]): boolean =>
    hadTime && isLate(read, cluster, second, reads);
  const late = joinLists(all.filter((each) => isWrong(each)).map(({ tasks }) => tasks));
  const failing = joinLists(all.filter((each) => !isWrong(each)).map(({ tasks }) => tasks));
  return { tasks: { ...found, staying, late, failing }, newestSecond: Math.max(0, ...all.map(({ second }) => second)) };
}

/** Whether a task of a Failed operation has other content since, or has begun to fail anew. */
function hasNewAttempt(
  read: Reader,
  failedAt: string,
  newestSecond: number,
  { named }: Tasks,
  errors: readonly LastError[],
  { results }: AllReads,
): boolean {
  // A result in the second of the writing may be older than the writing.
  if (newestSecond > (parseRfc3339(failedAt) ?? 0) / 1000 + 1) return true;
  return errors.some(({ taskID = '' }) => {
    const task = named(taskID);
    if (task === undefined || task.progress.since !== undefined) return false;
    const digest = read.get(results, task.cluster, task.key)?.digest;
    return digest !== undefined && digest !== task.progress.digest;
  });
}

function errorContext(read: Reader, reads: AllReads): Parameters<typeof errorOfTask>[1] {
  const { taskTimeoutMillis } = careSettingsOf(read, reads.settings);
  return {
    taskTimeoutMillis,
    isHeldForLong: ({ cluster, progress: { since } }: Task) =>
      since !== undefined && isHeldForLong(read, cluster, secondOf(since), reads),
    isProblematicWebhook: (cluster, webhook) => read.count(reads.webhooks, `${cluster}/${webhook}`) > 0,
  };
}
