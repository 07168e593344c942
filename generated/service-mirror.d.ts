// Generated from schemas/service-mirror.json by scripts/generate-schemas.ts. Do not edit; run "npm run generate".
/**
 * Makes services of some clusters known in others: every selected Service, with the addresses of its EndpointSlices, becomes a headless Service of the same namespace there, named CLUSTER-SERVICE by Gimbal's rule. Services of meshes are made known in the same way.
 */
export interface ServiceMirror {
/**
 * Group and version of the kind.
 */
apiVersion: "fleetrelay.dev/v1alpha1"
/**
 * The kind.
 */
kind: "ServiceMirror"
metadata: Metadata
spec: ServiceMirrorSpec
status?: Status
}
/**
 * Standard Kubernetes metadata. What an API server fills in is tolerated and not read.
 */
export interface Metadata {
/**
 * Name of the ServiceMirror.
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
 * Which services go where.
 */
export interface ServiceMirrorSpec {
from: ServiceMirrorFrom
to: ServiceMirrorTo
serviceSelector?: ServiceSelector
namespaces?: ServiceMirrorNamespaces
copy?: ServiceMirrorCopy
}
/**
 * The clusters whose services are mirrored: those named, joined with those selected. Or, instead of clusters, meshes and the namespace of the mirrored services.
 */
export interface ServiceMirrorFrom {
/**
 * Clusters by name.
 * 
 * @maxItems 10000
 */
names?: string[]
selector?: LabelSelector
/**
 * Meshes of Kuma: the services of the data planes that are declared in them become headless Services, named MESH-SERVICE by Gimbal's rule.
 * 
 * @minItems 1
 * @maxItems 1000
 */
meshes?: string[]
/**
 * Namespace of the mirrored services of meshes.
 */
namespace?: string
}
/**
 * Every part must hold. The empty selector selects every cluster.
 */
export interface LabelSelector {
/**
 * Labels that the cluster must have with exactly these values.
 */
matchLabels?: {
[k: string]: string
}
/**
 * Set-based requirements.
 * 
 * @maxItems 100
 */
matchExpressions?: LabelRequirement[]
}
/**
 * A set-based requirement on one label.
 */
export interface LabelRequirement {
/**
 * Label key.
 */
key: string
/**
 * In and NotIn need values; Exists and DoesNotExist take none.
 */
operator: ("In" | "NotIn" | "Exists" | "DoesNotExist")
/**
 * Values to compare with.
 * 
 * @maxItems 1000
 */
values?: string[]
}
/**
 * The clusters that get the mirrored services: those named, joined with those selected. A cluster never gets its own.
 */
export interface ServiceMirrorTo {
/**
 * Clusters by name.
 * 
 * @maxItems 10000
 */
names?: string[]
selector?: LabelSelector
}
/**
 * Selects services by their labels; every part must hold. The default selects services with the label fleetrelay.dev/service-export: "true"; the empty selector selects every service. The service kubernetes of the namespace default, services of Namespaces that spec.namespaces leaves out, services of the type ExternalName and mirrored services are never selected.
 */
export interface ServiceSelector {
/**
 * Labels that the service must have with exactly these values.
 */
matchLabels?: {
[k: string]: string
}
/**
 * Set-based requirements.
 * 
 * @maxItems 100
 */
matchExpressions?: LabelRequirement[]
}
/**
 * Namespaces whose Services are mirrored: those that a glob of include matches and no glob of exclude. Services of kube-system and of the agent's own Namespace are never mirrored. "*" stands for any characters.
 */
export interface ServiceMirrorNamespaces {
/**
 * Globs of names. Not given: all Namespaces.
 * 
 * @minItems 1
 * @maxItems 100
 */
include?: string[]
/**
 * Globs of names, which win over include. Not given: kube-*.
 * 
 * @maxItems 100
 */
exclude?: string[]
}
/**
 * Labels and annotations of the Service that its mirrored Service gets. The writers of Services in the clusters of from choose the values, and other programs in the clusters of to may act on them. Keys of fleetrelay.dev are never copied. "*" stands for any characters.
 */
export interface ServiceMirrorCopy {
/**
 * Globs of label keys. Not given: no labels.
 * 
 * @maxItems 100
 */
labels?: string[]
/**
 * Globs of annotation keys. Not given: no annotations.
 * 
 * @maxItems 100
 */
annotations?: string[]
}
/**
 * Written by fleetrelay; not read as desired state.
 */
export interface Status {
/**
 * The metadata.generation that the status was computed for.
 */
observedGeneration?: number
/**
 * Conditions, one a type.
 */
conditions?: Condition[]
/**
 * Registered clusters that get mirrored services.
 */
selectedClusters?: number
counts?: Counts
/**
 * Services that it mirrors, each counted once.
 */
mirroredServices?: number
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

import type { SchemaValidator } from '../src/manifest/schema-validator.ts';
export declare const validate: SchemaValidator<ServiceMirror>;
