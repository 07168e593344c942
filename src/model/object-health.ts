import type { JsonObject, JsonValue } from './json.ts';
import { objectOf, objectsOf, textOf } from './json-fields.ts';

/**
 * How an applied object is, by the rules of kstatus. `current`: as declared and working, or of a kind that says nothing.
 * `inProgress`: on its way. `failed`: it will not get there by itself. `terminating`: being deleted.
 */
export interface ObjectHealth {
  readonly state: 'current' | 'inProgress' | 'failed' | 'terminating' | 'unknown';
  /** For people; empty when there is nothing to add. */
  readonly message: string;
}

const CURRENT: ObjectHealth = { state: 'current', message: '' };

/** Judges a whole live object: `metadata.generation` and `status` are looked at. */
export function objectHealth(value: JsonObject): ObjectHealth {
  const metadata = objectOf(value.metadata);
  if (metadata.deletionTimestamp !== undefined) return { state: 'terminating', message: 'it is being deleted' };
  return generalHealth(value, metadata) ?? kindHealth(value) ?? readyHealth(value) ?? CURRENT;
}

/** What is the same for all kinds: a status that is of an older generation, and the conditions that say abnormal things. */
function generalHealth(value: JsonObject, { generation }: JsonObject): ObjectHealth | undefined {
  const { observedGeneration } = objectOf(value.status);
  if (typeof observedGeneration === 'number' && typeof generation === 'number' && observedGeneration !== generation) {
    return inProgress(`generation ${generation} is not taken up yet; its status is of ${observedGeneration}`);
  }
  const reconciling = condition(value, 'Reconciling');
  if (reconciling?.status === 'True') return inProgress(messageOf(reconciling));
  const stalled = condition(value, 'Stalled');
  return stalled?.status === 'True' ? failed(messageOf(stalled)) : undefined;
}

function kindHealth(value: JsonObject): ObjectHealth | undefined {
  return KINDS[`${groupOf(value)}/${value.kind}`]?.(value);
}

const KINDS: Readonly<Record<string, (value: JsonObject) => ObjectHealth>> = {
  'apps/Deployment': deploymentHealth,
  'apps/StatefulSet': statefulSetHealth,
  'apps/DaemonSet': daemonSetHealth,
  'apps/ReplicaSet': replicaSetHealth,
  '/Pod': podHealth,
  'batch/Job': jobHealth,
  'apiextensions.k8s.io/CustomResourceDefinition': definitionHealth,
  '/PersistentVolumeClaim': claimHealth,
  '/Service': serviceHealth,
  'policy/PodDisruptionBudget': budgetHealth,
  '/Namespace': namespaceHealth,
};

/** A kind whose controller has said nothing of this object yet is on its way, if it is one that always says something. */
const NOT_TAKEN_UP = inProgress('its controller has not taken it up yet');

function deploymentHealth(value: JsonObject): ObjectHealth {
  const { status, wanted } = rollout(value);
  const progressing = condition(value, 'Progressing');
  if (progressing?.reason === 'ProgressDeadlineExceeded') return failed(messageOf(progressing));
  if (!hasStatus(value)) return NOT_TAKEN_UP;
  const [updated, replicas, available] = [
    count(status.updatedReplicas),
    count(status.replicas),
    count(status.availableReplicas),
  ];
  if (updated < wanted) return inProgress(`${updated} of ${wanted} pods are of the new revision`);
  if (replicas > updated) return inProgress(`${replicas - updated} pods of the old revision are still there`);
  if (available < wanted) return inProgress(`${available} of ${wanted} pods are available`);
  return CURRENT;
}

function statefulSetHealth(value: JsonObject): ObjectHealth {
  const { spec, status, wanted } = rollout(value);
  const strategy = objectOf(spec.updateStrategy);
  if (strategy.type === 'OnDelete') return CURRENT;
  if (!hasStatus(value)) return NOT_TAKEN_UP;
  if (count(status.replicas) < wanted) return inProgress(`${count(status.replicas)} of ${wanted} pods are there`);
  if (count(status.readyReplicas) < wanted)
    return inProgress(`${count(status.readyReplicas)} of ${wanted} pods are ready`);
  if (count(status.replicas) > wanted) return inProgress(`${count(status.replicas) - wanted} pods too many are there`);
  const partition = count(objectOf(strategy.rollingUpdate).partition);
  if (partition > 0) {
    const updated = count(status.updatedReplicas);
    return updated < wanted - partition
      ? inProgress(`${updated} of ${wanted - partition} pods are of the new revision`)
      : CURRENT;
  }
  return status.currentRevision === status.updateRevision
    ? CURRENT
    : inProgress('not all pods are of the new revision');
}

function daemonSetHealth(value: JsonObject): ObjectHealth {
  const { status } = rollout(value);
  if (objectOf(status).observedGeneration === undefined) return NOT_TAKEN_UP;
  const wanted = count(status.desiredNumberScheduled);
  const [updated, ready, available] = [status.updatedNumberScheduled, status.numberReady, status.numberAvailable].map(
    count,
  );
  if (count(status.currentNumberScheduled) < wanted) {
    return inProgress(`${count(status.currentNumberScheduled)} of ${wanted} pods are there`);
  }
  if ((updated ?? 0) < wanted) return inProgress(`${updated} of ${wanted} pods are of the new revision`);
  if ((available ?? 0) < wanted) return inProgress(`${available} of ${wanted} pods are available`);
  return (ready ?? 0) < wanted ? inProgress(`${ready} of ${wanted} pods are ready`) : CURRENT;
}

