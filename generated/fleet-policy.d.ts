// Generated from schemas/fleet-policy.json by scripts/generate-schemas.ts. Do not edit; run "npm run generate".
/**
 * What the repository may say about the system itself: guards against large removals, safe mode, status, discovery and health. Every field has a default; the server's RelayConfig bounds what may be set. One FleetPolicy a fleet.
 */
export interface FleetPolicy {
/**
 * Group and version of the kind.
 */
apiVersion: "fleetrelay.dev/v1alpha1"
/**
 * The kind.
 */
kind: "FleetPolicy"
metadata: Metadata
spec?: FleetPolicySpec
status?: Status
}
/**
 * Standard Kubernetes metadata. What an API server fills in is tolerated and not read.
 */
export interface Metadata {
/**
 * Name of the policy.
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
 * The policy; what is left out has its default.
 */
export interface FleetPolicySpec {
guards?: Guards
safeMode?: SafeMode
status?: StatusReporting
discovery?: Discovery
health?: Health
care?: Care
drift?: Drift
/**
 * How agents judge the health of applied objects of further kinds, at most one entry a kind. It counts in place of the built-in rules of the kind.
 * 
 * @maxItems 100
 */
healthChecks?: HealthCheck[]
}
/**
 * Bounds of the removal guard. A set of removals larger than any of them is held until it is approved or undone; everything else goes on.
 */
export interface Guards {
/**
 * Largest number of objects removed from one cluster within the window.
 */
maxRemovalsPerCluster?: number
/**
 * Largest percentage of a cluster's owned objects removed within the window.
 */
maxRemovalPercentPerCluster?: number
/**
 * Largest number of objects removed from the whole fleet within the window.
 */
maxRemovalsPerFleet?: number
/**
 * Largest percentage of all owned objects removed within the window.
 */
maxRemovalPercentPerFleet?: number
/**
 * Percentages judge only from this many owned objects on.
 */
percentFromOwned?: number
/**
 * Length of the window that removals are counted in, in seconds.
 */
windowSeconds?: number
}
/**
 * What happens while the snapshot of a warm cluster is missing.
 */
export interface SafeMode {
/**
 * strict: no output of any cluster changes. scoped: what could have read that cluster is held, everything else goes on. off: hold for the safe start window, then go on with what is there.
 */
mode?: ("strict" | "scoped" | "off")
/**
 * With mode off: how long to hold after a start, in seconds.
 */
safeStartWindowSeconds?: number
}
/**
 * Status written back to the repository.
 */
export interface StatusReporting {
/**
 * Whether status commits are written.
 */
enabled?: boolean
/**
 * Shortest time between two status commits, in seconds.
 */
minIntervalSeconds?: number
}
/**
 * What agents leave out of their input snapshots.
 */
export interface Discovery {
/**
 * Namespaces that are not discovered.
 * 
 * @maxItems 1000
 */
excludedNamespaces?: string[]
/**
 * Kinds that are not discovered, as Kind or Kind.group.
 * 
 * @maxItems 1000
 */
excludedKinds?: string[]
namespaceSelector?: LabelSelector
objectSelector?: LabelSelector
}
/**
 * Every part must hold. The empty selector selects everything.
 */
export interface LabelSelector {
/**
 * Labels that must be there with exactly these values.
 */
matchLabels?: {
[k: string]: string
}
/**
 * Set-based requirements.
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
 */
values?: string[]
}
/**
 * Data planes and their health.
 */
export interface Health {
/**
 * Names of containers that make a Pod a data plane. Every other container is an application's.
 * 
 * @maxItems 100
 */
sidecars?: string[]
podSelector?: LabelSelector
injector?: Injector
/**
 * After a start of the server: how long what was made from reports of health is kept while its data plane does not report, in seconds.
 */
reportWaitSeconds?: number
}
/**
 * How the probes of admitted Pods are rewritten, unless annotations of a Pod say otherwise.
 */
export interface Injector {
/**
 * Port of the Application Probe Proxy; 0 turns it off.
 */
applicationProbeProxyPort?: number
/**
 * Whether probes become Virtual Probes where the Application Probe Proxy is off.
 */
virtualProbesEnabled?: boolean
/**
 * Port of Virtual Probes.
 */
virtualProbesPort?: number
/**
 * Fail: while no agent answers the webhook, Pods with the label are not created. Ignore: they are created as they are.
 */
failurePolicy?: ("Fail" | "Ignore")
}
/**
 * The care of Shoots.
 */
export interface Care {
/**
 * How long a failure is shown as Progressing before its condition is False. A type that is not listed has no threshold. Default: 1m for each type, 5m for EveryNodeReady.
 * 
 * @maxItems 100
 */
conditionThresholds?: ConditionThreshold[]
/**
 * How often an agent asks its API server, and tests the tunnel; in Go's form from 1s to 720h. What agents report is judged at once.
 */
syncPeriod?: string
/**
 * Has no effect: a change is judged at once. It is here so that the settings of a gardenlet can be taken as written.
 */
concurrentSyncs?: number
staleExtensionHealthChecks?: StaleExtensionHealthChecks
/**
 * How long a ManagedResource may be progressing before it counts as stuck; in Go's form from 1s to 720h.
 */
managedResourceProgressingThreshold?: string
/**
 * Whether agents change problematic webhooks. The RelayConfig and the rights of the agent have to allow it too.
 */
webhookRemediatorEnabled?: boolean
/**
 * Whether agents only tell what they would change of problematic webhooks. Without webhookRemediatorEnabled it has no effect.
 */
webhookRemediatorDryRun?: boolean
/**
 * Where the heartbeats of extensions are. The reports of extensions that are not listed are not judged for staleness.
 * 
 * @maxItems 1000
 */
extensions?: ExtensionHeartbeat[]
/**
 * After so long without success an operation is Failed; in Go's form from 1s to 720h.
 */
retryDuration?: string
/**
 * After so long an operation that failed at a rate limit is tried again; in Go's form from 1s to 720h.
 */
retryPeriod?: string
/**
 * A task that has been failing, stuck or out of reach for so long is an error; in Go's form from 1s to 720h.
 */
taskTimeout?: string
/**
 * When the agent of a cluster has been silent for five times this duration, in Go's form from 1s to 720h, what reads the cluster is Unknown.
 */
monitorPeriod?: string
/**
 * Whether agents send no more requests for objects whose operation is Failed, until their content changes or the operation is tried again.
 */
stopFailed?: boolean
/**
 * Whether the control planes of Shoots have monitoring, which is then required to be healthy.
 */
monitoringEnabled?: boolean
/**
 * Whether the control planes of Shoots have logging, which is then required to be healthy.
 */
loggingEnabled?: boolean
}
/**
 * The threshold of one type of condition.
 */
export interface ConditionThreshold {
/**
 * The type of the condition.
 */
type: ("APIServerAvailable" | "ControlPlaneHealthy" | "ObservabilityComponentsHealthy" | "SystemComponentsHealthy" | "EveryNodeReady")
/**
 * A duration in Go's form, from 1s to 720h.
 */
duration: string
}
/**
 * Whether a report of an extension counts while the extension itself is silent.
 */
export interface StaleExtensionHealthChecks {
/**
 * Whether the heartbeats of extensions are judged.
 */
enabled?: boolean
/**
 * After so long without a heartbeat the reports of an extension are outdated; in Go's form from 1s to 720h.
 */
threshold?: string
}
/**
 * The namespace of one extension.
 */
export interface ExtensionHeartbeat {
/**
 * Kind of the extension objects.
 */
kind: string
/**
 * Their `spec.type`.
 */
type: string
/**
 * The namespace in the Seed that has the Lease gardener-extension-heartbeat.
 */
namespace: string
}
/**
 * What counts as drift in the clusters, and what becomes of it.
 */
export interface Drift {
/**
 * What agents do about objects that others have changed or removed. Repair: they put them back. Report: they report them (`fleetrelay get drift`) and leave them; changes of the desired state are applied. drift.mode of a Placement wins over it, and the annotation fleetrelay.dev/drift: report or repair in a manifest over both.
 */
mode?: ("Repair" | "Report")
/**
 * Fields that others own by agreement: they are declared once, at creation, and left alone afterwards.
 * 
 * @maxItems 100
 */
ignoredFields?: IgnoredFields[]
/**
 * Whether the annotations fleetrelay.dev/reconcile: disabled and fleetrelay.dev/prune: disabled count on the declared object only. On a live object, which others may annotate, they then have no effect.
 */
ignoreLiveOptOuts?: boolean
}
/**
 * Fields of all objects of one kind that are left alone.
 */
export interface IgnoredFields {
/**
 * API group of the kind; empty or left out for the core kinds.
 */
group?: string
/**
 * The kind.
 */
kind: string
/**
 * Dotted paths of fields.
 * 
 * @minItems 1
 * @maxItems 100
 */
fields: string[]
}
/**
 * Expressions in CEL, with the names that Flux gives them (healthCheckExprs). Their variables are the fields of the object: metadata, spec, status and others. An object whose status is of an earlier generation is in progress; then inProgress, failed and current are judged, and the first that is true counts. If none is, the object is in progress.
 */
export interface HealthCheck {
/**
 * API version that the expressions are written for. Objects of all versions of the kind are judged.
 */
apiVersion: string
/**
 * The kind.
 */
kind: string
/**
 * Whether the object is as declared and works.
 */
current: string
/**
 * Whether the controller of the object is at work.
 */
inProgress?: string
/**
 * Whether the object needs a person.
 */
failed?: string
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

import type { SchemaValidator } from '../src/manifest/schema-validator.ts';
export declare const validate: SchemaValidator<FleetPolicy>;
