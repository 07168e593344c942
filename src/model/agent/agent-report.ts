import { nameOfKind, type ObjectKey, objectKey } from '../objects/object-key.ts';
import { objectDigest } from '../text/digest.ts';
import type { JsonObject } from '../text/json.ts';
import type { KindState, LiveObject } from './agent.ts';

const GROUP = 'internal.fleetrelay.dev';

/** What an agent says of its cluster in the form of a live object. The object is in no cluster, and is the only one of its kind. */
export interface AgentReport {
  readonly kind: string;
  /** The name of the object. */
  readonly name: string;
}

/** What the agent has found of drift since it has started. */
export const DRIFT_REPORT: AgentReport = { kind: 'DriftReport', name: 'drift' };

/** Whether a kind (`group/Kind`) is one of reports. */
export function isAgentReport(kind: string): boolean {
  return kind.startsWith(`${GROUP}/`);
}

/** The kind of a report, as `group/Kind`. */
export function agentReportKind({ kind }: AgentReport): string {
  return nameOfKind({ group: GROUP, kind });
}

/** The key of the only object of a report. */
export function agentReportKey({ kind, name }: AgentReport): ObjectKey {
  return objectKey({ group: GROUP, kind, namespace: '', name });
}

/** The object of a report. */
export function agentReportObject(report: AgentReport, status: JsonObject): LiveObject {
  const { kind, name } = report;
  const value = { apiVersion: `${GROUP}/v1`, kind, metadata: { name }, status };
  return { key: agentReportKey(report), value, digest: objectDigest(value) };
}

/** A report as it was made last; without an object there is nothing to report. */
export interface MadeReport {
  readonly object?: LiveObject;
  readonly kind: KindState;
}

/** The reports of one part of an agent. */
export interface AgentReports {
  readonly objects: readonly LiveObject[];
  /** The kinds of the reports that are made now. */
  readonly kinds: readonly KindState[];
}

/** A report with this status, and what differs in the state of its kind; without a status there is nothing to report. */
export function madeReport(
  report: AgentReport,
  status: JsonObject | undefined,
  kind?: Partial<Pick<KindState, 'state' | 'message' | 'unlisted'>>,
): MadeReport {
  return {
    ...(status === undefined ? {} : { object: agentReportObject(report, status) }),
    kind: { kind: agentReportKind(report), scope: 'Cluster', state: 'complete', message: '', ...kind },
  };
}

/** All reports that were made. */
export function reportsOf(made: Iterable<MadeReport>): AgentReports {
  const all = [...made];
  return { objects: all.flatMap(({ object }) => object ?? []), kinds: all.map(({ kind }) => kind) };
}
