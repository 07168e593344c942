import type { Collection, Derived, Graph } from '../../../engine/collections/types.ts';
import { type Deadline, hasPassed, OF_PROCESS } from '../../../engine/deadlines.ts';
import type { EngineInputs } from '../../../engine/inputs.ts';
import type { JsonValue } from '../../../model/text/json.ts';
import { isProbed } from '../model/dataplane.ts';
import type { HealthReport } from '../model/dataplane-health.ts';
import type { KnownDataplane } from './dataplanes.ts';

/** The part of the policy that says how long reports are waited for. */
export interface ReportSettings {
  readonly reportWaitSeconds: number;
}

/** What {@link deriveReportWait} reads. */
interface ReportInputs extends Pick<EngineInputs, 'safeStart' | 'elapsed'> {
  /** {@link ReportSettings}, among others. One entry, key and partition empty. */
  readonly settings: Collection<JsonValue>;
  readonly declared: Collection<KnownDataplane>;
  readonly reports: Collection<HealthReport>;
}

/** Key of the deadline at which the wait for reports ends. */
const REPORTS = 'reports';

/**
 * Derives which declared data planes a process waits for after its start: their Envoys probe applications, and no report is
 * known. The store may have lost the reports, so what was made from them stays. Before a process accepts agents it sends
 * nothing, and waits for no report.
 */
export function deriveReportWait(graph: Graph, inputs: ReportInputs) {
  const { safeStart, elapsed, settings, declared, reports } = inputs;
  const probed = graph.index('probedDataplanes', declared, ({ value }) => (hasProbe(value) ? ['all'] : []));
  const deadlines = graph.derive<number, Deadline>({
    name: 'reportWaitDeadline',
    from: safeStart,
    reads: [settings, probed],
    compute: ({ value: began }, read, emit) => {
      const its = read.get(settings, '', '') as unknown as ReportSettings | undefined;
      if (its === undefined || read.count(probed, 'all') === 0) return;
      emit(OF_PROCESS, REPORTS, { at: began + its.reportWaitSeconds });
    },
  });
  const isOpen = graph.derive<number, true>({
    name: 'reportWait',
    from: safeStart,
    reads: [elapsed, probed],
    // Any end counts: a policy with a longer wait does not begin it again.
    compute: ({ value: began }, read, emit) => {
      if (read.count(probed, 'all') > 0 && !hasPassed(read, elapsed, OF_PROCESS, REPORTS, began)) emit('', '', true);
    },
  });
  /** Partition empty, key the data plane's. */
  const awaited: Derived<true> = graph.derive<KnownDataplane, true>({
    name: 'awaitedReports',
    from: declared,
    reads: [isOpen, reports],
    compute: ({ key, value }, read, emit) => {
      if (!hasProbe(value) || read.get(isOpen, '', '') === undefined) return;
      if (read.get(reports, '', key) === undefined) emit('', key, true);
    },
  });
  return { deadlines, awaited, derived: [isOpen, awaited] };
}

function hasProbe({ dataplane }: KnownDataplane): boolean {
  return dataplane.inbounds.some(isProbed);
}
