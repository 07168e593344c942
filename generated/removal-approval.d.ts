// Generated from schemas/removal-approval.json by scripts/generate-schemas.ts. Do not edit; run "npm run generate".
/**
 * Approves removals that a guard holds, by a commit: it counts once, and only if it comes in a later commit than the one that caused the hold.
 */
export interface RemovalApproval {
/**
 * Group and version of the kind.
 */
apiVersion: "fleetrelay.dev/v1alpha1"
/**
 * The kind.
 */
kind: "RemovalApproval"
metadata: Metadata
spec: RemovalApprovalSpec
}
/**
 * Standard Kubernetes metadata. What an API server fills in is tolerated and not read.
 */
export interface Metadata {
/**
 * Name of the RemovalApproval.
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
 * What is approved.
 */
export interface RemovalApprovalSpec {
/**
 * Digest of the held removals, as status and `fleetrelay status` say it. What of that set is still held is released, and nothing else.
 */
digest: string
/**
 * RFC 3339 time from which on it is void. What it has released is void one hour after it was read, whatever it says.
 */
expires?: string
}

import type { SchemaValidator } from '../src/manifest/schema-validator.ts';
export declare const validate: SchemaValidator<RemovalApproval>;
