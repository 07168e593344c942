import { authoritiesIn, leasesIn } from '../../adapters/directory/care.ts';
import { type CareReports, madeReport, reportsOf } from '../../agent/care/care.ts';
import { leaseWorkOf, madeLeaseReport } from '../../agent/care/lease-report.ts';
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
