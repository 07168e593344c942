/** Headers with this beginning (in lower case) are for the probe proxy; the application does not receive them. */
export const PROBE_HEADER_PREFIX = 'x-kuma-probes-';

/** The `Host` that the application receives. */
export const HOST_HEADER = 'X-Kuma-Probes-Host';
/** `HTTPS`: the application speaks HTTPS. */
export const SCHEME_HEADER = 'X-Kuma-Probes-Scheme';
/** Time limit of the probe, in seconds. */
export const TIMEOUT_HEADER = 'X-Kuma-Probes-Timeout';
/** The service that a gRPC probe asks about. */
export const GRPC_SERVICE_HEADER = 'X-Kuma-Probes-GRPC-Service';
