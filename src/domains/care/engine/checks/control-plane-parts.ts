import type { Collection, Reader } from '../../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../../engine/inputs.ts';
import { type ObjectKey, objectRefOf } from '../../../../model/objects/object-key.ts';
import { compareText, type JsonValue } from '../../../../model/text/json.ts';
import type { ShootCondition } from '../../model/shoot.ts';
import type { BoundShoot } from '../binding.ts';
import {
  type ComponentRole,
  type Components,
  componentGroup,
  DEPLOYMENT_KIND,
  ETCD_KIND,
} from '../objects/components.ts';
import { MANAGED_RESOURCE_KIND, type ManagedResources, managedResourceGroup } from '../objects/managed-resources.ts';
import type { ConditionFinding } from '../thresholds.ts';
import { namespaceObstacle } from '../visibility.ts';

/** Where a control plane runs. */
export interface ControlPlane {
  readonly seed: string;
  readonly namespace: string;
}

/** The control plane of a Shoot; undefined: no Seed runs one. */
export function controlPlaneOf({ seed, controlPlaneNamespace: namespace }: BoundShoot): ControlPlane | undefined {
  return seed === undefined ? undefined : { seed, namespace };
}

/** What the rules about parts of a control plane read. */
export interface PartsReads extends Pick<EngineInputs, 'kinds' | 'live'> {
  readonly settings: Collection<JsonValue>;
  readonly components: Components;
  readonly managedResources: ManagedResources;
}

/** The collections and indexes of {@link PartsReads}, for the declaration of a check. */
export function partsRead({ kinds, live, settings, components, managedResources }: PartsReads) {
  return [kinds, live, settings, components.components, components.unhealthy, managedResources.unhealthy];
}

/** Components of one kind and role. */
export interface ComponentRule {
  readonly kind: typeof DEPLOYMENT_KIND | typeof ETCD_KIND;
  readonly role: ComponentRole;
  /** The names of those that must exist. */
  readonly required: readonly string[];
}

const SAID = {
  [ETCD_KIND]: { reason: 'Etcd', plural: 'etcds', one: 'Etcd extension resource' },
  [DEPLOYMENT_KIND]: { reason: 'Deployment', plural: 'deployments', one: 'Deployment' },
} as const;

/** The required components exist, and all that exist are healthy. */
export function* componentFindings(
  read: Reader,
  reads: PartsReads,
  { seed, namespace }: ControlPlane,
  { kind, role, required }: ComponentRule,
): Generator<ConditionFinding | undefined> {
  const { components, unhealthy } = reads.components;
  const { reason, plural, one } = SAID[kind];
  const unseen = namespaceObstacle(read, reads, seed, namespace, kind);
  const missing = required.filter((name) => read.get(components, seed, `${kind}/${namespace}/${name}`)?.role !== role);
  if (unseen !== undefined) yield unseen;
  else if (missing.length > 0) {
    const names = [...missing].sort(compareText).join(' ');
    yield { outcome: 'failed', reason: `${reason}Missing`, message: `Missing required ${plural}: [${names}]` };
  }
  const [first] = read.first(unhealthy, componentGroup(seed, kind, namespace, role), 1);
  if (first === undefined) return;
  const key = first.key as ObjectKey;
  const message = `${one} "${objectRefOf(key).name}" is unhealthy: ${first.value.problem}`;
  yield { outcome: 'failed', reason: `${reason}Unhealthy`, message, cause: { cluster: seed, key } };
}

/**
 * The first problem of the ManagedResources that feed a condition.
 *
 * @param excuse asked if one has a problem; returns whether the problem of a ManagedResource does not count, or undefined if each
 * counts
 */
export function* managedResourceFindings(
  read: Reader,
  reads: PartsReads,
  { seed, namespace }: ControlPlane,
  type: ShootCondition,
  excuse: () => ((managedResource: ObjectKey) => boolean) | undefined = () => undefined,
): Generator<ConditionFinding | undefined> {
  const { unhealthy } = reads.managedResources;
  const group = managedResourceGroup(seed, namespace, type);
  // Most control planes have none: then all checks wait for the same group.
  const hasAny = read.count(unhealthy, managedResourceGroup(seed, namespace, undefined)) > 0;
  const [any] = hasAny ? read.first(unhealthy, group, 1) : [];
  const isExcused = any && excuse();
  const first = isExcused ? read.members(unhealthy, group).find(({ key }) => !isExcused(key as ObjectKey)) : any;
  const problem = first?.value.problem;
  if (problem !== undefined) yield { ...problem, cause: { cluster: seed, key: first?.key as ObjectKey } };
  yield namespaceObstacle(read, reads, seed, namespace, MANAGED_RESOURCE_KIND);
}