function replicaSetHealth(value: JsonObject): ObjectHealth {
  const { status, wanted } = rollout(value);
  const failure = condition(value, 'ReplicaFailure');
  if (failure?.status === 'True') return inProgress(messageOf(failure));
  if (!hasStatus(value)) return NOT_TAKEN_UP;
  if (count(status.availableReplicas) < wanted) {
    return inProgress(`${count(status.availableReplicas)} of ${wanted} pods are available`);
  }
  return count(status.replicas) > wanted
    ? inProgress(`${count(status.replicas) - wanted} pods too many are there`)
    : CURRENT;
}

function podHealth(value: JsonObject): ObjectHealth {
  const status = objectOf(value.status);
  const waiting = [...objectsOf(status.containerStatuses), ...objectsOf(status.initContainerStatuses)]
    .map((container) => objectOf(objectOf(container.state).waiting))
    .find(({ reason }) =>
      ['CrashLoopBackOff', 'ImagePullBackOff', 'CreateContainerConfigError'].includes(textOf(reason)),
    );
  switch (status.phase) {
    case 'Succeeded':
      return CURRENT;
    case 'Failed':
      return failed(
        textOf(status.message) === '' ? `the pod has failed: ${textOf(status.reason)}` : textOf(status.message),
      );
    case 'Running':
    case 'Pending': {
      if (condition(value, 'Ready')?.status === 'True') return CURRENT;
      if (waiting !== undefined) return failed(`a container does not start: ${textOf(waiting.reason)}`);
      const unscheduled = condition(value, 'PodScheduled');
      return inProgress(unscheduled?.status === 'False' ? messageOf(unscheduled) : 'the pod is not ready');
    }
    default:
      return inProgress('the pod has no phase yet');
  }
}

function jobHealth(value: JsonObject): ObjectHealth {
  const failure = condition(value, 'Failed');
  if (failure?.status === 'True') return failed(messageOf(failure));
  if (condition(value, 'Complete')?.status === 'True' || condition(value, 'Suspended')?.status === 'True')
    return CURRENT;
  // A job that runs is as declared: how long it takes is its own matter.
  return objectOf(value.status).startTime === undefined ? NOT_TAKEN_UP : CURRENT;
}

function definitionHealth(value: JsonObject): ObjectHealth {
  const names = condition(value, 'NamesAccepted');
  if (names?.status === 'False') return failed(messageOf(names));
  const established = condition(value, 'Established');
  if (established?.status === 'True') return CURRENT;
  return established === undefined || established.reason === 'Installing'
    ? NOT_TAKEN_UP
    : failed(messageOf(established));
}

function claimHealth(value: JsonObject): ObjectHealth {
  const phase = textOf(objectOf(value.status).phase);
  if (phase === 'Bound') return CURRENT;
  return phase === 'Lost' ? failed('its volume is lost') : inProgress('no volume is bound to it');
}

function serviceHealth(value: JsonObject): ObjectHealth {
  if (objectOf(value.spec).type !== 'LoadBalancer') return CURRENT;
  const { ingress } = objectOf(objectOf(value.status).loadBalancer);
  return Array.isArray(ingress) && ingress.length > 0 ? CURRENT : inProgress('the load balancer has no address yet');
}

function budgetHealth(value: JsonObject): ObjectHealth {
  const status = objectOf(value.status);
  if (status.observedGeneration === undefined) return NOT_TAKEN_UP;
  const [healthy, wanted] = [count(status.currentHealthy), count(status.desiredHealthy)];
  return healthy >= wanted ? CURRENT : inProgress(`${healthy} of at least ${wanted} pods are healthy`);
}

function namespaceHealth(value: JsonObject): ObjectHealth {
  return objectOf(value.status).phase === 'Terminating'
    ? { state: 'terminating', message: 'it is being deleted' }
    : CURRENT;
}

/** Kinds that nobody knows, by the one condition that most of them have. */
function readyHealth(value: JsonObject): ObjectHealth | undefined {
  const ready = condition(value, 'Ready') ?? condition(value, 'Available');
  if (ready === undefined) return undefined;
  return ready.status === 'True' ? CURRENT : inProgress(messageOf(ready));
}

function rollout(value: JsonObject) {
  const [spec, status] = [objectOf(value.spec), objectOf(value.status)];
  return { spec, status, wanted: typeof spec.replicas === 'number' ? spec.replicas : 1 };
}

function hasStatus(value: JsonObject): boolean {
  return objectOf(value.status).observedGeneration !== undefined;
}

function condition(value: JsonObject, type: string): JsonObject | undefined {
  return objectsOf(objectOf(value.status).conditions).find((one) => one.type === type);
}

function messageOf({ message, reason }: JsonObject): string {
  return textOf(message) === '' ? textOf(reason) : textOf(message);
}

function groupOf({ apiVersion }: JsonObject): string {
  const slash = textOf(apiVersion).indexOf('/');
  return slash < 0 ? '' : textOf(apiVersion).slice(0, slash);
}

function count(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}

function inProgress(message: string): ObjectHealth {
  return { state: 'inProgress', message };
}

function failed(message: string): ObjectHealth {
  return { state: 'failed', message };
}
