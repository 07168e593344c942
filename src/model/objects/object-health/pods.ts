import { type JsonObject, objectOf, objectsOf, textOf } from '../../text/json.ts';
import {
  conditionOf,
  type Found,
  failed,
  inProgress,
  type Live,
  latestOf,
  type Rules,
  timeOf,
  unknown,
  until,
} from './health.ts';

/** A Pod that no node can take has failed after that time, as in kstatus; longer since an autoscaler began to add nodes for it. */
const UNSCHEDULABLE_MS = 15_000;
export const SCALING_UP_MS = 600_000;

export const podRules: Rules = { '/Pod': podHealth };

/** Whether no node can take the Pod: whether an autoscaler adds nodes for it then counts. */
export function isUnschedulable(value: JsonObject): boolean {
  if (value.kind !== 'Pod' || value.apiVersion !== 'v1') return false;
  const scheduled = conditionOf(objectOf(value.status), 'PodScheduled');
  return scheduled?.status === 'False' && scheduled.reason === 'Unschedulable';
}

function podHealth(live: Live): Found | undefined {
  const { status, condition } = live;
  switch (status.phase) {
    case 'Succeeded':
      return undefined;
    case 'Failed':
      return failed(textOf(status.message) || `the pod has failed: ${textOf(status.reason) || endOf(status)}`);
    case 'Running':
    case 'Pending': {
      if (condition('Ready')?.status === 'True') return undefined;
      const waiting = containersOf(status)
        .map(({ state }) => textOf(objectOf(objectOf(state).waiting).reason))
        .find((reason) => CANNOT_START.test(reason));
      if (waiting !== undefined) return failed(`a container does not start: ${waiting}`);
      return unscheduledHealth(live) ?? inProgress('the pod is not ready');
    }
    case 'Unknown':
      return unknown(textOf(status.message) || 'the node of the pod does not answer');
    default:
      return inProgress('the pod has no phase yet');
  }
}

/** Why the kubelet does not start a container, and tries again with back-off: `ErrImagePull`, `CrashLoopBackOff`, `RunContainerError`. */
const CANNOT_START = /^Err[A-Z]|(Error|BackOff|Failed)$|^(InvalidImageName|RegistryUnavailable|ContainerCannotRun)$/;

function containersOf({ initContainerStatuses, containerStatuses }: JsonObject): readonly JsonObject[] {
  return [...objectsOf(initContainerStatuses), ...objectsOf(containerStatuses)];
}

/** How the first container that failed has ended. */
function endOf(status: JsonObject): string {
  for (const { name, state } of containersOf(status)) {
    const { message, reason, exitCode } = objectOf(objectOf(state).terminated);
    if (exitCode === undefined || exitCode === 0) continue;
    return textOf(message).trim() || `container ${textOf(name)} has ended with ${exitCode} (${textOf(reason)})`;
  }
  return 'no reason is given';
}

function unscheduledHealth({ metadata, known, condition }: Live): Found | undefined {
  const scheduled = condition('PodScheduled');
  if (scheduled?.status !== 'False') return undefined;
  const waits = inProgress(scheduled);
  if (scheduled.reason !== 'Unschedulable') return waits;
  const then = failed(scheduled);
  if (known.scalesUpSince !== undefined) return until(known.scalesUpSince, SCALING_UP_MS, waits, then);
  // A Pod can be held back long before the scheduler looks for a node.
  const times = [timeOf(metadata.creationTimestamp), timeOf(scheduled.lastTransitionTime), known.unschedulableSince];
  return until(latestOf(times), UNSCHEDULABLE_MS, waits, then);
}
