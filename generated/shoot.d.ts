// Generated from schemas/shoot.json by scripts/generate-schemas.ts. Do not edit; run "npm run generate".
/**
 * A cluster managed by Gardener. Of the spec only what its status depends on is described, the rest is open; the status is described whole. Fields that are not known are warned of and ignored.
 */
export interface Shoot {
/**
 * Group and version of the kind.
 */
apiVersion: "core.gardener.cloud/v1beta1"
/**
 * The kind.
 */
kind: "Shoot"
metadata: Metadata
spec?: ShootSpec
status?: ShootStatus
}
/**
 * Standard Kubernetes metadata. What an API server fills in is tolerated and not read.
 */
export interface Metadata {
/**
 * Name of the Shoot.
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
 * What the status depends on; the rest is open.
 */
export interface ShootSpec {
/**
 * @deprecated
 * The cloud profile.
 */
cloudProfileName?: string
/**
 * Region of the infrastructure.
 */
region?: string
/**
 * What the cluster is for; testing has no observability components.
 */
purpose?: ("evaluation" | "testing" | "development" | "production" | "infrastructure")
/**
 * The Seed that runs the control plane.
 */
seedName?: string
hibernation?: Hibernation
kubernetes?: ShootKubernetes
provider?: ShootProvider
maintenance?: Maintenance
[k: string]: unknown
}
/**
 * A hibernated cluster is not checked.
 */
export interface Hibernation {
/**
 * Whether the cluster is to be hibernated.
 */
enabled?: boolean
/**
 * When it hibernates and wakes up.
 */
schedules?: HibernationSchedule[]
[k: string]: unknown
}
/**
 * One schedule.
 */
export interface HibernationSchedule {
/**
 * Cron expression of falling asleep.
 */
start?: string
/**
 * Cron expression of waking up.
 */
end?: string
/**
 * Time zone.
 */
location?: string
[k: string]: unknown
}
/**
 * Kubernetes of the cluster.
 */
export interface ShootKubernetes {
/**
 * Version of the control plane.
 */
version?: string
[k: string]: unknown
}
/**
 * Infrastructure and workers. No workers: the conditions about nodes do not exist.
 */
export interface ShootProvider {
/**
 * The infrastructure.
 */
type?: string
/**
 * Worker pools.
 */
workers?: Worker[]
[k: string]: unknown
}
/**
 * One worker pool.
 */
export interface Worker {
/**
 * Name of the pool.
 */
name: string
/**
 * Smallest number of machines.
 */
minimum?: number
/**
 * Largest number of machines.
 */
maximum?: number
kubernetes?: WorkerKubernetes
[k: string]: unknown
}
/**
 * Kubernetes of the pool, if it differs.
 */
export interface WorkerKubernetes {
/**
 * Version of the kubelets.
 */
version?: string
[k: string]: unknown
}
/**
 * When the cluster may be changed.
 */
export interface Maintenance {
timeWindow?: MaintenanceTimeWindow
autoRotation?: MaintenanceAutoRotation
/**
 * Whether changes wait for the window.
 */
confineSpecUpdateRollout?: boolean
[k: string]: unknown
}
/**
 * The daily window.
 */
export interface MaintenanceTimeWindow {
/**
 * Begin of the window.
 */
begin?: string
/**
 * End of the window.
 */
end?: string
[k: string]: unknown
}
/**
 * What Gardener rotates by itself in the window.
 */
export interface MaintenanceAutoRotation {
credentials?: MaintenanceCredentialsAutoRotation
[k: string]: unknown
}
/**
 * Credentials that are rotated.
 */
export interface MaintenanceCredentialsAutoRotation {
etcdEncryptionKey?: MaintenanceRotationConfig
[k: string]: unknown
}
/**
 * The key that encrypts etcd.
 */
export interface MaintenanceRotationConfig {
/**
 * How old it may be, as a duration of Go; 0 switches the rotation off. The default is a week.
 */
rotationPeriod?: string
[k: string]: unknown
}
/**
 * What Gardener reports.
 */
export interface ShootStatus {
/**
 * How healthy the cluster is.
 */
conditions?: ShootCondition[]
/**
 * What keeps operations on the cluster from being possible.
 */
constraints?: ShootCondition[]
gardener?: ShootGardener
/**
 * Whether the cluster is hibernated.
 */
hibernated?: boolean
lastOperation?: LastOperation
/**
 * Errors of the last operation.
 */
lastErrors?: LastError[]
/**
 * The metadata.generation that was last worked on.
 */
observedGeneration?: number
/**
 * Start of the present cycle of retries. RFC 3339.
 */
retryCycleStartTime?: string
/**
 * The Seed that runs the control plane.
 */
seedName?: string
/**
 * Name of the control plane's namespace in the Seed.
 */
technicalID?: string
/**
 * Unique id of the cluster.
 */
uid?: string
/**
 * Identity of the cluster.
 */
clusterIdentity?: string
/**
 * Addresses that the cluster's API is reached at.
 */
advertisedAddresses?: AdvertisedAddress[]
/**
 * Start of the migration to another Seed. RFC 3339.
 */
migrationStartTime?: string
credentials?: ShootCredentials
/**
 * @deprecated
 * Encrypted resources, as older versions state them.
 */
encryptedResources?: string[]
/**
 * When hibernation was last triggered. RFC 3339.
 */
lastHibernationTriggerTime?: string
lastMaintenance?: LastMaintenance
networking?: ShootNetworking
inPlaceUpdates?: InPlaceUpdates
manualWorkerPoolRollout?: ManualWorkerPoolRollout
liveMigration?: LiveMigration
}
/**
 * A condition or a constraint.
 */
export interface ShootCondition {
/**
 * What it is about.
 */
type: string
/**
 * Whether it holds; Progressing while a failure has not lasted for the threshold yet.
 */
status: ("True" | "False" | "Unknown" | "Progressing")
/**
 * Last change of the status. RFC 3339.
 */
lastTransitionTime?: string
/**
 * Last change of reason, message or codes. RFC 3339.
 */
lastUpdateTime?: string
/**
 * Machine-readable UpperCamelCase word.
 */
reason?: string
/**
 * What a person should know.
 */
message?: string
/**
 * Well-defined error codes.
 */
codes?: string[]
}
/**
 * The Gardener that worked on the cluster last.
 */
export interface ShootGardener {
/**
 * Id of the process.
 */
id?: string
/**
 * Name of the process.
 */
name?: string
/**
 * Its version.
 */
version?: string
}
/**
 * The last operation on the Shoot.
 */
export interface LastOperation {
/**
 * What is being done, for people.
 */
description?: string
/**
 * Last change. RFC 3339.
 */
lastUpdateTime?: string
/**
 * Progress in percent.
 */
progress?: number
/**
 * Error is retried for a while, then becomes Failed, which is not retried.
 */
state: ("Processing" | "Succeeded" | "Error" | "Failed" | "Pending" | "Aborted" | "")
/**
 * The operation.
 */
type: ("Create" | "Reconcile" | "Delete" | "Migrate" | "Restore" | "LiveMigrate" | "")
}
/**
 * One error of the last operation.
 */
export interface LastError {
/**
 * The error, for people.
 */
description: string
/**
 * The task that failed.
 */
taskID?: string
/**
 * Well-defined error codes.
 */
codes?: string[]
/**
 * When it last occurred. RFC 3339.
 */
lastUpdateTime?: string
}
/**
 * One address.
 */
export interface AdvertisedAddress {
/**
 * Name of the address.
 */
name: string
/**
 * The address.
 */
url: string
/**
 * What answers there.
 */
application?: string
}
/**
 * State of the cluster's credentials.
 */
export interface ShootCredentials {
rotation?: CredentialsRotation
encryptionAtRest?: EncryptionAtRest
}
/**
 * Rotations of credentials.
 */
export interface CredentialsRotation {
certificateAuthorities?: CertificateAuthoritiesRotation
kubeconfig?: KubeconfigRotation
sshKeypair?: SshKeypairRotation
observability?: ObservabilityRotation
serviceAccountKey?: ServiceAccountKeyRotation
etcdEncryptionKey?: EtcdEncryptionKeyRotation
}
/**
 * Rotation of the certificate authorities.
 */
export interface CertificateAuthoritiesRotation {
/**
 * How far the rotation is.
 */
phase?: ("Preparing" | "PreparingWithoutWorkersRollout" | "WaitingForWorkersRollout" | "Prepared" | "Completing" | "Completed")
/**
 * When the rotation was started. RFC 3339.
 */
lastInitiationTime?: string
/**
 * When the first half was done. RFC 3339.
 */
lastInitiationFinishedTime?: string
/**
 * When the second half was started. RFC 3339.
 */
lastCompletionTriggeredTime?: string
/**
 * When the rotation was completed. RFC 3339.
 */
lastCompletionTime?: string
/**
 * Whether it completes by itself.
 */
autoCompleteAfterPrepared?: boolean
/**
 * Worker pools still to be rolled.
 */
pendingWorkersRollouts?: {

}[]
}
/**
 * Rotation of the kubeconfig.
 */
export interface KubeconfigRotation {
/**
 * How far the rotation is.
 */
phase?: ("Preparing" | "PreparingWithoutWorkersRollout" | "WaitingForWorkersRollout" | "Prepared" | "Completing" | "Completed")
/**
 * When the rotation was started. RFC 3339.
 */
lastInitiationTime?: string
/**
 * When the first half was done. RFC 3339.
 */
lastInitiationFinishedTime?: string
/**
 * When the second half was started. RFC 3339.
 */
lastCompletionTriggeredTime?: string
/**
 * When the rotation was completed. RFC 3339.
 */
lastCompletionTime?: string
/**
 * Whether it completes by itself.
 */
autoCompleteAfterPrepared?: boolean
/**
 * Worker pools still to be rolled.
 */
pendingWorkersRollouts?: {

}[]
}
/**
 * Rotation of the SSH key pair.
 */
export interface SshKeypairRotation {
/**
 * How far the rotation is.
 */
phase?: ("Preparing" | "PreparingWithoutWorkersRollout" | "WaitingForWorkersRollout" | "Prepared" | "Completing" | "Completed")
/**
 * When the rotation was started. RFC 3339.
 */
lastInitiationTime?: string
/**
 * When the first half was done. RFC 3339.
 */
lastInitiationFinishedTime?: string
/**
 * When the second half was started. RFC 3339.
 */
lastCompletionTriggeredTime?: string
/**
 * When the rotation was completed. RFC 3339.
 */
lastCompletionTime?: string
/**
 * Whether it completes by itself.
 */
autoCompleteAfterPrepared?: boolean
/**
 * Worker pools still to be rolled.
 */
pendingWorkersRollouts?: {

}[]
}
/**
 * Rotation of the observability passwords.
 */
export interface ObservabilityRotation {
/**
 * How far the rotation is.
 */
phase?: ("Preparing" | "PreparingWithoutWorkersRollout" | "WaitingForWorkersRollout" | "Prepared" | "Completing" | "Completed")
/**
 * When the rotation was started. RFC 3339.
 */
lastInitiationTime?: string
/**
 * When the first half was done. RFC 3339.
 */
lastInitiationFinishedTime?: string
/**
 * When the second half was started. RFC 3339.
 */
lastCompletionTriggeredTime?: string
/**
 * When the rotation was completed. RFC 3339.
 */
lastCompletionTime?: string
/**
 * Whether it completes by itself.
 */
autoCompleteAfterPrepared?: boolean
/**
 * Worker pools still to be rolled.
 */
pendingWorkersRollouts?: {

}[]
}
/**
 * Rotation of the key of service accounts.
 */
export interface ServiceAccountKeyRotation {
/**
 * How far the rotation is.
 */
phase?: ("Preparing" | "PreparingWithoutWorkersRollout" | "WaitingForWorkersRollout" | "Prepared" | "Completing" | "Completed")
/**
 * When the rotation was started. RFC 3339.
 */
lastInitiationTime?: string
/**
 * When the first half was done. RFC 3339.
 */
lastInitiationFinishedTime?: string
/**
 * When the second half was started. RFC 3339.
 */
lastCompletionTriggeredTime?: string
/**
 * When the rotation was completed. RFC 3339.
 */
lastCompletionTime?: string
/**
 * Whether it completes by itself.
 */
autoCompleteAfterPrepared?: boolean
/**
 * Worker pools still to be rolled.
 */
pendingWorkersRollouts?: {

}[]
}
/**
 * Rotation of the encryption key of etcd.
 */
export interface EtcdEncryptionKeyRotation {
/**
 * How far the rotation is.
 */
phase?: ("Preparing" | "PreparingWithoutWorkersRollout" | "WaitingForWorkersRollout" | "Prepared" | "Completing" | "Completed")
/**
 * When the rotation was started. RFC 3339.
 */
lastInitiationTime?: string
/**
 * When the first half was done. RFC 3339.
 */
lastInitiationFinishedTime?: string
/**
 * When the second half was started. RFC 3339.
 */
lastCompletionTriggeredTime?: string
/**
 * When the rotation was completed. RFC 3339.
 */
lastCompletionTime?: string
/**
 * Whether it completes by itself.
 */
autoCompleteAfterPrepared?: boolean
/**
 * Worker pools still to be rolled.
 */
pendingWorkersRollouts?: {

}[]
}
/**
 * Encryption of resources in etcd.
 */
export interface EncryptionAtRest {
/**
 * Encrypted resources.
 */
resources?: string[]
provider?: EncryptionProvider
}
/**
 * What encrypts.
 */
export interface EncryptionProvider {
/**
 * The provider.
 */
type?: string
}
/**
 * The last maintenance.
 */
export interface LastMaintenance {
/**
 * What was done.
 */
description?: string
/**
 * When it was triggered. RFC 3339.
 */
triggeredTime?: string
/**
 * How it went.
 */
state?: ("Processing" | "Succeeded" | "Error" | "Failed")
/**
 * Why it failed.
 */
failureReason?: string
}
/**
 * Networks of the cluster.
 */
export interface ShootNetworking {
/**
 * Networks of pods.
 */
pods?: string[]
/**
 * Networks of nodes.
 */
nodes?: string[]
/**
 * Networks of services.
 */
services?: string[]
/**
 * Networks that traffic leaves from.
 */
egressCIDRs?: string[]
}
/**
 * Pending in-place updates of worker pools.
 */
export interface InPlaceUpdates {
pendingWorkerUpdates?: PendingWorkerUpdates
[k: string]: unknown
}
/**
 * Worker pools with a pending update.
 */
export interface PendingWorkerUpdates {
/**
 * Pools that are updated by themselves.
 */
autoInPlaceUpdate?: string[]
/**
 * Pools that wait for a person.
 */
manualInPlaceUpdate?: string[]
}
/**
 * Worker pools whose rollout waits for a person.
 */
export interface ManualWorkerPoolRollout {
[k: string]: unknown
}
/**
 * State of a live migration.
 */
export interface LiveMigration {
/**
 * Conditions of the migration.
 */
conditions?: ShootCondition[]
[k: string]: unknown
}

import type { SchemaValidator } from '../src/manifest/schema-validator.ts';
export declare const validate: SchemaValidator<Shoot>;
