/** What became of the streams of Envoys since the start of the process; maps are by constant result or reason. */
export interface EnvoyFigures {
  /** Open HDS streams of data planes that were let in. */
  readonly hdsStreams: number;
  readonly hdsReports: ReadonlyMap<string, number>;
  /** Responses with endpoints. */
  readonly edsPushes: ReadonlyMap<string, number>;
  /** Streams that were refused. */
  readonly refusals: ReadonlyMap<string, number>;
}
