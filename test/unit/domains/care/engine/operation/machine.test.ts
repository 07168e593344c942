import { describe, expect, it, test } from 'vitest';
import { errorEntry } from '../../../../../../src/domains/care/engine/operation/errors.ts';
import {
  nextOperation,
  type Situation,
  type Tasks,
} from '../../../../../../src/domains/care/engine/operation/machine.ts';
import { NO_TASKS, type Task, type TaskList } from '../../../../../../src/domains/care/engine/operation/tasks.ts';
import { operationType } from '../../../../../../src/domains/care/engine/operation/types.ts';
import type { LastOperation, WrittenError } from '../../../../../../src/domains/care/engine/written-operation.ts';

const T = '2026-01-01T00:00:00Z';
const LATER = '2026-01-01T00:05:00Z';

/** A task without news, or, with a reason, one that fails. */
function task(name: string, reason = ''): Task {
  const state = reason === '' ? 'pending' : 'failed';
  const progress = { state, reason, message: '', digest: null, origins: [], ...(reason === '' ? {} : { since: 1 }) };
  return { name: `Apply ${name}`, cluster: 'blue', key: `/${name}` as never, progress } as Task;
}

const list = (...first: readonly Task[]): TaskList => ({ count: first.length, first });

function tasks(
  lists: Partial<Record<'waiting' | 'failing' | 'late' | 'held' | 'staying', TaskList>>,
  applied = 1,
): Tasks {
  const all = { waiting: NO_TASKS, failing: NO_TASKS, late: NO_TASKS, held: NO_TASKS, staying: NO_TASKS, ...lists };
  const open = [all.waiting, all.failing, all.late].flatMap(({ first }) => first);
  return { ...all, applied, named: (name) => open.find((one) => one.name === name) };
}

const CODES: Readonly<Record<string, readonly string[]>> = {
  Forbidden: ['ERR_INFRA_UNAUTHORIZED'],
  Throttled: ['ERR_INFRA_RATE_LIMITS_EXCEEDED'],
};

function last(text: string, description = '', written?: number): LastOperation {
  const [type = '', state = ''] = text.split('/');
  const progress = written ?? (state === 'Succeeded' ? 100 : 50);
  return { type, state, progress, description, lastUpdateTime: T, hasErrors: false };
}

function situation(given: Partial<Omit<Situation, 'passed'>> & { passed?: Partial<Situation['passed']> }): Situation {
  return {
    ...{ last: undefined, errors: [], cycleStart: '', type: 'Reconcile', isAsleep: false, isRequested: false },
    ...{ answers: true, tasks: tasks({}), hasNewAttempt: false, foreign: [] },
    errorOf: ({ name, progress: { reason } }) => errorEntry(name, reason || 'stuck', CODES[reason] ?? []),
    ...given,
    passed: { stuck: false, cycle: false, rateLimit: false, ...given.passed },
  };
}

const brief = (given: Parameters<typeof situation>[0]) => {
  const { operation, errors, cycleStart } = nextOperation(situation(given));
  return {
    operation: operation && `${operation.type}/${operation.state} ${operation.progress}`,
    errors: errors.map(({ taskID }) => taskID),
    cycle: cycleStart === null ? 'begins' : cycleStart,
  };
};

const entry = (taskID: string, lastUpdateTime = LATER, codes: readonly string[] = []): WrittenError => ({
  ...{ description: `task "${taskID}" failed: as before`, taskID, codes, lastUpdateTime },
});

