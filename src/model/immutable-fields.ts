import type { FieldChange } from './field-diff.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import type { ObjectRef } from './object-key.ts';

/** What an API server never lets an update change of one kind. */
interface ImmutableRule {
  /** Fields with all that is below them, as `spec.selector`. */
  readonly fields: readonly string[];
  /** Fields below them that can change. */
  readonly except?: readonly string[];
}

/** By `group/Kind`; from the validation of updates in kube-apiserver 1.36. */
const RULES: Readonly<Record<string, ImmutableRule>> = {
  'apps/DaemonSet': { fields: ['spec.selector'] },
  'apps/Deployment': { fields: ['spec.selector'] },
  'apps/ReplicaSet': { fields: ['spec.selector'] },
  'apps/StatefulSet': {
    fields: ['spec'],
    except: [
      ...['spec.minReadySeconds', 'spec.ordinals', 'spec.persistentVolumeClaimRetentionPolicy', 'spec.replicas'],
      ...['spec.revisionHistoryLimit', 'spec.template', 'spec.updateStrategy'],
    ],
  },
  'batch/Job': { fields: ['spec.completionMode', 'spec.podFailurePolicy', 'spec.selector', 'spec.template'] },
  '/PersistentVolume': { fields: ['spec.csi', 'spec.hostPath', 'spec.nfs', 'spec.local', 'spec.volumeMode'] },
  '/PersistentVolumeClaim': {
    fields: ['spec'],
    except: ['spec.resources.requests', 'spec.volumeAttributesClassName', 'spec.volumeName'],
  },
  '/Secret': { fields: ['type'] },
  '/Service': { fields: ['spec.clusterIP'] },
  'apiextensions.k8s.io/CustomResourceDefinition': {
    fields: ['spec.group', 'spec.scope', 'spec.names.kind', 'spec.names.plural'],
  },
  'node.k8s.io/RuntimeClass': { fields: ['handler'] },
  'rbac.authorization.k8s.io/ClusterRoleBinding': { fields: ['roleRef'] },
  'rbac.authorization.k8s.io/RoleBinding': { fields: ['roleRef'] },
  'scheduling.k8s.io/PriorityClass': { fields: ['value', 'preemptionPolicy'] },
  'storage.k8s.io/StorageClass': {
    fields: ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'],
  },
};

/** Kinds whose data cannot change once `immutable` is true. */
const SEALABLE = ['/ConfigMap', '/Secret'];
const SEALED_FIELDS = ['binaryData', 'data', 'immutable'];

/** The changed fields that an API server refuses to change, in the order of the changes. */
export function immutableChanges(
  { group, kind }: Pick<ObjectRef, 'group' | 'kind'>,
  before: JsonObject,
  changes: readonly FieldChange[],
): readonly string[] {
  const name = `${group}/${kind}`;
  const { fields = [], except = [] } = RULES[name] ?? {};
  const isSealed = SEALABLE.includes(name) && before.immutable === true;
  const all = isSealed ? [...fields, ...SEALED_FIELDS] : fields;
  return changes.filter((change) => isRefused(change, all, except)).map(({ path }) => path);
}

function isRefused(
  { path, before, after }: FieldChange,
  fields: readonly string[],
  except: readonly string[],
): boolean {
  if (!fields.some((field) => isBelow(path, field))) return false;
  if (except.some((field) => isBelow(path, field))) return false;
  // An API server sets what a manifest leaves out: that a field appears or vanishes changes nothing by itself.
  if (path === 'spec.clusterIP' && (before === undefined || after === undefined)) return false;
  // A whole part that appears can hold fields that can change only.
  const parts = [before, after].flatMap((value) => (isJsonObject(value) ? Object.keys(value) : []));
  return parts.length === 0 || parts.some((part) => !except.some((field) => isBelow(`${path}.${part}`, field)));
}

function isBelow(path: string, field: string): boolean {
  return path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`);
}
