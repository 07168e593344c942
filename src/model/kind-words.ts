import { engineKindOf, engineKindRow } from './engine-kinds.ts';
import type { ObjectRef } from './object-key.ts';

/** The short names that kubectl knows of kinds that Kubernetes and the Gateway API define, by `group/Kind`. */
const SHORT_NAMES: Readonly<Record<string, readonly string[]>> = {
  '/ComponentStatus': ['cs'],
  '/ConfigMap': ['cm'],
  '/Endpoints': ['ep'],
  '/Event': ['ev'],
  '/LimitRange': ['limits'],
  '/Namespace': ['ns'],
  '/Node': ['no'],
  '/PersistentVolume': ['pv'],
  '/PersistentVolumeClaim': ['pvc'],
  '/Pod': ['po'],
  '/ReplicationController': ['rc'],
  '/ResourceQuota': ['quota'],
  '/Service': ['svc'],
  '/ServiceAccount': ['sa'],
  'apiextensions.k8s.io/CustomResourceDefinition': ['crd', 'crds'],
  'apps/DaemonSet': ['ds'],
  'apps/Deployment': ['deploy'],
  'apps/ReplicaSet': ['rs'],
  'apps/StatefulSet': ['sts'],
  'autoscaling/HorizontalPodAutoscaler': ['hpa'],
  'batch/CronJob': ['cj'],
  'certificates.k8s.io/CertificateSigningRequest': ['csr'],
  'events.k8s.io/Event': ['ev'],
  'gateway.networking.k8s.io/BackendTLSPolicy': ['btlspolicy'],
  'gateway.networking.k8s.io/Gateway': ['gtw'],
  'gateway.networking.k8s.io/GatewayClass': ['gc'],
  'gateway.networking.k8s.io/ReferenceGrant': ['refgrant'],
  'networking.k8s.io/IPAddress': ['ip'],
  'networking.k8s.io/Ingress': ['ing'],
  'networking.k8s.io/NetworkPolicy': ['netpol'],
  'policy/PodDisruptionBudget': ['pdb'],
  'scheduling.k8s.io/PriorityClass': ['pc'],
  'storage.k8s.io/StorageClass': ['sc'],
  'storage.k8s.io/VolumeAttributesClass': ['vac'],
};

/**
 * Does a word stand for this kind? A word is `KIND` or `KIND.GROUP`, where KIND is the kind, its plural or a short name of
 * it; its case does not matter. Without a group it stands for kinds of every group.
 */
export function isKindWord(word: string, { group, kind }: Pick<ObjectRef, 'group' | 'kind'>): boolean {
  const written = word.toLowerCase();
  const dot = written.indexOf('.');
  if (dot >= 0 && written.slice(dot + 1) !== group) return false;
  const head = dot < 0 ? written : written.slice(0, dot);
  return [kind.toLowerCase(), pluralOf(group, kind), ...shortNamesOf(group, kind)].includes(head);
}

function shortNamesOf(group: string, kind: string): readonly string[] {
  const engineKind = engineKindOf(group, kind);
  return engineKind === undefined ? (SHORT_NAMES[`${group}/${kind}`] ?? []) : engineKindRow(engineKind).shortNames;
}

/** The name of a kind in URLs, by the convention that all built-in kinds follow. */
function pluralOf(group: string, kind: string): string {
  const engineKind = engineKindOf(group, kind);
  if (engineKind !== undefined) return engineKindRow(engineKind).plural;
  const word = kind.toLowerCase();
  if (word === 'endpoints') return word;
  if (/(s|x|z|ch|sh)$/.test(word)) return `${word}es`;
  return /[^aeiou]y$/.test(word) ? `${word.slice(0, -1)}ies` : `${word}s`;
}
