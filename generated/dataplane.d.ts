// Generated from schemas/dataplane.json by scripts/generate-schemas.ts. Do not edit; run "npm run generate".
/**
 * A data plane proxy of Kuma, in the flat Universal form or as the custom resource. Fields that are not known are warned of and ignored, as Kuma does.
 */
export type Dataplane = (UniversalDataplane | KubernetesDataplane)

/**
 * The flat form that Kuma uses outside Kubernetes.
 */
export interface UniversalDataplane {
/**
 * The kind.
 */
type: "Dataplane"
/**
 * The mesh that the data plane belongs to; a part of its identity.
 */
mesh?: string
/**
 * Name: a DNS subdomain; required.
 */
name?: string
/**
 * Labels of the resource.
 */
labels?: {
[k: string]: string
}
/**
 * Filled in by a control plane; not read.
 */
creationTime?: string
/**
 * Filled in by a control plane; not read.
 */
modificationTime?: string
/**
 * Resource identifier, filled in by a control plane; not read.
 */
kri?: string
networking?: Networking
metrics?: DataplaneMetrics
probes?: VirtualProbes
}
/**
 * Addresses and interfaces of the data plane proxy.
 */
export interface Networking {
/**
 * IP address or host name that the proxy is reached at; required.
 */
address?: string
/**
 * @deprecated
 * Address that other proxies use instead of address.
 */
advertisedAddress?: string
admin?: EnvoyAdmin
/**
 * Interfaces that the proxy receives traffic on.
 */
inbound?: Inbound[]
/**
 * Interfaces that the proxy sends traffic from.
 */
outbound?: Outbound[]
gateway?: Gateway
transparentProxying?: TransparentProxying
/**
 * Listeners of zone proxies (Kuma 2.14 and later).
 */
listeners?: Listener[]
}
/**
 * Envoy's admin interface.
 */
export interface EnvoyAdmin {
/**
 * Port of the admin interface on the loopback address; the control plane's default is 9901.
 */
port?: (number | string)
}
/**
 * One interface that the proxy receives traffic on.
 */
export interface Inbound {
/**
 * Port of the listener; required.
 */
port?: (number | string)
/**
 * Port of the application; port if left out.
 */
servicePort?: (number | string)
/**
 * IP address of the application; the inbound's or the proxy's address if left out.
 */
serviceAddress?: string
/**
 * IP address of the listener; networking.address if left out.
 */
address?: string
/**
 * @deprecated
 * Tags; kuma.io/service names the service, kuma.io/protocol its protocol.
 */
tags?: {
[k: string]: string
}
health?: InboundHealth
serviceProbe?: ServiceProbe
/**
 * State of the inbound: Ready takes traffic, NotReady does not, Ignored is left out of everything.
 */
state?: ("Ready" | "NotReady" | "Ignored" | 0 | 1 | 2)
/**
 * Section name; the port as text if left out.
 */
name?: string
/**
 * Protocol; overrides the tag kuma.io/protocol.
 */
protocol?: string
}
/**
 * @deprecated
 * Health as last known. Left out means healthy; present without ready means not ready.
 */
export interface InboundHealth {
/**
 * Whether the endpoint takes traffic.
 */
ready?: boolean
}
/**
 * Active health check of the application, done by Envoy on Universal. TCP only.
 */
export interface ServiceProbe {
/**
 * Time between two checks. A Go duration.
 */
interval?: string
/**
 * Longest time to wait for an answer. A Go duration.
 */
timeout?: string
/**
 * Failed checks in a row that make the inbound unhealthy.
 */
unhealthyThreshold?: (number | string)
/**
 * Successful checks in a row that make the inbound healthy.
 */
healthyThreshold?: (number | string)
tcp?: TcpProbe
}
/**
 * Opens a TCP connection; has no settings.
 */
export interface TcpProbe {

}
/**
 * One interface that the proxy sends traffic from.
 */
export interface Outbound {
/**
 * Address that the proxy listens on for the application.
 */
address?: string
/**
 * Port that the proxy listens on for the application; required.
 */
port?: (number | string)
/**
 * @deprecated
 * Tags of the destination.
 */
tags?: {
[k: string]: string
}
backendRef?: BackendRef
}
/**
 * The destination as a reference.
 */
export interface BackendRef {
/**
 * Kind of the destination.
 */
kind?: string
/**
 * Name of the destination.
 */
name?: string
/**
 * Namespace of the destination.
 */
namespace?: string
/**
 * Port of the destination.
 */
port?: (number | string)
/**
 * Labels of the destination.
 */
labels?: {
[k: string]: string
}
}
/**
 * Makes the data plane a gateway; excludes inbounds.
 */
export interface Gateway {
/**
 * DELEGATED: another proxy stands in front. BUILTIN: Envoy itself is the gateway.
 */
type?: ("DELEGATED" | "BUILTIN" | 0 | 1)
/**
 * Tags of the gateway; kuma.io/service names it.
 */
tags?: {
[k: string]: string
}
}
/**
 * Settings of the transparent proxy.
 */
