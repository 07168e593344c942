import type { ObservedStatus } from '../../model/conditions.ts';
import { objectOf, objectsOf, textOf } from '../../model/json.ts';
import { type ObjectKey, objectRefOf } from '../../model/object-key.ts';
import type { Entry, Index } from '../collections/types.ts';
import type { Lookups, Progress } from '../status/progress.ts';

/** The last operation as written last. */
export interface LastOperation {
  readonly type: string;
  readonly state: string;
  readonly progress: number;
  readonly description: string;
  /** RFC 3339. */
  readonly lastUpdateTime: string;
  readonly hasErrors: boolean;
}

/** Reads the last operation of a written status; undefined: there was none. */
export function lastOperationOf(observed: ObservedStatus | undefined): LastOperation | undefined {
  const { type, state, progress, description, lastUpdateTime } = objectOf(observed?.fields.lastOperation);
  if (typeof type !== 'string' || typeof state !== 'string') return undefined;
  return {
    ...{ type, state, description: textOf(description), lastUpdateTime: textOf(lastUpdateTime) },
    progress: typeof progress === 'number' ? progress : 0,
    hasErrors: objectsOf(observed?.fields.lastErrors).length > 0,
  };
}

/** An operation without its time, which only the writer knows. */
export type Operation = Pick<LastOperation, 'type' | 'state' | 'progress' | 'description'>;

/** A new Shoot that a person has to bind first. */
export function pendingOperation(description: string): Operation {
  return { type: 'Create', state: 'Pending', progress: 0, description };
}

/** A description names at most this many tasks. */
const NAMED_TASKS = 10;

/** The outputs of a Shoot, by what is left to do; held removals and kept objects are no tasks. */
export interface Tasks {
  readonly applied: number;
  readonly open: number;
  /** "Apply Deployment/web/shop" */
  readonly named: readonly string[];
}

/** The operation that the outputs are in: Create until all are applied and the API server has answered once, then Reconcile. */
export function operationOf(
  last: LastOperation | undefined,
  { applied, open, named }: Tasks,
  answers: boolean,
): Operation {
  const isNew = last === undefined || (last.type === 'Create' && last.state !== 'Succeeded');
  const isDone = open === 0 && (!isNew || answers);
  if (isDone) {
    const type = isNew ? 'Create' : last.type;
    const description = 'Shoot cluster has been successfully reconciled.';
    return { type, state: 'Succeeded', progress: 100, description };
  }
  const type = isNew ? 'Create' : 'Reconcile';
  // The answer of the API server is the last task.
  const progress = open === 0 ? 99 : Math.floor((100 * applied) / (applied + open));
  const more = open > named.length ? ` and ${open - named.length} more` : '';
  const description = open === 0 ? 'Waiting for the API server to answer' : `${named.join(', ')}${more}`;
  return { type, state: 'Processing', progress, description };
}

/** Groups progress by `CLUSTER/applied` and `CLUSTER/open`, and the same of each namespace: `CLUSTER/NAMESPACE/open`. */
export function taskGroups({ partition: cluster, key, value: { state } }: Entry<Progress>): readonly string[] {
  if (state === 'held' || state === 'kept') return [];
  const group = state === 'applied' ? 'applied' : 'open';
  const { namespace } = objectRefOf(key as ObjectKey);
  return [taskGroup(group, cluster), ...(namespace === '' ? [] : [taskGroup(group, cluster, namespace)])];
}

function taskGroup(group: 'applied' | 'open', ...place: readonly string[]): string {
  return [...place, group].join('/');
}

/** The tasks in these places: a cluster, or a cluster and a namespace. */
export function tasksIn(look: Lookups, index: Index<Progress>, places: readonly (readonly string[])[]): Tasks {
  const count = (group: 'applied' | 'open'): number =>
    places.reduce((sum, place) => sum + look.count(index, taskGroup(group, ...place)), 0);
  const first = places.flatMap((place) => look.first(index, taskGroup('open', ...place), NAMED_TASKS));
  return { applied: count('applied'), open: count('open'), named: first.slice(0, NAMED_TASKS).map(taskName) };
}

function taskName({ key, value: { state } }: Entry<Progress>): string {
  const { kind, namespace, name } = objectRefOf(key as ObjectKey);
  return `${state === 'removing' ? 'Remove' : 'Apply'} ${[kind, namespace, name].filter((part) => part !== '').join('/')}`;
}
