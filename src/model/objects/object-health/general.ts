import { type JsonObject, type JsonValue, textOf } from '../../text/json.ts';
import {
  type Found,
  failed,
  inProgress,
  isStale,
  type Live,
  type ObjectHealth,
  type Rule,
  type Rules,
} from './health.ts';

/** The rules of kstatus for all kinds: a status of another generation, `Reconciling` and `Stalled`. */
export function generalHealth({ metadata, status, conditionWith }: Live): Found | undefined {
  const stale = staleHealth(metadata, status);
  if (stale !== undefined) return stale;
  const reconciling = conditionWith(['Reconciling'], 'True');
  if (reconciling !== undefined) return inProgress(reconciling);
  const stalled = conditionWith(['Stalled'], 'True');
  return stalled === undefined ? undefined : failed(stalled);
}

/** The health of an object whose status is of another generation. */
export function staleHealth(metadata: JsonObject, status: JsonObject): ObjectHealth | undefined {
  if (!isStale(status, metadata)) return undefined;
  return inProgress(
    `generation ${metadata.generation} is not taken up yet; its status is of ${status.observedGeneration}`,
  );
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
export function isFailure(reason: JsonValue | undefined): boolean {
  return FAILURE.test(textOf(reason));
}

/** The name of a condition that is true only if something is wrong: `ErrorOccurred`, `ResolutionFailed`. */
export function isAbnormal(type: JsonValue | undefined): boolean {
  return ABNORMAL.test(textOf(type));
}

/** A word that negates the word for a failure after it: `NoError`, `NotFailed`, `RetryOnFailure`. */
const NOT = '(?<!(?:^|[a-z])(?:No|Not|Non|Never|Without|On|From|After|Past|Previous|Ignored?|Tolerates?))';
const FAILURE = new RegExp(
  `${NOT}(Error|Errored|Failed|Failure|Denied|Rejected|Exception|Invalid|Misconfigured)$|^(Failed|Failure|Invalid)([A-Z]|$)`,
);
const ABNORMAL = new RegExp(
  `${NOT}(Failed|Failure|Error|Errored|HasErrors|Degraded|Unhealthy)$|^(Invalid|InvalidSpec|ErrorOccurred|Orphan|Conflicted|ACK\\.Terminal)$`,
);