describe('the type of an operation', () => {
  it.each([
    ['no operation', undefined, {}, 'Create'],
    ['an unfinished creation', 'Create/Failed', {}, 'Create'],
    ['an unfinished restoration', 'Restore/Error', {}, 'Restore'],
    ['a creation that has ended', 'Create/Succeeded', {}, 'Reconcile'],
    ['a reconciliation', 'Reconcile/Aborted', {}, 'Reconcile'],
    ['another Seed', 'Reconcile/Succeeded', { seed: 'new', written: 'old' }, 'Migrate'],
    ['another Seed while a creation runs', 'Create/Processing', { seed: 'new', written: 'old' }, 'Migrate'],
    ['a migration that has ended', 'Migrate/Succeeded', { seed: 'new', written: 'old' }, 'Restore'],
    ['an aborted migration', 'Migrate/Aborted', { seed: 'new', written: 'old' }, 'Restore'],
    ['a migration that was called off', 'Migrate/Processing', { seed: 'old', written: 'old' }, 'Restore'],
    ['the first Seed', 'Reconcile/Succeeded', { seed: 'new', written: '' }, 'Reconcile'],
    ['a deletion', 'Create/Processing', { isDeleted: true }, 'Delete'],
    ['a deletion of a Shoot without operation', undefined, { isDeleted: true }, 'Delete'],
  ] as const)('%s', (_, text, given, type) => {
    const { seed, written = '', isDeleted = false }: { seed?: string; written?: string; isDeleted?: boolean } = given;
    expect(operationType({ isDeleted, seed }, { last: text && last(text), seed: written })).toBe(type);
  });
});

describe('an operation begins', () => {
  const waiting = tasks({ waiting: list(task('A')) });
  it.each([
    ['with a new Shoot', { type: 'Create', tasks: waiting }, 'Create/Processing 50', 'begins'],
    ['and ends at once if nothing is open', { type: 'Create' }, 'Create/Succeeded 100', undefined],
    [
      'when an output is pending',
      { last: last('Create/Succeeded'), tasks: waiting },
      'Reconcile/Processing 50',
      'begins',
    ],
    ['not without a cause', { last: last('Create/Succeeded') }, 'Create/Succeeded 100', undefined],
    [
      'by request, seen once',
      { last: last('Create/Succeeded'), isRequested: true },
      'Reconcile/Processing 0',
      'begins',
    ],
    [
      'by request while one runs',
      { last: last('Reconcile/Processing', 'x'), isRequested: true },
      'Reconcile/Processing 0',
      'begins',
    ],
    ['with a migration', { last: last('Reconcile/Succeeded'), type: 'Migrate' }, 'Migrate/Processing 0', 'begins'],
    [
      'with a migration while one runs',
      { last: last('Create/Error'), type: 'Migrate', cycleStart: T },
      'Migrate/Processing 0',
      'begins',
    ],
    ['with a restoration', { last: last('Migrate/Succeeded'), type: 'Restore' }, 'Restore/Processing 0', 'begins'],
    [
      'with a deletion, also of a Failed one',
      { last: last('Create/Failed'), type: 'Delete' },
      'Delete/Processing 0',
      'begins',
    ],
    ['after an aborted one', { last: last('Reconcile/Aborted') }, 'Reconcile/Processing 0', 'begins'],
    [
      'not in a cluster that sleeps',
      { last: last('Create/Succeeded'), isAsleep: true, tasks: waiting, isRequested: true },
      'Create/Succeeded 100',
      undefined,
    ],
    [
      'not at all for a new Shoot that sleeps',
      { isAsleep: true, type: 'Create', tasks: waiting },
      undefined,
      undefined,
    ],
  ] as const)('%s', (_, given, operation, cycle) => {
    expect(brief(given as never)).toMatchObject({ operation, cycle });
  });

  it('with its own text, which is not written again', () => {
    const first = nextOperation(situation({ last: last('Reconcile/Succeeded'), isRequested: true })).operation;
    expect(first?.description).toBe('Reconciliation of Shoot cluster initialized.');
    const written = { ...last('Reconcile/Processing', first?.description, 0) };
    expect(brief({ last: written, isRequested: true, cycleStart: T })).toMatchObject({
      operation: 'Reconcile/Succeeded 100',
    });
  });
});

