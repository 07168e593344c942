/** What became of reports and pushes, by constant result; counts since the start of the process. */
export interface XdsFigures {
  /** Open HDS streams of data planes that were let in. */
  readonly hdsStreams: number;
  readonly hdsReports: ReadonlyMap<string, number>;
  readonly edsPushes: ReadonlyMap<string, number>;
  /** Streams that were refused, by constant reason. */
  readonly refusals: ReadonlyMap<string, number>;
}
