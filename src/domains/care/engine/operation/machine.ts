import { given } from '../../../../model/values/given.ts';
import type { LastError, LastOperation, WrittenError } from '../written-operation.ts';
import { boundedErrors, isComplete, stopsRetries } from './errors.ts';
import { joinLists, NO_TASKS, type Task, type TaskList } from './tasks.ts';
import {
  doneText,
  errorText,
  heldText,
  namesHeld,
  namesIn,
  namesOf,
  startText,
  stayingText,
  WAITING_FOR_ANSWER,
} from './texts.ts';
import { isLeaving, type Operation, type OperationRequest, type OperationType, readType } from './types.ts';

/** The outputs of a Shoot by what is left to do. */
export interface Tasks {
  /** How many objects are applied. */
  readonly applied: number;
  /** Held removals and kept objects: no tasks. */
  readonly held: TaskList;
  /** Objects that are still declared for the Seed that the control plane leaves. */
  readonly staying: TaskList;
  /** Without news from the agent: not sent, not answered, or out of reach. */
  readonly waiting: TaskList;
  /** With bad news, and for less than the task timeout. */
  readonly failing: TaskList;
  /** With bad news for the whole task timeout. */
  readonly late: TaskList;
  /** The open task of this name. */
  readonly named: (name: string) => Task | undefined;
}

/** All that the next operation follows from. */
export interface Situation {
  readonly last: LastOperation | undefined;
  /** `lastErrors` as written last. */
  readonly errors: readonly WrittenError[];
  /** `retryCycleStartTime` as written last; may be empty. */
  readonly cycleStart: string;
  readonly type: OperationType;
  /** Why nothing can be done, for people. `isGone`: the cluster is not registered any more, or it is another one now. */
  readonly obstacle?: { readonly message: string; readonly isGone: boolean } | undefined;
  /** The cluster sleeps, or is to sleep. */
  readonly isAsleep: boolean;
  /** Which cluster is suspended, for people, and what ends that. */
  readonly suspension?: string | undefined;
  /** A change of the spec, an annotation or a command asks for an operation. */
  readonly isRequested: boolean;
  /** The API server of the cluster answers. */
  readonly answers: boolean;
  readonly tasks: Tasks;
  /** A task of a Failed operation has other content since, or has begun to fail anew. */
  readonly hasNewAttempt: boolean;
  /** Moments that have passed. */
  readonly passed: {
    /** The task timeout since the operation was written last. */
    readonly stuck: boolean;
    /** The end of the retries. */
    readonly cycle: boolean;
    /** The wait after a rate limit. */
    readonly rateLimit: boolean;
  };
  readonly errorOf: (task: Task) => LastError;
  /** Errors of what others do for the Shoot. They are no tasks. */
  readonly foreign: readonly LastError[];
}

/** What is to be written. */
export interface Outcome {
  /** Absent: there was no operation yet, and none begins. */
  readonly operation?: Operation;
  readonly errors: readonly LastError[];
  /** `retryCycleStartTime`. Null: it begins now. Absent: no retries. */
  readonly cycleStart?: string | null;
  /** It begins because of its tasks alone, which may be over before that is written: the shell asks for it. */
  readonly begins?: OperationRequest;
}

/** The operation that follows. Source: Gardener's Shoot controller. */
export function nextOperation(situation: Situation): Outcome {
  const { last, type, obstacle } = situation;
  // What cannot be reached cannot be deleted either, and nothing of it is sent any more.
  if (obstacle !== undefined && (type !== 'Delete' || last === undefined)) return obstructed(situation, obstacle);
  if (situation.isAsleep && type !== 'Delete') return asleep(situation);
  return isRunning(last) && last.type === type ? goOn(situation) : begin(situation);
}

/** Whether the operation is under way. */
function isRunning(last: LastOperation | undefined): last is LastOperation {
  return last?.state === 'Processing' || last?.state === 'Error' || last?.state === 'Pending';
}

/** Whether the written operation has just begun, so that what asked for it is answered. */
export function hasJustBegun(last: LastOperation | undefined): boolean {
  const type = readType(last?.type);
  return type !== undefined && last?.state === 'Processing' && last.description === startText(type);
}

/** The operation stays as it was written. */
function asWritten({ last, errors, cycleStart }: Situation): Outcome {
  const type = readType(last?.type);
  if (type === undefined || last === undefined) return { errors: [] };
  const { state, progress, description } = last;
  return {
    operation: { type, state: state as Operation['state'], progress, description },
    errors: errors.map(({ lastUpdateTime: _, ...error }) => error),
    ...(cycleStart === '' ? {} : { cycleStart }),
  };
}

