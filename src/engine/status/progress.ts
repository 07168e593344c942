import type { ObjectResult } from '../../model/agent/agent.ts';
import type { ConditionValue, OutcomeCounts, StatusCounts } from '../../model/fleet/conditions.ts';
import { type Drift, displayDrift } from '../../model/fleet/drift.ts';
import type { Digest } from '../../model/fleet/ids.ts';
import type { Origin } from '../../model/fleet/output.ts';
import { healthStates, type ObjectHealth } from '../../model/objects/object-health/health.ts';
import { isStatusKey } from '../../model/objects/object-key.ts';
import { rfc3339 } from '../../model/text/time.ts';
import { unreachable } from '../../model/values/result.ts';
import type { Collection, Derived, Graph, Index, Reader } from '../collections/types.ts';
import type { EngineInputs } from '../inputs.ts';
import type { Output } from '../output/outputs.ts';

export const progressStates = [
  'applied',
  'pending',
  'failed',
  'conflict',
  'kept',
  'held',
  'removing',
  'paused',
  'unreachable',
] as const;
export type ProgressState = (typeof progressStates)[number];

/** The rollout state of one object in one cluster. Partition: the cluster. Key: the object's. */
export interface Progress {
  readonly state: ProgressState;
  /** Constant word; may be empty. */
  readonly reason: string;
  readonly message: string;
  readonly digest: Digest | null;
  /** Of an applied object, as last reported; absent: not known. */
  readonly health?: ObjectHealth;
  /** Of an applied object: what others have done to it since, which is left so; absent: it is as declared, as far as it is known. */
  readonly drift?: Drift;
  /** Since when the agent has reported that it is not applied, has drifted, or is not removed, in milliseconds since 1970; absent: it has not. */
  readonly since?: number;
  /** The object is to be removed, and no guard holds that. */
  readonly isRemoval?: true;
  readonly origins: readonly Origin[];
  /** A domain wants the object, or it could depend on live state when it was accepted. */
  readonly isDerived?: true;
  /** The object is not wanted, and only its agent says that the fleet has sent it. */
  readonly isUnproven?: true;
}

/** Joins the outputs with the reports of the agents. */
export function deriveProgress(
  graph: Graph,
  outputs: Collection<Output>,
  { results, agents, ledger }: EngineInputs,
): Derived<Progress> {
  return graph.join<Output, ObjectResult, Progress>({
    name: 'progress',
    left: outputs,
    right: results,
    reads: [agents, ledger],
    compute: ({ partition: cluster, key, left: output, right: result }, read, emit) => {
      if (output === undefined || output.type === 'left') return;
      const connected = read.get(agents, '', cluster)?.connected === true;
      // A result is about content that the agent has accepted: not about content that is not sent yet, or lost in the cluster.
      const entry = read.get(ledger, cluster, key);
      const isAccepted = output.type !== 'object' || (entry?.digest === output.digest && entry.phase === 'accepted');
      const progress = progressOf(output, isAccepted ? result : undefined, connected);
      const isDerived =
        ('isDerived' in output && output.isDerived === true) || (output.type !== 'absent' && output.scope.length > 0);
      const isUnproven = output.type !== 'object' && entry?.unproven === true;
      emit(cluster, key, isDerived || isUnproven ? marked(progress, isDerived, isUnproven) : progress);
    },
  });
}

function marked(progress: Progress, isDerived: boolean, isUnproven: boolean): Progress {
  const { state, reason, message, digest, origins, health, since, isRemoval } = progress;
  const isCommon = isDerived && !isUnproven && health === undefined && since === undefined && isRemoval === undefined;
  // There are many, and an object that is written member by member is the smallest.
  if (isCommon) return { state, reason, message, digest, origins, isDerived };
  return { ...progress, ...(isDerived ? { isDerived } : {}), ...(isUnproven ? { isUnproven } : {}) };
}

function progressOf(
  output: Exclude<Output, { readonly type: 'left' }>,
  result: ObjectResult | undefined,
  connected: boolean,
): Progress {
  const { origins } = output;
  switch (output.type) {
    case 'object': {
      const { digest } = output;
      const { state, reason, message, ...more } = objectProgress(digest, result, connected);
      // Only the winning origin is reported.
      const winner = origins.length === 1 ? origins : origins.slice(0, 1);
      return { state, reason, message, digest, origins: winner, ...more };
    }
    case 'keep':
    case 'held':
    case 'absent': {
      const { type, reason, message } = output;
      const digest = type === 'absent' ? null : output.digest;
      return { state: type === 'keep' ? 'kept' : 'held', reason, message, digest, origins };
    }
    case 'remove':
    case 'removing':
      return { ...removalProgress(result, connected), isRemoval: true, digest: output.digest, origins };
    default:
      return unreachable(output);
  }
}

type Reported = Pick<Progress, 'state' | 'reason' | 'message' | 'health' | 'drift' | 'since'>;

