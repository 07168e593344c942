import { HELD_BY_FINALIZERS } from '../../../../model/agent/agent.ts';
import { formatGoDuration } from '../../../../model/text/go-duration.ts';
import { compareText } from '../../../../model/text/json.ts';
import { cutText } from '../../../../model/text/messages.ts';
import { codeOfReason, isRetryable } from '../../model/error-codes.ts';
import type { LastError } from '../written-operation.ts';
import type { Task } from './tasks.ts';

/** Most entries of `lastErrors`, and most characters of the description of each. */
const MOST_ENTRIES = 50;
const MOST_CHARACTERS = 2_048;

/** What the error of a task depends on besides the task. */
export interface ErrorContext {
  readonly taskTimeoutMillis: number;
  /** Whether the finalizers of the object have held the removal for long. */
  readonly isHeldForLong: (task: Task) => boolean;
  /** Whether the named webhook of the cluster could keep it from waking up. */
  readonly isProblematicWebhook: (cluster: string, webhook: string) => boolean;
}

/** The entry of a task that is an error. */
export function errorOfTask(task: Task, context: ErrorContext): LastError {
  const { state, reason, message } = task.progress;
  const { taskTimeoutMillis } = context;
  const said = [reason, message].filter((part) => part !== '').join(': ');
  const isStuck = state === 'pending' || said === '';
  const what = task.progress.isRemoval === true ? 'removed' : 'applied';
  const why = isStuck ? `it was not ${what} within ${formatGoDuration(taskTimeoutMillis)}` : said;
  return errorEntry(task.name, why, codesOfTask(task, context));
}

/** An entry of bounded length. */
export function errorEntry(taskID: string, why: string, codes: readonly string[]): LastError {
  const description = cutText(`task "${taskID}" failed: ${why}`, MOST_CHARACTERS);
  return { description, taskID, codes: [...new Set(codes)].sort(compareText) };
}

function codesOfTask(task: Task, { isHeldForLong, isProblematicWebhook }: ErrorContext): readonly string[] {
  const { reason, message } = task.progress;
  if (reason === 'WebhookUnavailable') {
    const webhook = /failed calling webhook "([^"]{1,253})"/.exec(message)?.[1] ?? '';
    return isProblematicWebhook(task.cluster, webhook) ? ['ERR_PROBLEMATIC_WEBHOOK'] : [];
  }
  if (message.startsWith(HELD_BY_FINALIZERS)) return isHeldForLong(task) ? ['ERR_CLEANUP_CLUSTER_RESOURCES'] : [];
  const code = codeOfReason(reason);
  return code === undefined ? [] : [code];
}

/** At most 50 entries, in the order of their tasks. The last one says how many are left out. */
export function boundedErrors(entries: readonly LastError[], count: number): readonly LastError[] {
  const sorted = entries.toSorted((a, b) => compareText(a.taskID ?? '', b.taskID ?? ''));
  if (count <= MOST_ENTRIES && sorted.length <= MOST_ENTRIES) return sorted;
  const shown = sorted.slice(0, MOST_ENTRIES - 1);
  return [...shown, { description: `${Math.max(count, sorted.length) - shown.length} more tasks failed`, codes: [] }];
}

/** Whether `lastErrors` names every task that is an error. */
export function isComplete(errors: readonly LastError[]): boolean {
  return errors.every(({ taskID }) => taskID !== undefined);
}

/** Whether one of the errors ends the retries of an operation. */
export function stopsRetries(errors: readonly LastError[]): boolean {
  return errors.some(({ codes }) => !isRetryable(codes));
}
