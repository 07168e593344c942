import { type JsonObject, objectOf } from '../../text/json.ts';
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
} from './health.ts';

/** Workloads that keep Pods running, and the budgets of their Pods. */
export const workloadRules: Rules = {
  'apps/Deployment': deploymentHealth,
  'apps/StatefulSet': statefulSetHealth,
  'apps/DaemonSet': daemonSetHealth,
  'apps/ReplicaSet': replicaSetHealth,
  '/ReplicationController': replicaSetHealth,
  'policy/PodDisruptionBudget': budgetHealth,
};

function deploymentHealth({ spec, status, condition }: Live): Found | undefined {
  const progressing = condition('Progressing');
  if (progressing?.reason === 'ProgressDeadlineExceeded') return failed(progressing);
  const wanted = replicasOf(spec);
  const updated = count(status.updatedReplicas);
  const available = below(count(status.availableReplicas), wanted, 'available');
  // A paused rollout leaves Pods of both revisions, and they have to work.
  if (spec.paused === true) return unobserved(status) ?? available ?? suspended('its rollout is paused');
  return (
    unobserved(status) ??
    below(updated, wanted, 'of the new revision') ??
    surplus(count(status.replicas) - updated, 'pods of the old revision are still there') ??
    available
  );
}

function statefulSetHealth({ spec, status }: Live): Found | undefined {
  const { type, rollingUpdate } = objectOf(spec.updateStrategy);
  const wanted = replicasOf(spec);
  const areThere =
    unobserved(status) ??
    below(count(status.replicas), wanted, 'there') ??
    below(count(status.readyReplicas), wanted, 'ready') ??
    surplus(count(status.replicas) - wanted, 'pods more than declared are still there');
  if (areThere !== undefined || type === 'OnDelete') return areThere;
  const partition = count(objectOf(rollingUpdate).partition);
  if (partition > 0) return below(count(status.updatedReplicas), wanted - partition, 'of the new revision');
  return status.currentRevision === status.updateRevision
    ? undefined
    : inProgress('not all pods are of the new revision');
}

function daemonSetHealth({ spec, status }: Live): Found | undefined {
  const wanted = count(status.desiredNumberScheduled);
  // Old Pods stay until a person deletes them.
  const isOnDelete = objectOf(spec.updateStrategy).type === 'OnDelete';
  return (
    unobserved(status) ??
    below(count(status.currentNumberScheduled), wanted, 'there') ??
    (isOnDelete ? undefined : below(count(status.updatedNumberScheduled), wanted, 'of the new revision')) ??
    below(count(status.numberAvailable), wanted, 'available') ??
    below(count(status.numberReady), wanted, 'ready')
  );
}

function replicaSetHealth({ spec, status, conditionWith }: Live): Found | undefined {
  const wanted = replicasOf(spec);
  const failure = conditionWith(['ReplicaFailure'], 'True');
  if (failure !== undefined) return inProgress(failure);
  return (
    unobserved(status) ??
    below(count(status.availableReplicas), wanted, 'available') ??
    surplus(count(status.replicas) - wanted, 'pods more than declared are still there')
  );
}

function budgetHealth({ status, conditions }: Live): Found | undefined {
  const broken = conditions.find(({ status: is, reason }) => is === 'False' && reason === 'SyncFailed');
  if (broken !== undefined) return failed(broken);
  const [healthy, wanted] = [count(status.currentHealthy), count(status.desiredHealthy)];
  const isKept = healthy >= wanted;
  return unobserved(status) ?? (isKept ? undefined : inProgress(`${healthy} of at least ${wanted} pods are healthy`));
}

function unobserved({ observedGeneration }: JsonObject): Found | undefined {
  return observedGeneration === undefined ? NOT_OBSERVED : undefined;
}

function below(pods: number, wanted: number, what: string): Found | undefined {
  return pods < wanted ? inProgress(`${pods} of ${wanted} pods are ${what}`) : undefined;
}

function surplus(pods: number, what: string): Found | undefined {
  return pods > 0 ? inProgress(`${pods} ${what}`) : undefined;
}