function objectProgress(digest: Digest, result: ObjectResult | undefined, connected: boolean): Reported {
  if (result !== undefined && result.digest === digest) {
    const { state, reason, message, health, drift } = result;
    if (state === 'applied') {
      const known = health === undefined ? {} : { health };
      return drift === undefined
        ? { state, reason: '', message: '', ...known }
        : { state, reason: DRIFTED, message: driftMessage(drift, result.since), ...known, drift, ...sinceOf(result) };
    }
    if (state === 'failed' || state === 'conflict' || state === 'paused') {
      return { state, reason, message, ...sinceOf(result) };
    }
  }
  const state = connected ? 'pending' : 'unreachable';
  return { state, ...constantCause[state] };
}

/** Reason of an applied object that others have changed or removed since, and that is left so. */
const DRIFTED = 'Drifted';

function driftMessage(drift: Drift, since: number | undefined): string {
  const when = since === undefined ? '' : rfc3339(since);
  // It can have been changed first: the time may be of that.
  const what =
    drift.drift === 'removed'
      ? `removed by others${when && `; first reported at ${when}`}`
      : `drifted${when && ` since ${when}`}: ${displayDrift(drift)}`;
  return `${what}; its drift is only reported`;
}

function removalProgress(result: ObjectResult | undefined, connected: boolean): Reported {
  if (result?.state === 'failed' || result?.state === 'paused') {
    return { state: result.state, reason: result.reason, message: result.message, ...sinceOf(result) };
  }
  if (!connected) return { state: 'unreachable', ...constantCause.unreachable };
  const reported = result?.state === 'removing' ? result : undefined;
  return { state: 'removing', reason: reported?.reason ?? '', message: reported?.message ?? '', ...sinceOf(reported) };
}

function sinceOf(result: ObjectResult | undefined): Pick<Progress, 'since'> {
  return result?.since === undefined ? {} : { since: result.since };
}

/** Why an object is not applied. */
export type Cause = Pick<Progress, 'reason' | 'message'>;

/** The causes of the states in which all objects have the same one. */
export const constantCause: { readonly [State in ProgressState]?: Cause } & Readonly<
  Record<'pending' | 'unreachable', Cause>
> = {
  pending: { reason: '', message: '' },
  unreachable: { reason: 'AgentDisconnected', message: 'the agent is not connected' },
};

/** The objects of a cluster; with a source, those that come from it. */
export function clusterSubject(cluster: string, source = ''): string {
  return `${source}/${cluster}`;
}

/** The derived objects of a document, in all clusters. */
export function documentSubject({ source, path }: Origin): string {
  return `${source}\u0000${path}`;
}

/** The subject of the statuses among the outputs of a subject, which are counted apart; its group in the same index has all of them. */
function statusesOf(subject: string): string {
  return `${subject}\u0000statuses`;
}

/** The group of a subject's objects in a state and without a known health, in the index of {@link indexProgress}. */
export function stateGroup(subject: string, state: ProgressState): string {
  return `${subject}\u0000${state}`;
}

/** The group of a subject's applied objects of a health, in the same index. */
export function healthGroup(subject: string, state: ObjectHealth['state']): string {
  return `${subject}\u0000health\u0000${state}`;
}

/** The group of a subject's applied objects that have drifted, in the same index. */
export function driftGroup(subject: string): string {
  return `${subject}\u0000drift`;
}

/**
 * Indexes progress by subject and state; applied objects whose health is known by their health, in place of their state. Those that
 * have drifted are in a group of their own, too.
 */
export function indexProgress(graph: Graph, progress: Collection<Progress>): Index<Progress> {
  return graph.index('progressBySubject', progress, ({ partition: cluster, key, value }) => {
    const { state, health, drift, origins, isDerived } = value;
    const subjects = [
      clusterSubject(cluster),
      ...origins.map(({ source }) => clusterSubject(cluster, source)),
      ...(isDerived === true ? origins.map(documentSubject) : []),
    ];
    if (isStatusKey(key)) {
      const apart = subjects.map(statusesOf);
      return [...apart, ...apart.map((subject) => stateGroup(subject, state))];
    }
    const groups = subjects.map((subject) =>
      health === undefined ? stateGroup(subject, state) : healthGroup(subject, health.state),
    );
    return drift === undefined ? groups : [...groups, ...subjects.map(driftGroup)];
  });
}

/** Objects by health. All zero: no health is known. */
export type HealthCounts = Readonly<Record<ObjectHealth['state'], number>>;

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
  /** Of the applied objects: those that others have changed or removed since, and that are left so. */
  readonly drifted: number;
  /** Absent: there are none. */
  readonly statuses?: StatusCounts;
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