function obstructed(situation: Situation, { message, isGone }: NonNullable<Situation['obstacle']>): Outcome {
  const { last } = situation;
  if (last === undefined || (last.type === 'Create' && last.state === 'Pending')) {
    return { operation: { type: 'Create', state: 'Pending', progress: 0, description: message }, errors: [] };
  }
  const written = asWritten(situation);
  if (written.operation === undefined || !isGone || !isRunning(last)) return written;
  return { operation: { ...written.operation, state: 'Aborted' }, errors: written.errors };
}

/** No operation begins in a cluster that sleeps; one that runs ends with its tasks. */
function asleep(situation: Situation): Outcome {
  const { last, type } = situation;
  if (openTasks(situation) === 0 && (last === undefined || (isRunning(last) && last.type === type))) {
    return goOn({ ...situation, isRequested: false, answers: true });
  }
  return asWritten(situation);
}

function begin(situation: Situation): Outcome {
  const { last, type, tasks, isRequested } = situation;
  const isSwitched = last !== undefined && last.type !== type && (isLeaving(type) || type === 'Restore');
  if (!isSwitched && !isRequested) {
    if (last?.state === 'Failed' && !mayLeaveFailed(situation)) return failedStill(situation);
    if (last?.state === 'Succeeded' && openTasks(situation) === 0) return succeededStill(situation, last);
  }
  // A new operation gives each task the whole timeout again.
  const anew = { ...tasks, failing: joinLists([tasks.late, tasks.failing]), late: NO_TASKS };
  const { operation, errors } = goOn({
    ...situation,
    last: undefined,
    cycleStart: '',
    isRequested: false,
    tasks: anew,
  });
  // What begins because of its tasks is seen by them; anything else would be over before it was written once.
  const isShown = isRequested || isSwitched || last?.state === 'Failed' || last?.state === 'Aborted';
  const asked = last?.state === 'Succeeded' || last?.state === 'Failed' ? askFor(last, isRequested, operation) : {};
  if (isShown && operation?.state !== 'Pending') return { ...start(situation), ...asked };
  const cycle = isOver(operation) ? {} : { cycleStart: null };
  return { ...given({ operation }), errors, ...cycle, ...asked };
}

function askFor(
  { state }: LastOperation,
  isRequested: boolean,
  operation: Operation | undefined,
): Pick<Outcome, 'begins'> {
  if (isRequested || operation?.state !== 'Processing') return {};
  return { begins: state === 'Failed' ? 'retry' : 'reconcile' };
}

function start(situation: Situation): Outcome {
  const { type } = situation;
  return {
    operation: { type, state: 'Processing', progress: 0, description: startText(type) },
    errors: errorsOf(situation, NO_TASKS),
    cycleStart: null,
  };
}

function mayLeaveFailed(situation: Situation): boolean {
  return situation.passed.rateLimit || situation.hasNewAttempt || newTasks(situation) > 0;
}

/** A Failed operation stays until a person, a change or a new task begins another one. Its errors are kept up to date. */
function failedStill(situation: Situation): Outcome {
  const errors = errorsOf(situation, joinLists([situation.tasks.late, sortWaiting(situation).wrong]));
  return { ...asWritten(situation), errors };
}

/** A success stays as it was written, unless other objects are held or kept now. */
function succeededStill(situation: Situation, last: LastOperation): Outcome {
  const { held } = situation.tasks;
  if (held.count > 0 || namesHeld(last.description)) {
    return succeeded({ ...situation, type: readType(last.type) ?? situation.type });
  }
  return { ...asWritten(situation), errors: boundedErrors(situation.foreign, 0) };
}

function isOver(operation: Operation | undefined): boolean {
  return operation?.state === 'Succeeded' || operation?.state === 'Failed';
}

function goOn(situation: Situation): Outcome {
  const { type, tasks, suspension, isRequested, last } = situation;
  if (isRequested && !hasJustBegun(last)) return start(situation);
  const open = openTasks(situation);
  const progress = open === 0 ? 100 : Math.floor((100 * tasks.applied) / (tasks.applied + open));
  const cycleStart = situation.cycleStart === '' ? null : situation.cycleStart;
  const pending = (description: string, done: number): Outcome => ({
    operation: { type, state: 'Pending', progress: done, description },
    errors: errorsOf(situation, NO_TASKS),
    cycleStart,
  });
  if (open === 0) {
    if (isLeaving(type) && tasks.held.count > 0) return pending(heldText(tasks.held), 99);
    if (tasks.staying.count > 0) return pending(stayingText(tasks.staying), 99);
    if (type !== 'Create' || situation.answers) return succeeded(situation);
    // The answer of the API server is the last task.
    const operation = { type, state: 'Processing', progress: 99, description: WAITING_FOR_ANSWER } as const;
    return { operation, errors: errorsOf(situation, NO_TASKS), cycleStart };
  }
  if (suspension !== undefined) return pending(suspension, progress);
  const { wrong, running } = sortWaiting(situation);
  const errorTasks = joinLists([tasks.late, wrong]);
  const errors = errorsOf(situation, errorTasks);
  const runs = joinLists([running, tasks.failing]);
  if (runs.count > 0) {
    return { operation: { type, state: 'Processing', progress, description: namesOf(runs) }, errors, cycleStart };
  }
  // Source: an operation that has no cycle was never begun, and is not tried again.
  const willRetry = !stopsRetries(errors) && situation.cycleStart !== '' && !situation.passed.cycle;
  const others = new Set([undefined, ...situation.foreign.map(({ taskID }) => taskID)]);
  const ofTasks = errors.filter(({ taskID }) => !others.has(taskID));
  const description = errorText(type, ofTasks, errorTasks.count, willRetry);
  if (willRetry) return { operation: { type, state: 'Error', progress, description }, errors, cycleStart };
  return { operation: { type, state: 'Failed', progress, description }, errors };
}

