import { authoritiesIn, leasesIn } from '../../domains/care/adapters/directory.ts';
import { type CareReports, madeReport, reportsOf } from '../../domains/care/agent/care.ts';
import { leaseWorkOf, madeLeaseReport } from '../../domains/care/agent/lease-report.ts';
import type { AgentSettings } from '../../model/agent-settings.ts';
import type { LiveState } from '../../ports/cluster-api.ts';

/** The reports that the agent of a recorded cluster would make for the care of Shoots at a moment. */
export function reportsOfRecorded(live: LiveState, { care, discovery }: AgentSettings, nowMillis: number): CareReports {
  if (care === undefined) return reportsOf([]);
  const work = leaseWorkOf(care.leases, discovery);
  const leases = () => madeLeaseReport(work, leasesIn(live, work.namespaces), nowMillis);
  return reportsOf([
    ...(care.leases.length === 0 ? [] : [madeReport('LeaseReport', ...leases())]),
    ...(care.certificates ? [madeReport('CertificateReport', authoritiesIn(live))] : []),
  ]);
}
