import { type AgentReports, madeReport, reportsOf } from '../../../model/agent/agent-report.ts';
import type { AgentSettings } from '../../../model/agent/agent-settings.ts';
import type { LiveState } from '../../../ports/cluster-api.ts';
import { authoritiesIn, leasesIn } from '../adapters/directory.ts';
import { leaseWorkOf, madeLeaseReport } from '../agent/lease-report.ts';
import { CERTIFICATE_REPORT, LEASE_REPORT } from '../model/reports.ts';

/** The reports that the agent of a recorded cluster would make for the care of Shoots at a moment. */
export function reportsOfRecorded(
  live: LiveState,
  { care, discovery }: AgentSettings,
  nowMillis: number,
): AgentReports {
  if (care === undefined) return reportsOf([]);
  const work = leaseWorkOf(care.leases, discovery);
  const leases = () => madeLeaseReport(work, leasesIn(live, work.namespaces), nowMillis);
  return reportsOf([
    ...(care.leases.length === 0 ? [] : [madeReport(LEASE_REPORT, ...leases())]),
    ...(care.certificates ? [madeReport(CERTIFICATE_REPORT, authoritiesIn(live))] : []),
  ]);
}
