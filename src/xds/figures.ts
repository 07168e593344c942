import type { XdsFigures } from '../model/fleet/xds-figures.ts';

export type XdsCounts = ReturnType<typeof createXdsCounts>;

/** Counts for {@link XdsFigures}. */
export function createXdsCounts() {
  const hdsReports = new Map<string, number>();
  const edsPushes = new Map<string, number>();
  const refusals = new Map<string, number>();
  let hdsStreams = 0;
  const add = (counts: Map<string, number>, what: string): void => {
    counts.set(what, (counts.get(what) ?? 0) + 1);
  };
  return {
    hdsOpened: (): void => {
      hdsStreams += 1;
    },
    hdsEnded: (): void => {
      hdsStreams -= 1;
    },
    report: (result: 'changed' | 'unchanged' | 'superseded' | 'malformed'): void => add(hdsReports, result),
    push: (result: 'sent' | 'accepted' | 'rejected'): void => add(edsPushes, result),
    refused: (reason: string): void => add(refusals, reason),
    figures: (): XdsFigures => ({ hdsStreams, hdsReports, edsPushes, refusals }),
  };
}
