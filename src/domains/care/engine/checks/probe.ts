import type { Reader } from '../../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../../engine/inputs.ts';
import { agentReportKey, agentReportKind } from '../../../../model/agent/agent-report.ts';
import { type JsonObject, objectOf } from '../../../../model/text/json.ts';
import { API_SERVER_PROBE } from '../../model/reports.ts';
import type { ConditionFinding } from '../thresholds.ts';
import { type ClusterReads, kindObstacle, notChecked } from '../visibility.ts';

/** The kind of the object that an agent reports of its API server. */
const PROBE_KIND = agentReportKind(API_SERVER_PROBE);
const PROBE_KEY = agentReportKey(API_SERVER_PROBE);

/** What {@link probeOf} reads. */
export interface ProbeReads extends Pick<EngineInputs, 'live' | 'kinds'>, Pick<ClusterReads, 'agents'> {}

/**
 * The finding that follows from what the agent of a cluster last saw of its API server, or from that this is not known.
 * `faultOf` returns the fault of the probe's status, or undefined.
 */
export function probeFinding(
  read: Reader,
  cluster: string,
  { live, kinds, agents }: ProbeReads,
  faultOf: (status: JsonObject) => ConditionFinding | undefined,
): ConditionFinding | undefined {
  const unseen = kindObstacle(read, kinds, cluster, PROBE_KIND);
  if (unseen !== undefined) return unseen;
  const probe = read.get(live, cluster, PROBE_KEY);
  if (probe !== undefined) {
    const fault = faultOf(objectOf(probe.value.status));
    return fault === undefined ? undefined : { ...fault, cause: { cluster, key: PROBE_KEY } };
  }
  // A directory has no API server to ask: reading it is the answer.
  if (read.get(agents, '', cluster)?.kindsAsWritten === true) return undefined;
  return notChecked(`the agent of cluster ${cluster} reports no probe of its API server`);
}
