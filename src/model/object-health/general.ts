import { textOf } from '../json.ts';
import {
  conditionWith,
  type Found,
  failed,
  inProgress,
  isStale,
  type Live,
  messageOf,
  type Rule,
  type Rules,
} from './health.ts';

/** The rules of kstatus for all kinds: a status of another generation, `Reconciling` and `Stalled`. */
export function generalHealth({ metadata, status, conditions }: Live): Found | undefined {
  if (isStale(status, metadata)) {
    return inProgress(
      `generation ${metadata.generation} is not taken up yet; its status is of ${status.observedGeneration}`,
    );
  }
  const reconciling = conditionWith(conditions, ['Reconciling'], 'True');
  if (reconciling !== undefined) return inProgress(messageOf(reconciling));
  const stalled = conditionWith(conditions, ['Stalled'], 'True');
  return stalled === undefined ? undefined : failed(messageOf(stalled));
}

/** The rules, each after the general ones. */
export function afterGeneral(rules: Rules): Rules {
  return Object.fromEntries(Object.entries(rules).map(([kind, rule]) => [kind, inOrder(generalHealth, rule)]));
}

/** The first of these rules that decides. */
export function inOrder(...rules: readonly Rule[]): Rule {
  return (live) => {
    for (const rule of rules) {
      const found = rule(live);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** The reason of a condition reads as a failure, by the names that controllers give: `ReconcileError`, `ValidationFailed`, `Invalid`. */
export function isFailure(reason: unknown): boolean {
  return typeof reason === 'string' && FAILURE.test(textOf(reason));
}

const FAILURE =
  /(Error|Errored|Failed|Failure|Denied|Rejected|Exception|Invalid|Misconfigured)$|^(Failed|Failure|Invalid)([A-Z]|$)/;
