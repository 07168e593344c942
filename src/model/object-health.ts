/**
 * How an applied object is, by the rules of kstatus. `current`: as declared and working, or of a kind that says nothing.
 * `inProgress`: on its way. `failed`: it will not get there by itself. `terminating`: being deleted.
 */
export interface ObjectHealth {
  readonly state: 'current' | 'inProgress' | 'failed' | 'terminating' | 'unknown';
  /** For people; empty when there is nothing to add. */
  readonly message: string;
}
