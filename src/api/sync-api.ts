/** What looks at sources have found, one of each source that was looked at. */
export interface SyncedSourcesView {
  readonly sources: readonly SyncedSourceView[];
}

export interface SyncedSourceView {
  readonly name: string;
  /**
   * `new`: a new revision was read. `unchanged`: there is none. `refused`: the revision waits for a person. `failed`: the look
   * failed. `looking`: it goes on; the status of the source shows its end.
   */
  readonly outcome: 'new' | 'unchanged' | 'refused' | 'failed' | 'looking';
  /** The admitted revision before the look, and now; null: none. */
  readonly before: string | null;
  readonly revision: string | null;
  /** The one that waits for a person, or null. */
  readonly refusedRevision: string | null;
  /** Why it failed or waits; may be empty. */
  readonly message: string;
}