describe('an operation goes on', () => {
  it('with the share that is applied, and names at most ten tasks', () => {
    const many = Array.from({ length: 12 }, (_, index) => task(`T${index}`));
    const { operation } = nextOperation(situation({ type: 'Create', tasks: tasks({ waiting: list(...many) }, 6) }));
    const names = many.slice(0, 10).map(({ name }) => name);
    expect(operation).toMatchObject({ progress: 33, description: `${names.join(', ')} and 2 more` });
  });

  it('until the API server of a new cluster has answered once', () => {
    const given = { last: last('Create/Processing'), type: 'Create', cycleStart: T } as const;
    expect(brief({ ...given, answers: false }).operation).toBe('Create/Processing 99');
    expect(brief(given)).toEqual({ operation: 'Create/Succeeded 100', errors: [], cycle: undefined });
    // It asks nothing of later operations.
    expect(brief({ last: last('Reconcile/Processing'), answers: false, cycleStart: T }).operation).toBe(
      'Reconcile/Succeeded 100',
    );
  });

  it.each([
    ['Create', 'Shoot cluster has been successfully reconciled.'],
    ['Reconcile', 'Shoot cluster has been successfully reconciled.'],
    ['Restore', 'Shoot cluster has been successfully restored.'],
    ['Migrate', 'Shoot cluster has been successfully prepared for migration.'],
    ['Delete', 'Shoot cluster has been successfully deleted.'],
  ] as const)('%s ends with its text', (type, description) => {
    const { operation } = nextOperation(situation({ last: last(`${type}/Processing`), type, cycleStart: T }));
    expect(operation).toEqual({ type, state: 'Succeeded', progress: 100, description });
  });

  it('held objects keep no reconciliation open, and are named', () => {
    const held = list({ ...task('H'), name: 'Remove H' });
    const { operation } = nextOperation(situation({ last: last('Reconcile/Processing'), tasks: tasks({ held }) }));
    expect(operation?.state).toBe('Succeeded');
    expect(operation?.description).toContain('held or kept: Remove H.');
  });

  it.each(['Delete', 'Migrate'] as const)('%s waits for a person when only held objects are left', (type) => {
    const held = list({ ...task('H'), name: 'Remove H' });
    const { operation } = nextOperation(situation({ last: last(`${type}/Processing`), type, tasks: tasks({ held }) }));
    expect(operation).toMatchObject({ type, state: 'Pending' });
    expect(operation?.description).toContain('a person has to release: Remove H');
  });

  it('a migration waits for a person while objects are still declared for the Seed that it leaves', () => {
    const given = {
      last: last('Migrate/Processing'),
      type: 'Migrate',
      tasks: tasks({ staying: list(task('A')) }),
    } as const;
    const { operation } = nextOperation(situation(given));
    expect(operation).toMatchObject({ type: 'Migrate', state: 'Pending' });
    expect(operation?.description).toMatch(/still declared for the Seed that the control plane leaves, .*: A$/);
  });

  it('a suspended cluster waits for a person, and goes on afterwards', () => {
    const waiting = tasks({ waiting: list(task('A')) });
    const given = { last: last('Reconcile/Processing'), tasks: waiting, cycleStart: T };
    const { operation } = nextOperation(situation({ ...given, suspension: 'cluster blue is suspended' }));
    expect(operation).toMatchObject({ state: 'Pending', description: 'cluster blue is suspended' });
    expect(brief({ ...given, last: last('Reconcile/Pending') })).toMatchObject({
      operation: 'Reconcile/Processing 50',
      cycle: T,
    });
    expect(brief({ last: last('Reconcile/Succeeded'), suspension: 'suspended' }).operation).toBe(
      'Reconcile/Succeeded 100',
    );
  });
});

describe('an obstacle', () => {
  const obstacle = { message: 'no KubernetesCluster blue is declared', isGone: true };
  it.each([
    ['a new Shoot waits', { type: 'Create' }, 'Create/Pending 0'],
    ['an operation that runs is aborted', { last: last('Reconcile/Processing') }, 'Reconcile/Aborted 50'],
    ['an operation with errors is aborted', { last: last('Create/Error'), type: 'Create' }, 'Create/Aborted 50'],
    ['an operation that has ended stays', { last: last('Reconcile/Succeeded') }, 'Reconcile/Succeeded 100'],
    ['a Failed operation stays', { last: last('Reconcile/Failed') }, 'Reconcile/Failed 50'],
    ['a deletion goes on', { last: last('Delete/Processing'), type: 'Delete' }, 'Delete/Succeeded 100'],
  ] as const)('%s', (_, given, operation) => {
    expect(brief({ ...(given as object), obstacle }).operation).toBe(operation);
  });

  it('of a cluster that is still registered aborts nothing', () => {
    const given = { last: last('Reconcile/Processing'), errors: [entry('Apply A')], cycleStart: T };
    expect(brief({ ...given, obstacle: { ...obstacle, isGone: false } })).toEqual({
      ...{ operation: 'Reconcile/Processing 50', errors: ['Apply A'], cycle: T },
    });
  });
});

