import { errorText } from '../model/text/messages.ts';
import type { AuditEntry, AuditLog } from '../ports/audit-log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { ResourceEvent } from '../ports/resource-status.ts';
import type { ServerBus } from './events.ts';

/** The Event about a KubernetesCluster that has enrolled before. Each certificate has its own Event. */
export function enrolledAgainEvent(serial: string): ResourceEvent {
  const message = `its agent has enrolled again and got the certificate ${serial}; if that was not planned, a token was stolen`;
  return { type: 'Warning', reason: 'EnrolledAgain', message };
}

/** Notes in the audit log each enrolment of a cluster that had enrolled before. The rate of registrations bounds them. */
export function noteEnrolments(
  { clock, log, events }: { readonly clock: Clock; readonly log: Log; readonly events: Pick<ServerBus, 'on'> },
  audit: Pick<AuditLog, 'append'> | undefined,
): void {
  events.on('enrolledAgain', ({ request: { cluster, clusterId }, serial }) => {
    const entry: AuditEntry = {
      id: serial,
      at: new Date(clock.now()).toISOString(),
      stage: 'done',
      who: `agent ${cluster}`,
      role: null,
      proof: 'token',
      from: '',
      act: `clusters/${cluster}/enrol-again`,
      details: { serial, clusterId },
      message: '',
    };
    audit?.append(entry).catch((error: unknown) => {
      log.error('the audit log cannot be written', { error: errorText(error), act: entry.act });
    });
  });
}
