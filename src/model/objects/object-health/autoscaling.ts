import { type JsonObject, objectOf, objectsOf, parseJson, textOf } from '../../text/json.ts';
import { conditionWith, type Found, failedAfterPatience, type Live, NOT_OBSERVED, type Rules } from './health.ts';

export const autoscalingRules: Rules = { 'autoscaling/HorizontalPodAutoscaler': autoscalerHealth };

/** Where version v1 has the conditions of the later ones. */
const V1_CONDITIONS = 'autoscaling.alpha.kubernetes.io/conditions';

function autoscalerHealth(live: Live): Found | undefined {
  const conditions = conditionsOf(live);
  const failure = conditions.find(({ status, reason }) => status === 'False' && BROKEN.test(textOf(reason)));
  // While its first Pods start there are no metrics of them.
  if (failure !== undefined) return failedAfterPatience(failure);
  return conditionWith(conditions, ['AbleToScale', 'ScalingLimited'], 'True') === undefined ? NOT_OBSERVED : undefined;
}

/** The scale or the metrics cannot be read, or several autoscalers select the same Pods. */
const BROKEN = /^Failed|^InvalidSelector$|^InvalidMetricSourceType$|^AmbiguousSelector$/;

function conditionsOf({ metadata, conditions }: Live): readonly JsonObject[] {
  if (conditions.length > 0) return conditions;
  return objectsOf(parseJson(textOf(objectOf(metadata.annotations)[V1_CONDITIONS])));
}
