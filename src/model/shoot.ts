import { type JsonObject, objectOf, textOf } from './json.ts';
import { annotationOf } from './object-key.ts';

/** The types of the conditions of a Shoot, in the order in which Gardener writes them. */
export const SHOOT_CONDITIONS = [
  'APIServerAvailable',
  'ControlPlaneHealthy',
  'ObservabilityComponentsHealthy',
  'SystemComponentsHealthy',
  'EveryNodeReady',
] as const;
export type ShootCondition = (typeof SHOOT_CONDITIONS)[number];

/** What `status.gardener.name` says of a Shoot that fleetrelay cares for. */
export const SHOOT_CARETAKER = 'fleetrelay';

/** What the care of a Shoot depends on. */
export interface Shoot {
  /** The KubernetesCluster that is the Shoot's cluster. */
  readonly cluster: string;
  /** The KubernetesCluster that runs the control plane; absent: no Seed does. */
  readonly seed?: string;
  /** The namespace of the control plane in the Seed. */
  readonly controlPlaneNamespace: string;
  /** The cluster is to sleep: its conditions are not checked. */
  readonly isHibernated: boolean;
  /** An annotation switches care off. */
  readonly isIgnored: boolean;
}

/** Reads a Shoot that its schema has checked. */
export function shootOf({ namespace, name }: { namespace: string; name: string }, value: JsonObject): Shoot {
  const spec = objectOf(value.spec);
  const seed = textOf(spec.seedName);
  const project = namespace.replace(/^garden-/, '');
  return {
    cluster: annotationOf(value, 'fleetrelay.dev/cluster') || name,
    ...(seed === '' ? {} : { seed }),
    controlPlaneNamespace:
      annotationOf(value, 'fleetrelay.dev/control-plane-namespace') || `shoot--${project}--${name}`,
    isHibernated: objectOf(spec.hibernation).enabled === true,
    isIgnored: annotationOf(value, 'shoot.gardener.cloud/ignore') === 'true',
  };
}

/** Whether a Gardener writes this status: then fleetrelay writes none of it. */
export function isOfGardener(status: JsonObject): boolean {
  const name = textOf(objectOf(status.gardener).name);
  return name !== '' && name !== SHOOT_CARETAKER;
}
