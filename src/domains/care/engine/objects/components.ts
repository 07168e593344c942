import type { Derived, Graph, Index } from '../../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../../engine/inputs.ts';
import type { LiveObject } from '../../../../model/agent/agent.ts';
import { conditionOf } from '../../../../model/objects/object-health/health.ts';
import { labelsOf, metadataOf, type ObjectKey, objectRefOf } from '../../../../model/objects/object-key.ts';
import { type JsonObject, type JsonValue, objectOf, textOf } from '../../../../model/text/json.ts';
import { bounded } from '../bounded-text.ts';
import { conditionProblem, type ExpectedCondition } from './expected-conditions.ts';
import { generationsOf } from './generations.ts';

/** The kind of most parts of a control plane. */
export const DEPLOYMENT_KIND = 'apps/Deployment';
/** The kind of the databases of a control plane. */
export const ETCD_KIND = 'druid.gardener.cloud/Etcd';

const ROLES = ['controlplane', 'monitoring', 'logging'] as const;
/** What a part of a control plane is for: its label `gardener.cloud/role`. */
export type ComponentRole = (typeof ROLES)[number];

/** A part of a control plane. */
export interface Component {
  readonly role: ComponentRole;
  /** Why it is not healthy; absent: it is. */
  readonly problem?: string;
  /** The dependency-watchdog has scaled it down. */
  readonly isScaledDown?: true;
}

/** {@link deriveComponents}. */
export interface Components {
  /** Partition: the cluster. Key: the object's. */
  readonly components: Derived<Component>;
  /** Those with a problem, grouped by {@link componentGroup}. */
  readonly unhealthy: Index<Component>;
}

/** Derives the verdicts on all Deployments and Etcds that have a role. */
export function deriveComponents(graph: Graph, { live }: Pick<EngineInputs, 'live'>): Components {
  const components: Derived<Component> = graph.derive<LiveObject, Component>({
    name: 'componentsOfControlPlanes',
    from: live,
    keys: (key) => PROBLEMS.some(([kind]) => key.startsWith(`${kind}/`)),
    compute: ({ partition: cluster, key, value: { value } }, _read, emit) => {
      const role = labelsOf(value)['gardener.cloud/role'];
      if (!isRole(role)) return;
      const problem = PROBLEMS.find(([kind]) => key.startsWith(`${kind}/`))?.[1](value);
      const annotations = objectOf(metadataOf(value).annotations);
      emit(cluster, key, {
        role,
        ...(problem === undefined ? {} : { problem: bounded(problem) }),
        ...(annotations[SCALED_DOWN] === undefined ? {} : { isScaledDown: true }),
      });
    },
  });
  const unhealthy = graph.index('unhealthyComponents', components, ({ partition: cluster, key, value }) => {
    const { group, kind, namespace } = objectRefOf(key as ObjectKey);
    return value.problem === undefined ? [] : [componentGroup(cluster, `${group}/${kind}`, namespace, value.role)];
  });
  return { components, unhealthy };
}

/** With any value. */
const SCALED_DOWN = 'dependency-watchdog.gardener.cloud/meltdown-protection-active';

/** The group of the components of a kind (`group/Kind`) and a role in a Namespace of a cluster. */
export function componentGroup(cluster: string, kind: string, namespace: string, role: ComponentRole): string {
  return `${cluster}/${kind}/${namespace}/${role}`;
}

function isRole(label: JsonValue | undefined): label is ComponentRole {
  return ROLES.some((role) => role === label);
}

const PROBLEMS: readonly (readonly [kind: string, problem: (value: JsonObject) => string | undefined])[] = [
  [DEPLOYMENT_KIND, deploymentProblem],
  [ETCD_KIND, etcdProblem],
];

/** The conditions of a Deployment, and what they have to be. */
const EXPECTED: readonly ExpectedCondition[] = [
  { type: 'Available', status: 'True', isRequired: true },
  { type: 'Progressing', status: 'True' },
  { type: 'ReplicaFailure', status: 'False' },
];

/** Source: Gardener's CheckDeployment. */
export function deploymentProblem(value: JsonObject): string | undefined {
  const generations = generationsOf(value);
  if (generations !== undefined && generations.observed < generations.generation) {
    return `observed generation outdated (${generations.observed}/${generations.generation})`;
  }
  return conditionProblem(objectOf(value.status), EXPECTED);
}

/** Source: Gardener's CheckEtcd. */
function etcdProblem(value: JsonObject): string | undefined {
  const status = objectOf(value.status);
  const name = textOf(metadataOf(value).name);
  if (status.ready !== true) return `etcd "${name}" is not ready yet`;
  const backup = conditionOf(status, 'BackupReady');
  if (backup === undefined || backup.status === 'True') return undefined;
  return `backup for etcd "${name}" is reported as unready: ${textOf(backup.message)}`;
}
