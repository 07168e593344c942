import type { ConditionValue, OutcomeCounts } from '../../model/conditions.ts';
import type { ObjectHealth } from '../../model/object-health.ts';
import type { Index, Reader } from '../collections/types.ts';
import {
  type Cause,
  constantCause,
  healthGroup,
  type Progress,
  type ProgressState,
  progressStates,
  stateGroup,
} from './progress.ts';

/** Objects by health. All zero: no health is known. */
export type HealthCounts = Readonly<Record<ObjectHealth['state'], number>>;

/** The health of objects, the most urgent first. */
export const healthStates = ['failed', 'inProgress', 'terminating', 'unknown', 'current'] as const;

/** The states of objects that are not applied, the most urgent first. */
export const worstFirst: readonly ProgressState[] = [
  'failed',
  'conflict',
  'held',
  'paused',
  'kept',
  'unreachable',
  'removing',
  'pending',
];

/** Some objects by state and health. */
export interface Tally {
  readonly states: Readonly<Record<ProgressState, number>>;
  readonly health: HealthCounts;
  /** The most urgent cause; absent: all objects are applied. */
  readonly worst?: Cause;
}

/** Reads indexes: a {@link Reader} inside a computation, {@link asCommitted} outside. */
export type Lookups = Pick<Reader, 'count' | 'first'>;

/** Reads indexes as of the last commit. */
export const asCommitted: Lookups = {
  count: (index, group) => index.count(group),
  first: (index, group, count) => index.first(group, count),
};

/** Tallies the objects of a subject. `index`: as of `indexProgress`. */
export function tallyOf(look: Lookups, index: Index<Progress>, subject: string): Tally {
  const states = countEach(progressStates, (state) => look.count(index, stateGroup(subject, state)));
  const health = countEach(healthStates, (state) => look.count(index, healthGroup(subject, state)));
  return tally(states, health, (state) => look.first(index, stateGroup(subject, state), 1)[0]?.value);
}

/** Tallies a list. Of objects in one state the first counts for `worst`. */
export function tallyOfList(all: readonly Progress[]): Tally {
  const states = countEach(progressStates, (state) => all.filter((one) => one.state === state).length);
  const health = countEach(healthStates, (state) => all.filter((one) => one.health?.state === state).length);
  return tally(states, health, (state) => all.find((one) => one.state === state));
}

/** Makes a tally; `exampleIn` returns an object in a state. */
export function tally(
  states: Tally['states'],
  health: HealthCounts,
  exampleIn: (state: ProgressState) => Cause | undefined,
): Tally {
  const state = worstFirst.find((each) => states[each] > 0);
  const worst = state && (constantCause[state] ?? exampleIn(state));
  return {
    states,
    health,
    ...(worst === undefined ? {} : { worst: { reason: worst.reason, message: worst.message } }),
  };
}

/** The tally of no objects. */
export const emptyTally: Tally = {
  states: countEach(progressStates, () => 0),
  health: countEach(healthStates, () => 0),
};

/** Adds up two tallies; `worst` is that of the first one that has one. */
export function addTallies(a: Tally, b: Tally): Tally {
  return {
    ...b,
    ...a,
    states: countEach(progressStates, (state) => a.states[state] + b.states[state]),
    health: countEach(healthStates, (state) => a.health[state] + b.health[state]),
  };
}

/** A record with the number of each name. */
export function countEach<Name extends string>(
  names: readonly Name[],
  count: (name: Name) => number,
): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, count(name)])) as Record<Name, number>;
}

/** Reduces the nine states of progress to the five outcomes of a status. */
export function countOutcomes({ states }: Pick<Tally, 'states'>): OutcomeCounts {
  const { applied, unreachable } = states;
  const failed = states.failed + states.conflict;
  const held = states.held + states.kept + states.paused;
  const pending = states.pending + states.removing;
  return { targeted: applied + failed + held + pending + unreachable, applied, failed, held, pending, unreachable };
}

/** The number of applied objects whose controllers are at work. */
export function moving({ inProgress, terminating }: HealthCounts): number {
  return inProgress + terminating;
}

/**
 * The kstatus-compatible conditions of a tally. Ready: all targeted objects are applied, and none is known not to work.
 * Reconciling: some objects make progress without a person. Stalled: some wait for a person.
 */
export function summarise(all: Tally): readonly ConditionValue[] {
  const { health, worst } = all;
  const { targeted, applied, failed, held, pending, unreachable } = countOutcomes(all);
  const figures = [
    `${applied} of ${targeted} applied`,
    ...parts([
      [failed, 'failed'],
      [held, 'held'],
      [pending, 'pending'],
      [unreachable, 'unreachable'],
      [health.failed, 'unhealthy'],
      [moving(health), 'in progress'],
    ]),
  ].join(', ');
  const message = worst === undefined || worst.message === '' ? figures : `${figures}: ${worst.message}`;
  const isStalled = failed + held + health.failed > 0;
  const isMoving = pending + unreachable + moving(health) > 0;
  const isReady = applied === targeted && health.failed + moving(health) === 0;
  const whyStalled = failed + held === 0 ? 'Unhealthy' : worst?.reason || 'Stalled';
  const reason = isReady ? 'Applied' : isStalled ? whyStalled : isMoving ? 'Progressing' : 'NotReady';
  const condition = (type: string, is: boolean, why: string, text: string): ConditionValue => ({
    ...{ type, status: is ? 'True' : 'False', reason: why, message: text },
  });
  return [
    condition('Ready', isReady, reason, message),
    condition('Reconciling', isMoving, isMoving ? 'Progressing' : 'Idle', isMoving ? figures : ''),
    condition('Stalled', isStalled, isStalled ? whyStalled : 'Clear', isStalled ? message : ''),
  ];
}

function parts(figures: readonly (readonly [number, string])[]): readonly string[] {
  return figures.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
}

/** The condition `ClustersSelected`; none while a choice names only registered clusters and selects some. */
export function selectionCondition(
  unknownClusters: readonly string[],
  selectsNone: string | undefined,
): readonly ConditionValue[] {
  const type = 'ClustersSelected';
  if (unknownClusters.length > 0) {
    const named = unknownClusters.slice(0, 5).join(', ');
    const message = `no KubernetesCluster of this name is declared: ${named}${unknownClusters.length > 5 ? ', ...' : ''}`;
    return [{ type, status: 'False', reason: 'UnknownClusters', message }];
  }
  if (selectsNone === undefined) return [];
  return [{ type, status: 'False', reason: 'NoCluster', message: selectsNone }];
}
