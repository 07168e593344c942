import { engineKinds } from '../../../model/fleet/engine-kinds.ts';
import { annotationOf } from '../../../model/objects/object-key.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../../model/text/json.ts';
import { given } from '../../../model/values/given.ts';
import { type CredentialsRotation, credentialsRotationOf } from './credentials-rotation.ts';

declare module '../../../model/fleet/desired.ts' {
  interface DeclarationValues {
    /** As written. */
    readonly Shoot: JsonObject;
  }
}

/** The types of the conditions of a Shoot, in the order in which Gardener writes them. */
export const SHOOT_CONDITIONS = engineKinds.Shoot.ownConditions;
export type ShootCondition = (typeof SHOOT_CONDITIONS)[number];

/** Names the KubernetesCluster that is the Shoot's cluster. */
export const CLUSTER_ANNOTATION = 'fleetrelay.dev/cluster';

/** What `status.gardener.name` says of a Shoot that fleetrelay cares for. */
export const SHOOT_CARETAKER = 'fleetrelay';

/** Nodes of a Shoot that are made alike. */
export interface WorkerPool {
  readonly name: string;
  readonly minimum: number;
  readonly maximum: number;
  /** Its own, or the version of the control plane; may be empty. */
  readonly kubernetesVersion: string;
}

/** What the care of a Shoot depends on. */
export interface Shoot {
  /** The KubernetesCluster that is the Shoot's cluster. */
  readonly cluster: string;
  /** The KubernetesCluster that runs the control plane; absent: no Seed does. */
  readonly seed?: string;
  /** The namespace of the control plane in the Seed. */
  readonly controlPlaneNamespace: string;
  /** The spec says that the cluster is to sleep. */
  readonly wantsHibernation: boolean;
  /** `spec.purpose`; may be empty. */
  readonly purpose: string;
  /** `spec.kubernetes.version`; may be empty. */
  readonly kubernetesVersion: string;
  /** `spec.kubernetes.verticalPodAutoscaler`; absent counts as enabled. */
  readonly hasVerticalPodAutoscaler: boolean;
  /** `spec.provider.workers`, in their order. None: the cluster has no Nodes, and no condition about them. */
  readonly pools: readonly WorkerPool[];
  /** Absent: no credentials are rotated by themselves. */
  readonly credentialsRotation?: CredentialsRotation;
  /** An annotation switches care off. */
  readonly isIgnored: boolean;
  /** A Gardener has written the status in its document: see {@link isOfGardener}. */
  readonly isOfGardener: boolean;
  /** A custom resource that is being deleted. */
  readonly isDeleted: boolean;
}

/** Reads a Shoot that its schema has checked. */
export function shootOf({ namespace, name }: { namespace: string; name: string }, value: JsonObject): Shoot {
  const spec = objectOf(value.spec);
  const seed = textOf(spec.seedName);
  const kubernetes = objectOf(spec.kubernetes);
  const autoscaler = objectOf(kubernetes.verticalPodAutoscaler);
  const version = textOf(kubernetes.version);
  const credentialsRotation = credentialsRotationOf(value);
  const project = namespace.replace(/^garden-/, '');
  return {
    cluster: annotationOf(value, CLUSTER_ANNOTATION) || name,
    ...(seed === '' ? {} : { seed }),
    controlPlaneNamespace:
      annotationOf(value, 'fleetrelay.dev/control-plane-namespace') || `shoot--${project}--${name}`,
    wantsHibernation: objectOf(spec.hibernation).enabled === true,
    purpose: textOf(spec.purpose),
    kubernetesVersion: version,
    hasVerticalPodAutoscaler: kubernetes.verticalPodAutoscaler === undefined || autoscaler.enabled === true,
    pools: objectsOf(objectOf(spec.provider).workers).map(({ name: pool, minimum, maximum, kubernetes: own }) => ({
      name: textOf(pool),
      minimum: typeof minimum === 'number' ? minimum : 0,
      maximum: typeof maximum === 'number' ? maximum : 0,
      kubernetesVersion: textOf(objectOf(own).version) || version,
    })),
    ...given({ credentialsRotation }),
    isIgnored: annotationOf(value, 'shoot.gardener.cloud/ignore') === 'true',
    isOfGardener: isOfGardener(objectOf(value.status)),
    isDeleted: objectOf(value.metadata).deletionTimestamp !== undefined,
  };
}

/** Whether a Gardener writes this status: then fleetrelay writes none of it. */
export function isOfGardener(status: JsonObject): boolean {
  const name = textOf(objectOf(status.gardener).name);
  return name !== '' && name !== SHOOT_CARETAKER;
}