describe('errors', () => {
  const running = { last: last('Reconcile/Processing', 'Apply A'), cycleStart: T };

  it('a late task is an error as soon as nothing else runs', () => {
    const late = list(task('A', 'ServerError'));
    expect(brief({ ...running, tasks: tasks({ late }) })).toEqual({
      ...{ operation: 'Reconcile/Error 50', errors: ['Apply A'], cycle: T },
    });
    const { operation } = nextOperation(situation({ ...running, tasks: tasks({ late }) }));
    expect(operation?.description).toBe(
      'Flow "Shoot cluster reconciliation" encountered task errors: [task "Apply A" failed: ServerError] Operation will be retried.',
    );
    expect(brief({ ...running, tasks: tasks({ late, waiting: list(task('B')) }) })).toMatchObject({
      ...{ operation: 'Reconcile/Processing 33', errors: ['Apply A'] },
    });
  });

  it.each([
    ['a code that stops retries', { tasks: tasks({ late: list(task('A', 'Forbidden')) }) }],
    ['the end of the retries', { passed: { cycle: true }, tasks: tasks({ late: list(task('A', 'X')) }) }],
    ['an operation without a begin of its retries', { cycleStart: '', tasks: tasks({ late: list(task('A', 'X')) }) }],
    [
      'a code of another error',
      {
        foreign: [errorEntry('Worker/a/b', 'x', ['ERR_INFRA_DEPENDENCIES'])],
        tasks: tasks({ late: list(task('A', 'X')) }),
      },
    ],
  ] as const)('%s makes it Failed', (_, given) => {
    expect(brief({ ...running, ...(given as object) })).toMatchObject({
      operation: 'Reconcile/Failed 50',
      cycle: undefined,
    });
  });

  it.each([
    ['which nothing has happened to', 'Apply A', ['A'], 'Error', ['Apply A']],
    ['of which the description names one', 'Apply A, Apply C', ['A', 'B'], 'Processing', ['Apply A']],
    [
      'that the begin was written for',
      'Reconciliation of Shoot cluster initialized.',
      ['A', 'B'],
      'Error',
      ['Apply A', 'Apply B'],
    ],
    ['that are new since the cluster was created', 'Waiting for the API server to answer', ['A'], 'Processing', []],
  ] as const)('tasks without news %s', (_, description, names, state, errors) => {
    const given = {
      ...{ last: last('Reconcile/Processing', description), cycleStart: T, passed: { stuck: true } },
      tasks: tasks({ waiting: list(...names.map((name) => task(name))) }),
    };
    expect(brief(given)).toMatchObject({ operation: expect.stringContaining(state), errors });
    expect(brief({ ...given, passed: {} }).errors).toEqual([]);
  });

  it('an error stays until its task succeeds, and goes at once then', () => {
    const errors = [entry('Apply A'), entry('Apply B')];
    const given = { last: last('Reconcile/Error'), errors, cycleStart: T };
    expect(brief({ ...given, tasks: tasks({ waiting: list(task('A')) }) })).toMatchObject({
      ...{ operation: 'Reconcile/Error 50', errors: ['Apply A'] },
    });
    expect(brief(given)).toMatchObject({ operation: 'Reconcile/Succeeded 100', errors: [] });
  });

  it('a new task makes an operation with errors go on', () => {
    const given = { last: last('Reconcile/Error'), errors: [entry('Apply A')], cycleStart: T };
    expect(brief({ ...given, tasks: tasks({ waiting: list(task('A'), task('B')) }) })).toMatchObject({
      ...{ operation: 'Reconcile/Processing 33', errors: ['Apply A'], cycle: T },
    });
  });

  it('a task has its time again after a retry, and its error stays until it succeeds', () => {
    const given = { last: last('Reconcile/Processing', 'x'), errors: [entry('Apply A', T)] };
    const waiting = tasks({ waiting: list(task('A')) });
    expect(brief({ ...given, cycleStart: LATER, tasks: waiting })).toMatchObject({
      ...{ operation: 'Reconcile/Processing 50', errors: ['Apply A'] },
    });
    // Of this attempt.
    expect(brief({ ...given, errors: [entry('Apply A', LATER)], cycleStart: T, tasks: waiting }).operation).toBe(
      'Reconcile/Error 50',
    );
  });

  test('at most fifty, and the last one says how many are left out', () => {
    const all = Array.from({ length: 64 }, (_, index) => task(`T${String(index).padStart(2, '0')}`, 'X'));
    const late = { count: 100_000, first: all };
    const { errors, operation } = nextOperation(situation({ ...running, tasks: tasks({ late }) }));
    expect(errors).toHaveLength(50);
    expect(errors.at(-1)).toEqual({ description: '99951 more tasks failed', codes: [] });
    expect(operation?.description).toContain(' and 99990 more] Operation will be retried.');
    // The written list does not name all: no task is taken for a new one.
    const stuck = { count: 100_000, first: all.map(({ name }) => task(name.slice('Apply '.length))) };
    const written = errors.map((one) => ({ ...one, lastUpdateTime: LATER }));
    const next = { last: last('Reconcile/Error'), errors: written, cycleStart: T, tasks: tasks({ waiting: stuck }) };
    expect(brief(next).operation).toBe('Reconcile/Error 0');
    expect(brief({ ...next, last: last('Reconcile/Failed'), cycleStart: '' }).operation).toBe('Reconcile/Failed 50');
  });

  it('a description of any length is cut to 2,048 characters, and says so', () => {
    const { description } = errorEntry('Apply A', 'x'.repeat(1_000_000), []);
    expect(description).toHaveLength(2_048);
    expect(description).toMatch(/\.\.\. cut, 10000\d\d characters$/);
  });
});

