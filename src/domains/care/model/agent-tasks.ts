declare module '../../../model/agent/agent-settings.ts' {
  interface AgentSettings {
    /** Absent: the cluster belongs to no Shoot. */
    readonly care?: CareTasks;
  }
}

/** What an agent does for the care of Shoots, and reports as objects of the group `internal.fleetrelay.dev`. */
export interface CareTasks {
  /** Asks the API server `/healthz`, reported as `ApiServerProbe`; `readyz`: `/readyz?verbose` too. */
  readonly apiServerProbe?: { readonly syncPeriodMillis: number; readonly readyz: boolean };
  /** The Leases that are judged, reported as one `LeaseReport`. Empty: none. */
  readonly leases: readonly JudgedLeases[];
  /** Parses the certificates of the cluster's own authorities, reported as `CertificateReport`. */
  readonly certificates: boolean;
  /** Tests a port-forward to the tunnel Pod, reported as `TunnelProbe`. Without the right for it the agent reports none. */
  readonly tunnel: boolean;
  /** Changes problematic webhooks, or only tells what it would change. Absent: neither. */
  readonly webhookRemediator?: 'on' | 'dryRun';
}

/** Leases of one Namespace. */
export interface JudgedLeases {
  readonly namespace: string;
  /** Absent: every name. */
  readonly namePrefix?: string;
  /** Time after its last renewal at which a Lease expires; absent: its own duration. */
  readonly staleAfterMillis?: number;
}
