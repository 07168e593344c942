/** The label of a Shoot that says how it is. */
export const STATUS_LABEL = 'shoot.gardener.cloud/status';

/** The value of {@link STATUS_LABEL}, the worst one last. */
export type ShootStatusLabel = 'healthy' | 'progressing' | 'unknown' | 'unhealthy';

/** What the label of a Shoot follows from: the parts of its status. Constraints are none of them. */
export interface LabelledShootStatus {
  readonly lastOperation?: { readonly type: string; readonly state: string } | undefined;
  readonly lastErrors: readonly unknown[];
  /** All of them, also those that others write. */
  readonly conditions: readonly { readonly status: string }[];
}

const RANKS: readonly ShootStatusLabel[] = ['healthy', 'progressing', 'unknown', 'unhealthy'];

/**
 * How a Shoot is by its status. Before it is created, and while it is deleted, its conditions do not count. Source: Gardener's
 * ComputeShootStatus.
 */
export function shootStatusLabel({ lastOperation, lastErrors, conditions }: LabelledShootStatus): ShootStatusLabel {
  if (lastOperation === undefined) return 'healthy';
  const { type, state } = lastOperation;
  const byErrors: ShootStatusLabel = lastErrors.length === 0 ? 'healthy' : 'unhealthy';
  if ((type === 'Create' && state !== 'Succeeded') || type === 'Delete') return byErrors;
  const byOperation = state === 'Processing' ? byErrors : state === 'Succeeded' ? 'healthy' : 'unhealthy';
  return conditions.map(({ status }) => labelOfCondition(status)).reduce(worse, byOperation);
}

function labelOfCondition(status: string): ShootStatusLabel {
  if (status === 'True') return 'healthy';
  if (status === 'Progressing') return 'progressing';
  return status === 'Unknown' ? 'unknown' : 'unhealthy';
}

function worse(a: ShootStatusLabel, b: ShootStatusLabel): ShootStatusLabel {
  return RANKS.indexOf(a) > RANKS.indexOf(b) ? a : b;
}
