import type { LiveObject } from '../../model/agent/agent.ts';
import { agentReportKey, DRIFT_REPORT } from '../../model/agent/agent-report.ts';
import { type DriftRecord, readDrifts } from '../../model/fleet/drift.ts';
import { isWanted, type ViewFilter } from '../../model/fleet/view-filter.ts';
import { compareText, type JsonObject, objectOf } from '../../model/text/json.ts';
import type { Collection } from '../collections/types.ts';
import type { Domain } from '../domain.ts';

const REPORT_KEY = agentReportKey(DRIFT_REPORT);

/** Drift: what agents have found of objects that others have changed or removed. */
export const drift: Domain = {
  name: 'drift',
  readsLive: {},
  derive: (graph, { inputs: { live } }) => {
    /** The oldest first. Partition and key: the cluster. */
    const drifts = graph.derive<LiveObject, readonly DriftRecord[]>({
      name: 'drifts',
      from: live,
      keys: (key) => key === REPORT_KEY,
      compute: ({ partition: cluster, value: { value } }, _read, emit) =>
        emit(cluster, cluster, readDrifts(objectOf(value.status))),
    });
    return {
      collections: { bySource: [], anywhere: [], shown: [drifts] },
      report: () => ({ shows: { views: { drift: (filter) => driftRows(drifts, filter) } } }),
    };
  },
};

/** The last drift of an object that the agent of its cluster has found since it has started; undefined: none. */
export function driftOf(
  live: Pick<Collection<LiveObject>, 'get'>,
  cluster: string,
  object: string,
): DriftRecord | undefined {
  const report = live.get(cluster, REPORT_KEY);
  if (report === undefined) return undefined;
  return readDrifts(objectOf(report.value.status)).find((each) => each.object === object);
}

/** The rows of `fleetrelay get drift`, in the order of their time. */
function driftRows(drifts: Collection<readonly DriftRecord[]>, filter: ViewFilter = {}): readonly JsonObject[] {
  return [...drifts.partitions()]
    .filter((cluster) => isWanted(filter.cluster, cluster))
    .sort(compareText)
    .flatMap((cluster) => (drifts.get(cluster, cluster) ?? []).map(({ time, ...rest }) => ({ time, cluster, ...rest })))
    .sort((a, b) => compareText(a.time, b.time));
}
