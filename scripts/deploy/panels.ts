/** One panel: what is drawn, and how. */
export interface Panel {
  readonly title: string;
  readonly type: 'stat' | 'timeseries' | 'state-timeline';
  /** Expression and legend. */
  readonly queries: readonly (readonly [expr: string, legend: string])[];
  readonly unit?: string;
  /** Of 24 columns. */
  readonly width?: number;
  readonly description?: string;
  /** Values that are bad: from this one on it is red. */
  readonly redFrom?: number;
  /** Values that are bad: below this one it is red. */
  readonly redBelow?: number;
}

/** A row of panels under a title. */
export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** What selects the servers that the variables of the dashboard name. */
export const SERVER = 'namespace=~"$namespace", job=~"$job"';

/** The expression of a quantile of a histogram. */
export function quantile(share: string, buckets: string): string {
  return `histogram_quantile(${share}, sum by (le) (rate(${buckets}[5m])))`;
}

/** A number. */
export function stat(title: string, expr: string, over: Partial<Panel> = {}): Panel {
  return { title, type: 'stat', queries: [[expr, title]], width: 3, ...over };
}

/** Lines over time. */
export function lines(title: string, queries: Panel['queries'], unit?: string): Panel {
  return { title, type: 'timeseries', queries, ...(unit === undefined ? {} : { unit }) };
}

/** States over time. */
export function timeline(title: string, expr: string, legend: string, over: Partial<Panel>): Panel {
  return { title, type: 'state-timeline', queries: [[expr, legend]], ...over };
}
