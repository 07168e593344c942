import { type Dataplane, type Inbound, isProbed } from '../model/dataplane.ts';
import type { HealthReport } from '../model/dataplane-health.ts';

/** Whether a proxy is connected to its control plane. Apart from health: see {@link statusOf}. */
export interface Connection {
  /**
   * `draining`: connected, and Envoy reports itself unhealthy or the Pod is terminating. `disconnected`: it was connected.
   * `never`: nothing says that it ever was.
   */
  readonly state: 'connected' | 'draining' | 'disconnected' | 'never';
  /** When the state began, in milliseconds since 1970; absent: it is not known. */
  readonly since?: number;
  /** Why its Envoy has refused the endpoints that it was sent last; absent: it has not. */
  readonly rejected?: string;
  /** Why the last stream has ended; absent: one is open, or it is not known. */
  readonly ended?: string;
}

/** As Kuma spells it. */
export type DataplaneStatus = 'Online' | 'Offline' | 'Partially degraded';

/** One reason why an inbound is not ready. */
export type NotReadyCause =
  /** Its `state` or `health.ready` says so. */
  | { readonly type: 'declared' }
  /** A container is not ready; `reason`: why it waits or has ended, empty if it does neither. */
  | { readonly type: 'container' | 'sidecar'; readonly name: string; readonly reason: string }
  /** The Pod is about to end. */
  | { readonly type: 'terminating' }
  /** Envoy probes the application, and has not reported a result. */
  | { readonly type: 'unreported' }
  /** It has a `serviceProbe`, and Envoy cannot probe its application: the address is a host name. */
  | { readonly type: 'unprobed' }
  /** Envoy reports that the application is unhealthy. */
  | { readonly type: 'unhealthy' }
  /** Envoy reports itself unhealthy, as it does while it drains. */
  | { readonly type: 'draining' };

/** The key of an application in the `workloads` of a report. */
export function workloadKey({ workload: { address, port } }: Pick<Inbound, 'workload'>): string {
  return `${address}:${port}`;
}

/** Of an inbound that is ready. */
export const NO_CAUSES: readonly NotReadyCause[] = [];
const DECLARED: readonly NotReadyCause[] = [{ type: 'declared' }];

/** Why the declaration of an inbound takes it out of the load-balancing set. */
export function declaredCauses({ state, ready }: Inbound): readonly NotReadyCause[] {
  return state === 'Ready' && ready !== false ? NO_CAUSES : DECLARED;
}

/**
 * Why an inbound is not ready by its declaration and by the last report of its Envoy. A report never overrides what is
 * declared. An inbound that Envoy probes is not ready before a report names its application.
 */
export function reportedCauses(inbound: Inbound, report: HealthReport | undefined): readonly NotReadyCause[] {
  const reported = report?.workloads[workloadKey(inbound)];
  const causes: NotReadyCause[] = [...declaredCauses(inbound)];
  if (reported === false) causes.push({ type: 'unhealthy' });
  if (reported === undefined && inbound.serviceProbe !== undefined) {
    causes.push({ type: isProbed(inbound) ? 'unreported' : 'unprobed' });
  }
  if (report?.envoyHealthy === false) causes.push({ type: 'draining' });
  return causes.length === 0 ? NO_CAUSES : causes;
}

/** Whether the inbound counts: an ignored one counts nowhere. */
export function isCounted({ state }: Inbound): boolean {
  return state !== 'Ignored';
}

/** The status of a data plane, and notes about what is not ready. */
export interface StatusWithNotes {
  readonly status: DataplaneStatus;
  readonly notes: readonly string[];
}

const NO_NOTES: readonly string[] = [];

/**
 * The status of a data plane as Kuma computes it, without inbounds that do not count. What has nothing that could be ready,
 * and a gateway, is online while it is connected.
 *
 * @param causes of each inbound
 */
export function statusOf(
  { gateway, inbounds, listeners }: Dataplane,
  causes: readonly (readonly NotReadyCause[])[],
  { state }: Connection,
): StatusWithNotes {
  const isConnected = state === 'connected' || state === 'draining';
  const counted = gateway === undefined ? inbounds.filter(isCounted).length + listeners.length : 0;
  if (counted === 0) return { status: isConnected ? 'Online' : 'Offline', notes: NO_NOTES };
  const notes = [
    ...inbounds.flatMap((inbound, at) =>
      isCounted(inbound) && (causes[at] ?? NO_CAUSES).length > 0
        ? [`inbound[port=${inbound.port},svc=${inbound.service}] is not ready`]
        : [],
    ),
    ...listeners.flatMap(({ port, type, state: its }) =>
      its === 'Ready' ? [] : [`listener[port=${port},type=${type}] is not ready`],
    ),
  ];
  if (!isConnected || notes.length === counted) return { status: 'Offline', notes };
  return notes.length === 0 ? { status: 'Online', notes: NO_NOTES } : { status: 'Partially degraded', notes };
}
