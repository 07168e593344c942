// Generated from schemas/kubernetes-cluster.json by scripts/generate-schemas.ts. Do not edit; run "npm run generate".
/**
 * Registers a workload cluster with the management server. Same form as Gloo's kind of this name; its labels are what Placements select by.
 */
export interface KubernetesCluster {
/**
 * Group and version of the kind.
 */
apiVersion: "admin.gloo.solo.io/v2"
/**
 * The kind.
 */
kind: "KubernetesCluster"
metadata: Metadata
spec?: KubernetesClusterSpec
status?: KubernetesClusterStatus
}
/**
 * Standard Kubernetes metadata. What an API server fills in is tolerated and not read.
 */
export interface Metadata {
/**
 * Name of the cluster: 1 to 63 lower-case letters, digits or "-", starting with a letter. Agents connect under this name.
 */
name: string
/**
 * Tolerated for compatibility; the kind is read wherever it lies.
 */
namespace?: string
/**
 * Labels by Kubernetes' rules; selectors match them.
 */
labels?: {
[k: string]: string
}
/**
 * Annotations; not read.
 */
annotations?: {
[k: string]: string
}
/**
 * Filled in by an API server; not read.
 */
uid?: string
/**
 * Filled in by an API server; not read.
 */
resourceVersion?: string
/**
 * Filled in by an API server; not read.
 */
generation?: number
/**
 * Filled in by an API server; not read.
 */
creationTimestamp?: string
/**
 * Filled in by an API server; not read.
 */
deletionTimestamp?: string
/**
 * Filled in by an API server; not read.
 */
deletionGracePeriodSeconds?: number
/**
 * Filled in by an API server; not read.
 */
selfLink?: string
/**
 * Not read; the name must be given.
 */
generateName?: string
/**
 * Not read.
 */
finalizers?: string[]
/**
 * Not read.
 */
ownerReferences?: {

}[]
/**
 * Filled in by an API server; not read.
 */
managedFields?: {

}[]
}
/**
 * How the cluster takes part in the fleet.
 */
export interface KubernetesClusterSpec {
/**
 * DNS domain of the cluster's services.
 */
clusterDomain?: string
/**
 * Takes the cluster out of safe mode: a missing snapshot of it holds nothing up.
 */
skipWarming?: boolean
}
/**
 * Written by the management server. The condition ClusterWarm says whether a first complete input snapshot has been received (False/ClusterRegistered, True/FirstSnapshotReceived). Not read as desired state.
 */
export interface KubernetesClusterStatus {
/**
 * The metadata.generation that the status was computed for.
 */
observedGeneration?: number
/**
 * Conditions, one a type.
 */
conditions?: Condition[]
counts?: Counts
statuses?: StatusCounts
[k: string]: unknown
}
/**
 * A condition by the rules of metav1.Condition.
 */
export interface Condition {
/**
 * What the condition is about.
 */
type: string
/**
 * Whether it holds.
 */
status: ("True" | "False" | "Unknown")
/**
 * The metadata.generation that the condition was computed for.
 */
observedGeneration?: number
/**
 * RFC 3339 time of the last change of the status.
 */
lastTransitionTime?: string
/**
 * Constant UpperCamelCase word.
 */
reason?: string
/**
 * What a person should know.
 */
message?: string
}
/**
 * Objects by how far they have got; applied, failed, held, pending and unreachable add up to targeted.
 */
export interface Counts {
/**
 * Objects that should be in a cluster, once for each cluster.
 */
targeted?: number
/**
 * Applied as they should be.
 */
applied?: number
/**
 * Refused by the cluster, or in conflict.
 */
failed?: number
/**
 * Deliberately not changed now.
 */
held?: number
/**
 * Under way.
 */
pending?: number
/**
 * In clusters whose agent is not connected.
 */
unreachable?: number
}
/**
 * Statuses that are written to objects of others, counted apart from objects; absent if there are none.
 */
export interface StatusCounts {
/**
 * Statuses that should be in a cluster, once for each cluster.
 */
total?: number
/**
 * Applied as they should be.
 */
applied?: number
/**
 * Refused by the cluster, or changed back by another manager.
 */
failed?: number
}

import type { SchemaValidator } from '../src/manifest/schema-validator.ts';
export declare const validate: SchemaValidator<KubernetesCluster>;
