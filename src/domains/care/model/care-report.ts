import type { LiveObject } from '../../../model/agent.ts';
import { objectDigest } from '../../../model/digest.ts';
import type { JsonObject } from '../../../model/json.ts';
import { nameOfKind, type ObjectKey, objectKey } from '../../../model/object-key.ts';

const GROUP = 'internal.fleetrelay.dev';
/** The only object of each kind, by its name. */
const NAMES = {
  ApiServerProbe: 'healthz',
  LeaseReport: 'leases',
  CertificateReport: 'authorities',
  TunnelProbe: 'tunnel',
  Remediations: 'webhooks',
  DriftReport: 'drift',
} as const;

/** What agents make for the care of Shoots and of drift, and report as a live object that is in no cluster. */
export type CareReport = keyof typeof NAMES;

/** The kind of a report, as `group/Kind`. */
export function careReportKind(report: CareReport): string {
  return nameOfKind({ group: GROUP, kind: report });
}

/** The key of the only object of a report. */
export function careReportKey(report: CareReport): ObjectKey {
  return objectKey({ group: GROUP, kind: report, namespace: '', name: NAMES[report] });
}

/** The object of a report. */
export function careReportObject(report: CareReport, status: JsonObject): LiveObject {
  const value = { apiVersion: `${GROUP}/v1`, kind: report, metadata: { name: NAMES[report] }, status };
  return { key: careReportKey(report), value, digest: objectDigest(value) };
}