/** Tallies the objects of a subject. `index`: see `indexProgress`. */
export function tallyOf(look: Lookups, index: Index<Progress>, subject: string): Tally {
  const without = countEach(progressStates, (state) => look.count(index, stateGroup(subject, state)));
  const health = countEach(healthStates, (state) => look.count(index, healthGroup(subject, state)));
  const applied = healthStates.reduce((sum, state) => sum + health[state], without.applied);
  const states = { ...without, applied };
  const statuses = countStatuses(look, index, statusesOf(subject));
  const drifted = look.count(index, driftGroup(subject));
  const counts = { states, health, drifted, ...(statuses === undefined ? {} : { statuses }) };
  return tally(counts, (state) => look.first(index, stateGroup(subject, state), 1)[0]?.value);
}

function countStatuses(look: Lookups, index: Index<Progress>, subject: string): StatusCounts | undefined {
  const total = look.count(index, subject);
  if (total === 0) return undefined;
  const inState = (state: ProgressState): number => look.count(index, stateGroup(subject, state));
  return { total, applied: inState('applied'), failed: inState('failed') + inState('conflict') };
}

/** Tallies a list. Of objects in one state the first counts for `worst`. */
export function tallyOfList(all: readonly Progress[]): Tally {
  const states = countEach(progressStates, (state) => all.filter((one) => one.state === state).length);
  const health = countEach(healthStates, (state) => all.filter((one) => one.health?.state === state).length);
  const drifted = all.filter(({ drift }) => drift !== undefined).length;
  return tally({ states, health, drifted }, (state) => all.find((one) => one.state === state));
}

/** Makes a tally; `exampleIn` returns an object in a state. */
export function tally(counts: Omit<Tally, 'worst'>, exampleIn: (state: ProgressState) => Cause | undefined): Tally {
  const state = worstFirst.find((each) => counts.states[each] > 0);
  const worst = state && (constantCause[state] ?? exampleIn(state));
  return {
    ...counts,
    ...(worst === undefined ? {} : { worst: { reason: worst.reason, message: worst.message } }),
  };
}

/** The tally of no objects. */
export const emptyTally: Tally = {
  states: countEach(progressStates, () => 0),
  health: countEach(healthStates, () => 0),
  drifted: 0,
};

/** Adds up two tallies. `worst`: from the first tally that has it. */
export function addTallies(a: Tally, b: Tally): Tally {
  const [one = NO_STATUSES, other = NO_STATUSES] = [a.statuses, b.statuses];
  const statuses = {
    total: one.total + other.total,
    applied: one.applied + other.applied,
    failed: one.failed + other.failed,
  };
  return {
    ...b,
    ...a,
    states: countEach(progressStates, (state) => a.states[state] + b.states[state]),
    health: countEach(healthStates, (state) => a.health[state] + b.health[state]),
    drifted: a.drifted + b.drifted,
    ...(statuses.total === 0 ? {} : { statuses }),
  };
}

/** The counts of no statuses. */
export const NO_STATUSES: StatusCounts = { total: 0, applied: 0, failed: 0 };

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

/** The counts of objects and, if there are any, of statuses, as members of a status. */
export function countsOf(all: Tally) {
  return {
    counts: { ...countOutcomes(all) },
    ...(all.statuses === undefined ? {} : { statuses: { ...all.statuses } }),
  };
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
  const { health, drifted, statuses = NO_STATUSES, worst } = all;
  const { targeted, applied, failed, held, pending, unreachable } = countOutcomes(all);
  const others: readonly (readonly [number, string])[] = [
    [failed, 'failed'],
    [held, 'held'],
    [pending, 'pending'],
    [unreachable, 'unreachable'],
    [drifted, 'drifted'],
    [statuses.failed, statuses.failed === 1 ? 'status failed' : 'statuses failed'],
    [health.failed, 'unhealthy'],
    [moving(health), 'in progress'],
    [health.suspended, 'suspended'],
  ];
  const nonZero = others.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
  const figures = [`${applied} of ${targeted} applied`, ...nonZero].join(', ');
  const message = worst === undefined || worst.message === '' ? figures : `${figures}: ${worst.message}`;
  const isStalled = failed + held + health.failed > 0;
  const isMoving = pending + unreachable + moving(health) > 0;
  const isReady = applied === targeted && health.failed + moving(health) === 0;
  const whyStalled = failed + held === 0 ? 'Unhealthy' : worst?.reason || 'Stalled';
  const reason = isReady ? 'Applied' : isStalled ? whyStalled : isMoving ? 'Progressing' : 'NotReady';
  const condition = (type: string, is: boolean, why: string, text: string): ConditionValue => ({
    type,
    status: is ? 'True' : 'False',
    reason: why,
    message: text,
  });
  return [
    condition('Ready', isReady, reason, message),
    condition('Reconciling', isMoving, isMoving ? 'Progressing' : 'Idle', isMoving ? figures : ''),
    condition('Stalled', isStalled, isStalled ? whyStalled : 'Clear', isStalled ? message : ''),
  ];
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
