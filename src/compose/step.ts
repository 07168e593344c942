/** One thing that a command did, or would do. */
export interface Step {
  /** Kind and name, for people: `KubernetesCluster east`, `Deployment.apps/fleetrelay/fleetrelay-agent`. */
  readonly what: string;
  /** `absent`: there was nothing to remove. `left`: it stays on purpose. `failed`: it should be removed, and was not. */
  readonly outcome: 'created' | 'changed' | 'unchanged' | 'removed' | 'absent' | 'left' | 'failed';
  /** A path, or the address of an API server. */
  readonly where: string;
  /** Why, where that is not plain. */
  readonly message?: string;
  /** True: nothing was changed; this is what would be. */
  readonly dryRun?: boolean;
}

/** The notes whose condition holds. */
export function notesThat(rows: readonly (readonly [holds: boolean, note: string])[]): readonly string[] {
  return rows.flatMap(([holds, note]) => (holds ? [note] : []));
}
