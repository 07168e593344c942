import { engineKindRow, isEngineKind } from '../fleet/engine-kinds.ts';
import { isJsonObject, type JsonObject } from '../text/json.ts';
import { LAST_APPLIED } from './secret-values.ts';

/** Metadata that only an API server sets and that carries no information about the object. */
export const SERVERS_OWN: readonly string[] = [
  'creationTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'managedFields',
  'resourceVersion',
  'selfLink',
  'uid',
];

/**
 * Annotations that controllers and kubectl write on objects, with their news of each cluster. Sources: the reference of annotations of
 * Kubernetes 1.36, and the controllers of GKE, MetalLB, Rancher and Argo Rollouts.
 */
export const WRITTEN_ANNOTATIONS: ReadonlySet<string> = new Set([
  ...['revision', 'revision-history', 'desired-replicas', 'max-replicas'].map(
    (name) => `deployment.kubernetes.io/${name}`,
  ),
  'deprecated.daemonset.template.generation',
  'rollout.argoproj.io/revision',
  LAST_APPLIED,
  'cronjob.kubernetes.io/instantiate',
  'batch.kubernetes.io/job-tracking',
  'batch.kubernetes.io/cronjob-scheduled-timestamp',
  'autoscaling.alpha.kubernetes.io/conditions',
  'autoscaling.alpha.kubernetes.io/current-metrics',
  'pv.kubernetes.io/bind-completed',
  'pv.kubernetes.io/bound-by-controller',
  'volume.kubernetes.io/storage-provisioner',
  'volume.beta.kubernetes.io/storage-provisioner',
  'volume.kubernetes.io/selected-node',
  'kubernetes.io/service-account.uid',
  'control-plane.alpha.kubernetes.io/leader',
  'endpoints.kubernetes.io/last-change-trigger-time',
  ...['config.hash', 'config.mirror', 'config.seen', 'config.source'].map((name) => `kubernetes.io/${name}`),
  'csi.volume.kubernetes.io/nodeid',
  'volumes.kubernetes.io/controller-managed-attach-detach',
  'node.alpha.kubernetes.io/ttl',
  ...['backends', 'forwarding-rule', 'target-proxy', 'url-map'].map((name) => `ingress.kubernetes.io/${name}`),
  'cloud.google.com/neg-status',
  'field.cattle.io/publicEndpoints',
  'metallb.universe.tf/ip-allocated-from-pool',
  'metallb.io/ip-allocated-from-pool',
]);

/** Of {@link SERVERS_OWN}, what is read of Pods: EndpointSlices name them by UID, and their deletion begins a grace period before its time. */
const POD_FIELDS: readonly string[] = ['deletionGracePeriodSeconds', 'uid'];
/** Of other live objects: a status can be of an earlier generation. */
const LIVE_FIELDS: readonly string[] = ['generation'];

/** The metadata of a custom resource of this kind without what only an API server sets, and without kubectl's copy of the manifest. */
export function withoutServerFields(metadata: JsonObject, kind: string): JsonObject {
  return withoutUnread(metadata, readOf(kind));
}

/** The metadata of a live object of this kind without what only an API server sets and nothing reads. */
export function liveMetadata(metadata: JsonObject, kind: string): JsonObject {
  return withoutUnread(metadata, kind === 'Pod' ? POD_FIELDS : [...LIVE_FIELDS, ...readOf(kind)]);
}

function readOf(kind: string): readonly string[] {
  return isEngineKind(kind) ? (engineKindRow(kind).readsServerFields ?? []) : [];
}

function withoutUnread(metadata: JsonObject, read: readonly string[]): JsonObject {
  const kept = Object.fromEntries(
    Object.entries(metadata).filter(([name]) => !SERVERS_OWN.includes(name) || read.includes(name)),
  );
  const { annotations, ...others } = kept;
  if (!isJsonObject(annotations) || annotations[LAST_APPLIED] === undefined) return kept;
  const { [LAST_APPLIED]: _lastApplied, ...rest } = annotations;
  return Object.keys(rest).length === 0 ? others : { ...others, annotations: rest };
}