export interface TransparentProxying {
/**
 * Port that inbound traffic is redirected to.
 */
redirectPortInbound?: (number | string)
/**
 * Port that outbound traffic is redirected to.
 */
redirectPortOutbound?: (number | string)
/**
 * @deprecated
 * Port that inbound IPv6 traffic is redirected to.
 */
redirectPortInboundV6?: (number | string)
/**
 * Services that are reached directly by their instances.
 */
directAccessServices?: string[]
/**
 * @deprecated
 * Services that the proxy gets configuration for; all if left out.
 */
reachableServices?: string[]
/**
 * IP families that are redirected.
 */
ipFamilyMode?: ("UnSpecified" | "DualStack" | "IPv4" | "IPv6" | 0 | 1 | 2 | 3)
reachableBackends?: ReachableBackends
}
/**
 * Destinations that the proxy gets configuration for.
 */
export interface ReachableBackends {
/**
 * References to destinations.
 */
refs?: ReachableBackendRef[]
}
/**
 * One or several destinations.
 */
export interface ReachableBackendRef {
/**
 * Kind of the destinations.
 */
kind?: string
/**
 * Name of the destination.
 */
name?: string
/**
 * Namespace of the destination.
 */
namespace?: string
/**
 * Port of the destination.
 */
port?: (number | string)
/**
 * Labels of the destinations.
 */
labels?: {
[k: string]: string
}
}
/**
 * One listener of a zone proxy.
 */
export interface Listener {
/**
 * What the listener is for: ZoneIngress (1) or ZoneEgress (2); required.
 */
type?: (string | number)
/**
 * IP address or host name of the listener; required.
 */
address?: string
/**
 * Port of the listener; required.
 */
port?: (number | string)
/**
 * Section name.
 */
name?: string
/**
 * State of the listener.
 */
state?: ("Ready" | "NotReady" | 0 | 1)
}
/**
 * Metrics of the data plane proxy; checked by Kuma's rules, and not used.
 */
export interface DataplaneMetrics {
/**
 * Name of the metrics backend.
 */
name?: string
/**
 * Type of the metrics backend.
 */
type?: string
/**
 * Settings of the backend: a PrometheusMetricsBackendConfig of Kuma.
 */
conf?: {

}
[k: string]: unknown
}
/**
 * @deprecated
 * Listener for Virtual Probes, which rewrites probes of a pod.
 */
export interface VirtualProbes {
/**
 * Port of the listener.
 */
port?: (number | string)
/**
 * Rewritten probes.
 */
endpoints?: VirtualProbeEndpoint[]
}
/**
 * One rewritten probe.
 */
export interface VirtualProbeEndpoint {
/**
 * Port of the application.
 */
inboundPort?: (number | string)
/**
 * Path at the application.
 */
inboundPath?: string
/**
 * Path at the listener.
 */
path?: string
}
/**
 * The form of the custom resource.
 */
export interface KubernetesDataplane {
/**
 * Group and version of the kind.
 */
apiVersion: "kuma.io/v1alpha1"
/**
 * The kind.
 */
kind: "Dataplane"
/**
 * The mesh that the data plane belongs to; a part of its identity.
 */
mesh?: string
metadata?: Metadata
spec?: DataplaneSpec
status?: DataplaneStatus
}
/**
 * Standard Kubernetes metadata. What an API server fills in is tolerated and not read.
 */
export interface Metadata {
/**
 * Name of the object.
 */
name?: string
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
 * The data plane.
 */
export interface DataplaneSpec {
networking?: Networking
metrics?: DataplaneMetrics1
probes?: VirtualProbes
}
/**
 * Metrics of the data plane proxy; checked by Kuma's rules, and not used.
 */
export interface DataplaneMetrics1 {
/**
 * Name of the metrics backend.
 */
name?: string
/**
 * Type of the metrics backend.
 */
type?: string
/**
 * Settings of the backend: a PrometheusMetricsBackendConfig of Kuma.
 */
conf?: {

}
[k: string]: unknown
}
/**
 * Written by fleetrelay; not read as desired state.
 */
export interface DataplaneStatus {
/**
 * The metadata.generation that the status was computed for.
 */
observedGeneration?: number
/**
 * Conditions, one a type.
 */
conditions?: Condition[]
/**
 * Online, Offline or Partially degraded.
 */
status?: string
/**
 * The inbounds and listeners that are not ready.
 */
notes?: string[]
connection?: DataplaneConnection
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
 * Whether the proxy is connected to its control plane, and since when.
 */
export interface DataplaneConnection {
/**
 * connected, draining, disconnected or never.
 */
state?: string
/**
 * RFC 3339 time at which the state began; absent: it is not known.
 */
since?: string
[k: string]: unknown
}

import type { SchemaValidator } from '../src/manifest/schema-validator.ts';
export declare const validate: SchemaValidator<Dataplane>;
