import { cutText, firstNames } from '../../../../model/text/messages.ts';
import type { LastError } from '../written-operation.ts';
import type { TaskList } from './tasks.ts';
import type { OperationType } from './types.ts';

interface Texts {
  readonly start: string;
  readonly done: string;
  readonly flow: string;
}

const OF_RECONCILIATION: Texts = {
  start: 'Reconciliation of Shoot cluster initialized.',
  done: 'Shoot cluster has been successfully reconciled.',
  flow: 'Shoot cluster reconciliation',
};

/** Source: Gardener's Shoot controller. */
const TEXTS: Readonly<Record<OperationType, Texts>> = {
  Create: OF_RECONCILIATION,
  Reconcile: OF_RECONCILIATION,
  Restore: {
    start: 'Restoration of Shoot cluster initialized.',
    done: 'Shoot cluster has been successfully restored.',
    flow: 'Shoot cluster restoration',
  },
  Migrate: {
    start: 'Preparation of Shoot cluster for migration initialized.',
    done: 'Shoot cluster has been successfully prepared for migration.',
    flow: 'Shoot cluster preparation for migration',
  },
  Delete: {
    start: 'Deletion of Shoot cluster in progress.',
    done: 'Shoot cluster has been successfully deleted.',
    flow: 'Shoot cluster deletion',
  },
};

/** A description names at most this many tasks. */
const NAMED_TASKS = 10;
/** Most characters of an error in a description: `lastErrors` has more. */
const MOST_OF_AN_ERROR = 300;

/** The description of an operation that has begun. */
export function startText(type: OperationType): string {
  return TEXTS[type].start;
}

/** While a cluster is created and all is applied. */
export const WAITING_FOR_ANSWER = 'Waiting for the API server to answer';

/** Names of tasks: at most ten, then how many more there are. */
export function namesOf({ count, first }: TaskList): string {
  return firstNames(
    first.map(({ name }) => name),
    NAMED_TASKS,
    count,
  );
}

/** The names of tasks in a description of {@link namesOf}; undefined: it is another text. */
export function namesIn(description: string): readonly string[] | undefined {
  if (!/^(Apply|Remove) /.test(description)) return undefined;
  return description.replace(/ and \d+ more$/, '').split(', ');
}

/** The description of a success. Held and kept objects were no tasks of the operation: they are named. */
export function doneText(type: OperationType, held: TaskList): string {
  const { done } = TEXTS[type];
  return held.count === 0 ? done : `${done} ${HELD} ${namesOf(held)}.`;
}

const HELD = 'Not changed, because they are held or kept:';

/** Whether the description of a success names held objects. */
export function namesHeld(description: string): boolean {
  return description.includes(HELD);
}

/** The description of an operation whose remaining objects wait for a person. */
export function heldText(held: TaskList): string {
  return `Only held and kept objects are left, which a person has to release: ${namesOf(held)}. See "fleetrelay approve --list".`;
}

/** The description of a migration while the Seed that it leaves is still to hold objects. */
export function stayingText({ count, first }: TaskList): string {
  const objects = first.map(({ name }) => name.slice(name.indexOf(' ') + 1));
  const names = firstNames(objects, NAMED_TASKS, count);
  return `Objects are still declared for the Seed that the control plane leaves, take them from there: ${names}`;
}

/** The description of an operation that cannot go on by itself. */
export function errorText(
  type: OperationType,
  errors: readonly LastError[],
  count: number,
  willRetry: boolean,
): string {
  const shown = errors.slice(0, NAMED_TASKS).map(({ description }) => cutText(description, MOST_OF_AN_ERROR));
  const list = firstNames(shown, NAMED_TASKS, count);
  const retry = willRetry ? ' Operation will be retried.' : '';
  return `Flow "${TEXTS[type].flow}" encountered task errors: [${list}]${retry}`;
}
