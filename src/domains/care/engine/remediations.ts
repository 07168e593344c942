import type { Collection, Derived, Graph } from '../../../engine/collections/types.ts';
import type { EngineInputs } from '../../../engine/inputs.ts';
import type { LiveObject } from '../../../model/agent/agent.ts';
import { agentReportKey } from '../../../model/agent/agent-report.ts';
import { isWanted, type ViewFilter } from '../../../model/fleet/view-filter.ts';
import { compareText, type JsonObject, objectOf } from '../../../model/text/json.ts';
import { type RecordedRemediation, readRemediations } from '../model/remediations.ts';
import { REMEDIATIONS } from '../model/reports.ts';

const REMEDIATIONS_KEY = agentReportKey(REMEDIATIONS);

/** Derives what agents report of remediated webhooks, the oldest first. Partition and key: the cluster. */
export function deriveRemediations(
  graph: Graph,
  { live }: Pick<EngineInputs, 'live'>,
): Derived<readonly RecordedRemediation[]> {
  return graph.derive<LiveObject, readonly RecordedRemediation[]>({
    name: 'remediations',
    from: live,
    keys: (key) => key === REMEDIATIONS_KEY,
    compute: ({ partition: cluster, value: { value } }, _read, emit) =>
      emit(cluster, cluster, readRemediations(objectOf(value.status))),
  });
}

/** The rows of `fleetrelay get remediations`, in the order of their time. */
export function remediationViewRows(
  remediations: Collection<readonly RecordedRemediation[]>,
  filter: ViewFilter = {},
): readonly JsonObject[] {
  return [...remediations.partitions()]
    .filter((cluster) => isWanted(filter.cluster, cluster))
    .sort(compareText)
    .flatMap((cluster) =>
      (remediations.get(cluster, cluster) ?? []).map(({ id, time, ...rest }) => ({ time, cluster, ...rest, id })),
    )
    .sort((a, b) => compareText(a.time, b.time));
}
