import type { AgentSettings } from '../../../model/agent/agent-settings.ts';
import type { JsonObject } from '../../../model/text/json.ts';
import type { JudgedLeases } from '../model/agent-tasks.ts';
import { leaseReportOf } from '../model/lease-report.ts';
import type { FoundLeases } from '../ports/care-api.ts';

/** Which Leases are judged and how. */
export interface LeaseWork {
  readonly judged: readonly JudgedLeases[];
  /** The Namespaces that are read. */
  readonly namespaces: readonly string[];
  /** Namespaces whose Leases the FleetPolicy excludes from discovery: nothing in them is reported. */
  readonly excluded: readonly string[];
}

/** What has to be read for these rules. */
export function leaseWorkOf(
  judged: readonly JudgedLeases[],
  { excludedNamespaces, excludedKinds }: Pick<AgentSettings['discovery'], 'excludedNamespaces' | 'excludedKinds'>,
): LeaseWork {
  const isExcluded = (namespace: string) => excludedKinds.includes(LEASE) || excludedNamespaces.includes(namespace);
  const all = [...new Set(judged.map(({ namespace }) => namespace))];
  return {
    judged,
    namespaces: all.filter((namespace) => !isExcluded(namespace)),
    excluded: all.filter(isExcluded),
  };
}

const LEASE = 'coordination.k8s.io/Lease';

/** The status of the LeaseReport at a moment, and the Namespaces for which it is not complete, each with why. */
export function madeLeaseReport(
  { judged, excluded }: LeaseWork,
  { leases, refused }: FoundLeases,
  nowMillis: number,
): [status: JsonObject, kind: { readonly unlisted?: Readonly<Record<string, string>> }] {
  const status = leaseReportOf(leases, judged, nowMillis) as unknown as JsonObject;
  const leftOut = excluded.map((namespace) => [namespace, 'the FleetPolicy leaves it out of discovery'] as const);
  const unlisted = { ...refused, ...Object.fromEntries(leftOut) };
  return [status, Object.keys(unlisted).length === 0 ? {} : { unlisted }];
}
