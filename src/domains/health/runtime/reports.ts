import type { Input } from '../../../engine/collections/types.ts';
import type { SharedRecord } from '../../../runtime/ledger/records.ts';
import { fields, isFlag, isTime, mapOf } from '../../../runtime/ledger/shapes.ts';
import { createSharedInput, type SharedInputDeps } from '../../../runtime/shared-input.ts';
import type { HealthReport } from '../model/dataplane-health.ts';

interface ReportDeps extends SharedInputDeps {
  readonly input: Input<HealthReport>;
}

/** The last report of a data plane. */
type ReportRecord = {
  /** When its stream began, in milliseconds since 1970, and more than for each earlier stream: the newest stream counts. */
  readonly began: number;
  readonly report: HealthReport;
};

/** The last reports, by `MESH/NAME` of the data plane. */
export const reportRecords: SharedRecord = {
  prefix: 'dataplane-reports/',
  shape: fields({
    began: isTime,
    report: fields({ envoyHealthy: isFlag, envoySince: isTime, workloads: mapOf(isFlag) }),
  }),
};

/** What became of a report. `superseded`: a newer stream of the data plane exists. */
export type ReportResult = 'changed' | 'unchanged' | 'superseded';

export type DataplaneReports = ReturnType<typeof createDataplaneReports>;

/** Knows the last report of each data plane. It holds after the stream has ended. */
export function createDataplaneReports(deps: ReportDeps) {
  const { clock } = deps;
  /** The beginning of the newest stream here. */
  const newest = new Map<string, number>();
  const shared = createSharedInput<ReportRecord, HealthReport>(deps, reportRecords, {
    input: deps.input,
    staged: ({ report }) => report,
    // A replica that did not know the newer stream yet has written it.
    isOutdated: (value, own) => value.began < own.began,
  });
  return {
    /** A stream that will report has begun. Returns its beginning. */
    began: (key: string): number => {
      const before = Math.max(newest.get(key) ?? 0, shared.get(key)?.began ?? 0);
      const began = Math.max(clock.now(), before + 1);
      newest.set(key, began);
      return began;
    },
    last: (key: string): HealthReport | undefined => shared.get(key)?.report,
    /** What is known after a report of the stream. */
    reported: (key: string, began: number, report: HealthReport): ReportResult => {
      const before = shared.get(key);
      if (began < Math.max(newest.get(key) ?? 0, before?.began ?? 0)) return 'superseded';
      shared.set(key, { began, report });
      return before !== undefined && saysTheSame(before.report, report) ? 'unchanged' : 'changed';
    },
    forget: (key: string): void => {
      newest.delete(key);
      shared.delete(key);
    },
    known: (): readonly string[] => [...shared.entries()].map(([key]) => key),
    start: shared.follow,
  };
}

/** Whether two reports say the same; since when does not matter. */
export function saysTheSame(a: HealthReport, b: HealthReport): boolean {
  const names = Object.keys(b.workloads);
  return (
    a.envoyHealthy === b.envoyHealthy &&
    names.length === Object.keys(a.workloads).length &&
    names.every((name) => a.workloads[name] === b.workloads[name])
  );
}
