import { textOf } from '../../text/json.ts';
import { syncedHealth } from './crossplane.ts';
import { gardenerHealth, lastOperationHealth } from './gardener.ts';
import { attachedHealth, isAttached } from './gateway-api.ts';
import { generalHealth, isAbnormal, isFailure } from './general.ts';
import {
  current,
  type Found,
  failed,
  failedAfter,
  inProgress,
  type Live,
  NOT_OBSERVED,
  suspended,
  timeOf,
  unknown,
  until,
} from './health.ts';
import { alwaysReports } from './reporting-kinds.ts';

/**
 * The rules for kinds that have none of their own, by the names that controllers use in common. They call an object failed only if
 * a condition, a reason or a phase says that it has failed: `Ready=False` alone is progress.
 */
export function genericHealth(live: Live): Found | undefined {
  return (
    stopped(live) ??
    unreported(live) ??
    generalHealth(live) ??
    (isAttached(live) ? attachedHealth(live) : undefined) ??
    compositeHealth(live) ??
    lastOperationHealth(live) ??
    gardenerHealth(live) ??
    failureCondition(live) ??
    failedPhase(live) ??
    openCondition(live) ??
    openPhase(live)
  );
}

function unreported({ group, kind, hasStatus }: Live): Found | undefined {
  return !hasStatus && alwaysReports(`${group}/${kind}`) ? NOT_OBSERVED : undefined;
}

/** A person has stopped it. */
function stopped({ spec, conditionWith }: Live): Found | undefined {
  if (spec.suspend === true || spec.paused === true) return suspended('it is suspended');
  const condition = conditionWith(['Paused', 'Suspended'], 'True');
  return condition === undefined ? undefined : suspended(condition);
}

/** Composite resources of Crossplane and claims have groups of their users: `Synced` with a reason of Crossplane tells them. */
function compositeHealth({ conditions, condition }: Live): Found | undefined {
  const reason = textOf(condition('Synced')?.reason);
  return COMPOSITE.includes(reason) ? syncedHealth(conditions) : undefined;
}

const COMPOSITE: readonly string[] = ['ReconcileSuccess', 'ReconcileError', 'ReconcilePaused'];

function failureCondition({ conditions, condition, conditionWith }: Live): Found | undefined {
  const abnormal = conditions.find(({ type, status }) => status === 'True' && isAbnormal(type));
  if (abnormal !== undefined) return failed(abnormal);
  // These sum up the others.
  if (condition('Ready') !== undefined || isReady({ conditionWith })) return undefined;
  const broken = conditions.find(
    ({ type, status, reason }) => status === 'False' && !isAbnormal(type) && isFailure(reason),
  );
  return broken === undefined ? undefined : failed(broken);
}

/** Conditions that become true when all is well. */
const NORMAL = new Set(
  (
    'Ready Available Healthy Synced Reconciled Accepted Programmed Deployed Valid Configured Succeeded Complete Completed ' +
    'Established RemoteSynced Promoted'
  ).split(' '),
);

function openCondition({
  status: { ready: isSaidReady, healthy },
  conditions,
  condition,
  conditionWith,
}: Live): Found | undefined {
  const ready = condition('Ready');
  if (ready?.status === 'True') return undefined;
  const open =
    ready ??
    conditionWith(['NotReady'], 'True') ??
    conditions.find(({ type, status }) => NORMAL.has(textOf(type)) && status !== 'True');
  if (open !== undefined) {
    const isFailed = open.status !== 'Unknown' && isFailure(open.reason);
    return isFailed ? failed(open) : inProgress(open);
  }
  return isSaidReady === false || healthy === false ? inProgress('its status says that it is not ready') : undefined;
}

const FAILED = wordSet('failed failure error errored degraded unhealthy invalid configerror rejected');
const OPEN = wordSet(
  'pending creating provisioning progressing inprogress updating upgrading deploying initializing installing reconciling restarting ' +
    'starting waiting scaling configuring applyingchanges migratingdata',
);

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(' '));
}

/** The words in which a status sums itself up. */
function phasesOf({ status }: Live): readonly string[] {
  return [status.phase, status.state, status.status, status.health].map(textOf).filter((text) => text !== '');
}

function failedPhase(live: Live): Found | undefined {
  if (isReady(live)) return undefined;
  const phase = phasesOf(live).find((each) => FAILED.has(wordOf(each)));
  return phase === undefined ? undefined : failed(textOf(live.status.message) || `its status is ${phase}`);
}

function openPhase(live: Live): Found | undefined {
  if (isReady(live)) return undefined;
  for (const phase of phasesOf(live)) {
    const [word, message] = [wordOf(phase), textOf(live.status.message) || `its status is ${phase}`];
    if (OPEN.has(word)) return inProgress(message);
    if (word === 'suspended' || word === 'paused') return suspended(message);
    if (word === 'unknown') return unknown(message);
  }
  return colourHealth(live);
}

/** The colours of Elastic: red until the first Pods have started, and yellow for good where one node has no other for its copies. */
function colourHealth({ metadata, status }: Live): Found | undefined {
  const [created, message] = [timeOf(metadata.creationTimestamp), `its health is ${textOf(status.health)}`];
  switch (status.health) {
    case 'red':
      return failedAfter(created, message);
    case 'yellow':
      return until(created, YELLOW_MS, inProgress(message), current(message));
    default:
      return undefined;
  }
}

const YELLOW_MS = 600_000;

function wordOf(phase: string): string {
  return phase.toLowerCase().replaceAll(/[\s_-]/g, '');
}

function isReady({ conditionWith }: Pick<Live, 'conditionWith'>): boolean {
  return conditionWith(['Ready', 'Available'], 'True') !== undefined;
}