function succeeded({ type, tasks, foreign }: Situation): Outcome {
  const description = doneText(type, tasks.held);
  return { operation: { type, state: 'Succeeded', progress: 100, description }, errors: boundedErrors(foreign, 0) };
}

function openTasks({ tasks: { waiting, failing, late } }: Pick<Situation, 'tasks'>): number {
  return waiting.count + failing.count + late.count;
}

/** Divides the tasks without news into those that are errors and the others. */
function sortWaiting(situation: Situation): { readonly wrong: TaskList; readonly running: TaskList } {
  const { last, passed, tasks } = situation;
  const { waiting } = tasks;
  const all = { wrong: waiting, running: NO_TASKS };
  const known = errorsThatCount(situation);
  if ((last?.state === 'Error' || last?.state === 'Failed') && !isComplete(known)) return all;
  const wrong = new Set(known.map(({ taskID }) => taskID));
  if (last?.state === 'Processing' && passed.stuck && last.description !== WAITING_FOR_ANSWER) {
    const named = namesIn(last.description);
    // Nothing has moved since the description was written, or it does not tell the tasks apart.
    const isUnmoved = last.description === namesOf(joinLists([without(waiting, wrong, tasks), tasks.failing]));
    if (named === undefined || isUnmoved) return all;
    for (const name of named) wrong.add(name);
  }
  return { wrong: only(waiting, wrong, tasks), running: without(waiting, wrong, tasks) };
}

/**
 * The written errors of the current attempt. After a retry, errors of the attempt before stay written until their tasks succeed, and
 * these tasks have their full time again.
 */
function errorsThatCount({ last, errors, cycleStart }: Situation): readonly WrittenError[] {
  if (last?.state === 'Error' || last?.state === 'Failed') return errors;
  return errors.filter(({ lastUpdateTime }) => cycleStart !== '' && lastUpdateTime > cycleStart);
}

/** The number of tasks without news that a Failed operation did not have. */
function newTasks(situation: Situation): number {
  const { tasks, errors } = situation;
  if (!isComplete(errors)) return 0;
  return without(tasks.waiting, new Set(errors.map(({ taskID }) => taskID)), tasks).count;
}

function only(list: TaskList, names: ReadonlySet<string | undefined>, tasks: Tasks): TaskList {
  const found = [...names].flatMap((name) => (name === undefined ? [] : (waitingNamed(tasks, name) ?? [])));
  return list.count === 0 ? NO_TASKS : { count: found.length, first: found };
}

function without(list: TaskList, names: ReadonlySet<string | undefined>, tasks: Tasks): TaskList {
  const { count } = only(list, names, tasks);
  return { count: list.count - count, first: list.first.filter(({ name }) => !names.has(name)) };
}

function waitingNamed({ named }: Tasks, name: string): Task | undefined {
  const task = named(name);
  return task?.progress.since === undefined ? task : undefined;
}

/**
 * The errors of these tasks and of others, and the written errors with open tasks: an error stays until its task succeeds.
 */
function errorsOf({ errors, foreign, tasks, errorOf }: Situation, wrong: TaskList): readonly LastError[] {
  const entries = new Map([...foreign, ...wrong.first.map(errorOf)].map((entry) => [entry.taskID, entry]));
  let count = foreign.length + wrong.count;
  for (const { description, taskID, codes } of errors) {
    const task = taskID === undefined ? undefined : tasks.named(taskID);
    if (task === undefined) continue;
    if (!entries.has(taskID)) count += 1;
    // Without news of the task, what was known of it holds.
    else if (task.progress.since !== undefined) continue;
    entries.set(taskID, { description, codes, ...given({ taskID }) });
  }
  return boundedErrors([...entries.values()], count);
}
