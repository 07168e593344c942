import type { AgentReport } from '../../../model/agent/agent-report.ts';

/** What agents report for the care of Shoots. */
export const API_SERVER_PROBE: AgentReport = { kind: 'ApiServerProbe', name: 'healthz' };
export const LEASE_REPORT: AgentReport = { kind: 'LeaseReport', name: 'leases' };
export const CERTIFICATE_REPORT: AgentReport = { kind: 'CertificateReport', name: 'authorities' };
export const TUNNEL_PROBE: AgentReport = { kind: 'TunnelProbe', name: 'tunnel' };
/** What the remediator has done. */
export const REMEDIATIONS: AgentReport = { kind: 'Remediations', name: 'webhooks' };
