// Generated from schemas/placement.json by scripts/generate-schemas.ts. Do not edit; run "npm run generate".
/**
 * Says which manifests go to which clusters: every document under one of the paths goes to every selected cluster.
 */
export interface Placement {
/**
 * Group and version of the kind.
 */
apiVersion: "fleetrelay.dev/v1alpha1"
/**
 * The kind.
 */
kind: "Placement"
metadata: Metadata
spec: PlacementSpec
status?: Status
}
/**
 * Standard Kubernetes metadata. What an API server fills in is tolerated and not read.
 */
export interface Metadata {
/**
 * Name of the Placement.
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
 * What goes where.
 */
export interface PlacementSpec {
/**
 * Folders, or globs relative to the root of the source: *, ?, [abc] and [!abc] within a name, ** for any number of whole folders (between slashes), {a,b} for either; at most 100 wildcards and alternatives in one. A document in a file that one of them matches is selected.
 * 
 * @minItems 1
 * @maxItems 1000
 */
paths: string[]
clusters: PlacementClusters
drift?: PlacementDrift
}
/**
 * The clusters: those named, joined with those selected.
 */
export interface PlacementClusters {
/**
 * Clusters by name.
 * 
 * @maxItems 10000
 */
names?: string[]
selector?: LabelSelector
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
 * What becomes of drift of the objects that it places, in the clusters that it selects.
 */
export interface PlacementDrift {
/**
 * What agents do about objects that others have changed or removed. Repair: they put them back. Report: they report them (`fleetrelay get drift`) and leave them; changes of the desired state are applied. Left out: drift.mode of the FleetPolicy counts. If several Placements place an object in a cluster, Report wins. The annotation fleetrelay.dev/drift in a manifest wins over all.
 */
mode?: ("Repair" | "Report")
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
 * Registered clusters that it selects.
 */
selectedClusters?: number
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
export declare const validate: SchemaValidator<Placement>;
