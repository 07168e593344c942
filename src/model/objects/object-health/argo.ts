import { isJsonObject, objectOf, textOf } from '../../text/json.ts';
import {
  count,
  type Found,
  failed,
  inProgress,
  type Live,
  NOT_OBSERVED,
  type Rules,
  replicasOf,
  suspended,
  unknown,
} from './health.ts';

/** Argo Rollouts, Workflows, Events and CD. */
export const argoRules: Rules = {
  'argoproj.io/Rollout': rolloutHealth,
  'argoproj.io/AnalysisRun': phaseHealth,
  'argoproj.io/Experiment': phaseHealth,
  'argoproj.io/Workflow': phaseHealth,
  'argoproj.io/Application': applicationHealth,
  'argoproj.io/ApplicationSet': applicationSetHealth,
  'argoproj.io/CronWorkflow': cronWorkflowHealth,
  'argoproj.io/EventBus': eventsHealth,
  'argoproj.io/EventSource': eventsHealth,
  'argoproj.io/Sensor': eventsHealth,
};

const WORKLOAD_GENERATION = 'rollout.argoproj.io/workload-generation';

function rolloutHealth(live: Live): Found | undefined {
  const { metadata, spec, status, conditions, hasStatus } = live;
  if (!hasStatus) return NOT_OBSERVED;
  // A text. Early versions wrote a hash in its place, which can consist of digits.
  const observed = Number(status.observedGeneration);
  if (observed < count(metadata.generation)) return NOT_OBSERVED;
  const workload = textOf(objectOf(metadata.annotations)[WORKLOAD_GENERATION]);
  if (isJsonObject(spec.workloadRef) && workload !== '' && workload !== status.workloadObservedGeneration) {
    return inProgress('the change of its workload is not taken up yet');
  }
  if (status.phase !== undefined) return rolloutPhase(textOf(status.phase), textOf(status.message));
  const broken = conditions.find(
    ({ type, reason }) => type === 'InvalidSpec' || (type === 'Progressing' && ENDED.includes(textOf(reason))),
  );
  if (broken !== undefined) return failed(broken);
  const pauses = status.pauseConditions;
  if (spec.paused === true || (Array.isArray(pauses) && pauses.length > 0)) return suspended('it is paused');
  return rolloutReplicas(live);
}

const ENDED: readonly string[] = ['RolloutAborted', 'ProgressDeadlineExceeded'];

function rolloutPhase(phase: string, message: string): Found | undefined {
  switch (phase) {
    case 'Healthy':
      return undefined;
    case 'Degraded':
      return failed(message || 'the rollout is degraded');
    case 'Paused':
      return suspended(message || 'it is paused');
    default:
      return inProgress(message || 'the rollout is in progress');
  }
}

/** The rollout of a version that writes no phase, by what it counts. */
function rolloutReplicas({ spec, status }: Live): Found | undefined {
  const { blueGreen, canary } = objectOf(spec.strategy);
  const wanted = replicasOf(spec);
  const updated = count(status.updatedReplicas);
  const hash = textOf(status.currentPodHash);
  const stable = textOf(status.stableRS) || textOf(objectOf(status.canary).stableRS);
  if (hash === '') return NOT_OBSERVED;
  if (updated < wanted) return inProgress(`${updated} of ${wanted} pods are of the new revision`);
  if (count(status.availableReplicas) < updated) return inProgress('new pods are not available yet');
  if (isJsonObject(blueGreen)) {
    if (objectOf(status.blueGreen).activeSelector !== hash) return inProgress('the active service is not switched yet');
    return stable !== '' && stable !== hash ? inProgress('the analysis is not complete') : undefined;
  }
  if (!isJsonObject(canary)) return undefined;
  if (count(status.replicas) > updated) return inProgress('pods of the old revision are still there');
  return stable === hash ? undefined : inProgress('not all steps are done');
}

function phaseHealth({ status }: Live): Found | undefined {
  const { phase } = status;
  const message = textOf(status.message);
  switch (phase) {
    case 'Successful':
    case 'Succeeded':
      return undefined;
    case 'Failed':
    case 'Error':
      return failed(message || `its phase is ${phase}`);
    case 'Inconclusive':
      return unknown(message || 'the analysis is inconclusive');
    default:
      return inProgress(message || 'it has not ended yet');
  }
}

function applicationHealth({ status, hasStatus }: Live): Found | undefined {
  if (!hasStatus) return NOT_OBSERVED;
  const { status: health, message } = objectOf(status.health);
  const text = textOf(message) || `its health is ${textOf(health)}`;
  switch (health) {
    case 'Degraded':
      return failed(text);
    case 'Progressing':
    case 'Missing':
      return inProgress(text);
    case 'Suspended':
      return suspended(text);
    case 'Unknown':
      return unknown(text);
    default:
      return undefined;
  }
}

function applicationSetHealth({ conditions, conditionWith }: Live): Found | undefined {
  if (conditions.length === 0) return NOT_OBSERVED;
  const rolling = conditionWith(['RolloutProgressing'], 'True');
  if (rolling !== undefined) return inProgress(rolling);
  const broken =
    conditionWith(['ErrorOccurred'], 'True') ?? conditionWith(['ResourcesUpToDate', 'ParametersGenerated'], 'False');
  return broken === undefined ? undefined : failed(broken);
}

function cronWorkflowHealth({ spec, conditionWith }: Live): Found | undefined {
  if (spec.suspend === true) return suspended('it is suspended');
  const broken = conditionWith(['SpecError', 'SubmissionError'], 'True');
  return broken === undefined ? undefined : failed(broken);
}

function eventsHealth({ conditions, condition }: Live): Found | undefined {
  if (conditions.length === 0) return NOT_OBSERVED;
  const broken = conditions.find(({ status }) => status === 'False');
  if (broken !== undefined) return failed(broken);
  const open = condition('Deployed');
  return open === undefined || open.status === 'True' ? undefined : inProgress(open);
}
