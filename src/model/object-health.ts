import { type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from './json.ts';

/**
 * The health of an applied object, by the rules of kstatus. `current`: as declared and working, or a kind without status.
 * `inProgress`: its controller is at work. `failed`: it needs a person. `terminating`: it is being deleted.
 */
export interface ObjectHealth {
  readonly state: 'current' | 'inProgress' | 'failed' | 'terminating' | 'unknown';
  /** For people; may be empty. */
  readonly message: string;
}

const CURRENT: ObjectHealth = { state: 'current', message: '' };
const TERMINATING: ObjectHealth = { state: 'terminating', message: 'it is being deleted' };
/** For kinds whose controller always writes a status. */
const NOT_OBSERVED = inProgress('its controller has not taken it up yet');

/** Judges a live object with its complete `metadata` and `status`. */
export function objectHealth(value: JsonObject): ObjectHealth {
  const { deletionTimestamp, generation } = objectOf(value.metadata);
  if (deletionTimestamp !== undefined) return TERMINATING;
  const live = { spec: objectOf(value.spec), status: objectOf(value.status) };
  const group = textOf(value.apiVersion).replace(/(^|\/)[^/]*$/, '');
  const ofKind = KINDS[`${group}/${value.kind}`] ?? readyHealth;
  return generalHealth(live, generation) ?? ofKind(live) ?? CURRENT;
}

interface Live {
  readonly spec: JsonObject;
  readonly status: JsonObject;
}

/** The rules for all kinds: a status of another generation, `Reconciling` and `Stalled`. Undefined if none of them decides. */
function generalHealth({ status }: Live, generation: JsonValue | undefined): ObjectHealth | undefined {
  const { observedGeneration } = status;
  if (typeof observedGeneration === 'number' && typeof generation === 'number' && observedGeneration !== generation) {
    return inProgress(`generation ${generation} is not taken up yet; its status is of ${observedGeneration}`);
  }
  return whileCondition(status, 'Reconciling', 'True', inProgress) ?? whileCondition(status, 'Stalled', 'True', failed);
}

/** The rules of one kind; undefined: the object is current. */
const KINDS: Readonly<Record<string, (live: Live) => ObjectHealth | undefined>> = {
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
  '/Namespace': ({ status }) => (status.phase === 'Terminating' ? TERMINATING : undefined),
};

function deploymentHealth({ spec, status }: Live): ObjectHealth | undefined {
  const progressing = conditionOf(status, 'Progressing');
  if (progressing?.reason === 'ProgressDeadlineExceeded') return failed(messageOf(progressing));
  const wanted = replicasOf(spec);
  const updated = count(status.updatedReplicas);
  return (
    unobserved(status) ??
    below(updated, wanted, 'of the new revision') ??
    surplus(count(status.replicas) - updated, 'pods of the old revision are still there') ??
    below(count(status.availableReplicas), wanted, 'available')
  );
}

function statefulSetHealth({ spec, status }: Live): ObjectHealth | undefined {
  const { type, rollingUpdate } = objectOf(spec.updateStrategy);
  if (type === 'OnDelete') return undefined;
  const wanted = replicasOf(spec);
  const partition = count(objectOf(rollingUpdate).partition);
  return (
    unobserved(status) ??
    below(count(status.replicas), wanted, 'there') ??
    below(count(status.readyReplicas), wanted, 'ready') ??
    surplus(count(status.replicas) - wanted, 'pods too many are there') ??
    (partition > 0 ? below(count(status.updatedReplicas), wanted - partition, 'of the new revision') : undefined) ??
    (partition > 0 || status.currentRevision === status.updateRevision
      ? undefined
      : inProgress('not all pods are of the new revision'))
  );
}

function daemonSetHealth({ status }: Live): ObjectHealth | undefined {
  const wanted = count(status.desiredNumberScheduled);
  return (
    unobserved(status) ??
    below(count(status.currentNumberScheduled), wanted, 'there') ??
    below(count(status.updatedNumberScheduled), wanted, 'of the new revision') ??
    below(count(status.numberAvailable), wanted, 'available') ??
    below(count(status.numberReady), wanted, 'ready')
  );
}

function replicaSetHealth({ spec, status }: Live): ObjectHealth | undefined {
  const wanted = replicasOf(spec);
  return (
    whileCondition(status, 'ReplicaFailure', 'True', inProgress) ??
    unobserved(status) ??
    below(count(status.availableReplicas), wanted, 'available') ??
    surplus(count(status.replicas) - wanted, 'pods too many are there')
  );
}

function podHealth({ status }: Live): ObjectHealth | undefined {
  switch (status.phase) {
    case 'Succeeded':
      return undefined;
    case 'Failed':
      return failed(
        textOf(status.message) === '' ? `the pod has failed: ${textOf(status.reason)}` : textOf(status.message),
      );
    case 'Running':
    case 'Pending': {
      if (conditionOf(status, 'Ready')?.status === 'True') return undefined;
      const waiting = [...objectsOf(status.containerStatuses), ...objectsOf(status.initContainerStatuses)]
        .map(({ state }) => textOf(objectOf(objectOf(state).waiting).reason))
        .find((reason) => ['CrashLoopBackOff', 'ImagePullBackOff', 'CreateContainerConfigError'].includes(reason));
      if (waiting !== undefined) return failed(`a container does not start: ${waiting}`);
      return whileCondition(status, 'PodScheduled', 'False', inProgress) ?? inProgress('the pod is not ready');
    }
    default:
      return inProgress('the pod has no phase yet');
  }
}

function jobHealth({ status }: Live): ObjectHealth | undefined {
  const failure = whileCondition(status, 'Failed', 'True', failed);
  if (failure !== undefined) return failure;
  // A running Job is current, however long it runs.
  const isKnown = ['Complete', 'Suspended'].some((type) => conditionOf(status, type)?.status === 'True');
  return isKnown || status.startTime !== undefined ? undefined : NOT_OBSERVED;
}

function definitionHealth({ status }: Live): ObjectHealth | undefined {
  const refused = whileCondition(status, 'NamesAccepted', 'False', failed);
  if (refused !== undefined) return refused;
  const established = conditionOf(status, 'Established');
  if (established?.status === 'True') return undefined;
  return established === undefined || established.reason === 'Installing'
    ? NOT_OBSERVED
    : failed(messageOf(established));
}

function claimHealth({ status: { phase } }: Live): ObjectHealth | undefined {
  if (phase === 'Bound') return undefined;
  return phase === 'Lost' ? failed('its volume is lost') : inProgress('no volume is bound to it');
}

function serviceHealth({ spec, status }: Live): ObjectHealth | undefined {
  if (spec.type !== 'LoadBalancer') return undefined;
  const { ingress } = objectOf(status.loadBalancer);
  return Array.isArray(ingress) && ingress.length > 0 ? undefined : inProgress('the load balancer has no address yet');
}

function budgetHealth({ status }: Live): ObjectHealth | undefined {
  const [healthy, wanted] = [count(status.currentHealthy), count(status.desiredHealthy)];
  const isKept = healthy >= wanted;
  return unobserved(status) ?? (isKept ? undefined : inProgress(`${healthy} of at least ${wanted} pods are healthy`));
}

/** The rule for all other kinds: the condition that most of them have. */
function readyHealth({ status }: Live): ObjectHealth | undefined {
  const ready = conditionOf(status, 'Ready') ?? conditionOf(status, 'Available');
  return ready === undefined || ready.status === 'True' ? undefined : inProgress(messageOf(ready));
}

function unobserved({ observedGeneration }: JsonObject): ObjectHealth | undefined {
  return observedGeneration === undefined ? NOT_OBSERVED : undefined;
}

function below(pods: number, wanted: number, what: string): ObjectHealth | undefined {
  return pods < wanted ? inProgress(`${pods} of ${wanted} pods are ${what}`) : undefined;
}

function surplus(pods: number, what: string): ObjectHealth | undefined {
  return pods > 0 ? inProgress(`${pods} ${what}`) : undefined;
}

/** The health that a condition stands for while it has this status. */
function whileCondition(
  status: JsonObject,
  type: string,
  value: 'True' | 'False',
  health: (message: string) => ObjectHealth,
): ObjectHealth | undefined {
  const condition = conditionOf(status, type);
  return condition?.status === value ? health(messageOf(condition)) : undefined;
}

/** The condition of this type in the status of a live object. */
export function conditionOf(status: JsonObject, type: string): JsonObject | undefined {
  return objectsOf(status.conditions).find((one) => one.type === type);
}

function messageOf({ message, reason }: JsonObject): string {
  return textOf(message) === '' ? textOf(reason) : textOf(message);
}

function replicasOf({ replicas }: JsonObject): number {
  return typeof replicas === 'number' ? replicas : 1;
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