describe('a Failed operation', () => {
  const errors = [entry('Apply A', T, ['ERR_INFRA_UNAUTHORIZED'])];
  const failed = { last: last('Reconcile/Failed', 'why'), errors, tasks: tasks({ waiting: list(task('A')) }) };

  it('stays, also when its tasks have succeeded', () => {
    expect(nextOperation(situation(failed))).toEqual({
      operation: { type: 'Reconcile', state: 'Failed', progress: 50, description: 'why' },
      errors: [
        { description: 'task "Apply A" failed: as before', taskID: 'Apply A', codes: ['ERR_INFRA_UNAUTHORIZED'] },
      ],
    });
    expect(brief({ ...failed, tasks: tasks({}) })).toMatchObject({ operation: 'Reconcile/Failed 50', errors: [] });
  });

  it.each([
    ['a retry or a change of the spec', { isRequested: true }],
    ['the end of the wait after a rate limit', { passed: { rateLimit: true } }],
    ['other content of its object', { hasNewAttempt: true }],
    ['a new task', { tasks: tasks({ waiting: list(task('A'), task('B')) }) }],
  ] as const)('ends by %s, and keeps its errors', (_, given) => {
    expect(brief({ ...failed, ...(given as object) })).toEqual({
      ...{ operation: 'Reconcile/Processing 0', errors: ['Apply A'], cycle: 'begins' },
    });
  });
});

test('the errors of extensions are written in every state', () => {
  const foreign = [errorEntry('Worker/shoot--web--blue/pool', 'no quota', ['ERR_INFRA_QUOTA_EXCEEDED'])];
  expect(brief({ foreign, last: last('Reconcile/Succeeded') })).toMatchObject({
    ...{ operation: 'Reconcile/Succeeded 100', errors: ['Worker/shoot--web--blue/pool'] },
  });
  expect(brief({ foreign, tasks: tasks({ waiting: list(task('A')) }) }).errors).toEqual([
    'Worker/shoot--web--blue/pool',
  ]);
});
