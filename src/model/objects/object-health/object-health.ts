import type { JsonObject } from '../../text/json.ts';
import { argoRules } from './argo.ts';
import { autoscalingRules } from './autoscaling.ts';
import { certManagerRules } from './cert-manager.ts';
import { clusterKindRules } from './cluster-kinds.ts';
import { crossplaneRules } from './crossplane.ts';
import { fluxRules } from './flux.ts';
import { gatewayApiRules } from './gateway-api.ts';
import { afterGeneral } from './general.ts';
import { genericHealth } from './generic.ts';
import {
  CURRENT,
  type Found,
  type Known,
  liveOf,
  type ObjectHealth,
  type Rule,
  type Rules,
  TERMINATING,
} from './health.ts';
import { jobRules } from './jobs.ts';
import { knativeRules } from './knative.ts';
import { networkingRules } from './networking.ts';
import { podRules } from './pods.ts';
import { soloRules } from './solo.ts';
import { storageRules } from './storage.ts';
import { workloadRules } from './workloads.ts';

/** What is known beside an object when it is judged. */
export interface HealthFacts extends Known {
  /** The time, in milliseconds since 1970. Absent: no deadline has passed. */
  readonly now?: number;
  /** Judges objects of kinds (`group/Kind`) that a policy has health checks for, in place of the rules; undefined for others. */
  readonly checks?: (kind: string, value: JsonObject) => Judgement | undefined;
}

/** The health of an object, and when it changes by itself. */
export interface Judgement {
  readonly health: ObjectHealth;
  /** Judge the object again then, in milliseconds since 1970. Absent: when it changes. */
  readonly again?: number;
}

/** The rules that the kinds have of their own. Those that do not begin with the general rules say in their files why. */
const RULES: Rules = {
  ...afterGeneral({
    ...workloadRules,
    ...podRules,
    ...jobRules,
    ...storageRules,
    ...networkingRules,
    ...clusterKindRules,
    ...autoscalingRules,
    ...gatewayApiRules,
    ...certManagerRules,
    ...knativeRules,
  }),
  ...argoRules,
  ...crossplaneRules,
  ...fluxRules,
  ...soloRules,
};

/** Judges a live object with its complete `metadata` and `status`. */
export function judgeObject(value: JsonObject, { now, checks, ...known }: HealthFacts): Judgement {
  const live = liveOf(value, known);
  if (live.metadata.deletionTimestamp !== undefined) return { health: TERMINATING };
  const checked = checks?.(`${live.group}/${live.kind}`, value);
  if (checked !== undefined) return checked;
  const found: Found = ruleOf(live.group, live.kind)(live) ?? CURRENT;
  const { later, ...health } = found;
  if (later === undefined || now === undefined) return { health };
  return now >= later.at ? { health: later.health } : { health, again: later.at };
}

/** The health of a live object that has stayed as it is until all its deadlines have passed. */
export function objectHealth(value: JsonObject): ObjectHealth {
  return judgeObject(value, { now: Number.POSITIVE_INFINITY }).health;
}

function ruleOf(group: string, kind: string): Rule {
  const own = named(`${group}/${kind}`) ?? named(`${group}/*`);
  if (own !== undefined) return own;
  for (let dot = group.indexOf('.'); dot >= 0; dot = group.indexOf('.', dot + 1)) {
    const found = named(`*${group.slice(dot)}/*`);
    if (found !== undefined) return found;
  }
  return genericHealth;
}

function named(pattern: string): Rule | undefined {
  return Object.hasOwn(RULES, pattern) ? RULES[pattern] : undefined;
}
