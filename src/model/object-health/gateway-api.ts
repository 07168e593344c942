import { type JsonObject, objectOf, objectsOf, textOf } from '../json.ts';
import {
  conditionWith,
  type Found,
  failed,
  inProgress,
  isStale,
  type Live,
  messageOf,
  NOT_OBSERVED,
  type Rules,
} from './health.ts';

export const gatewayApiRules: Rules = {
  'gateway.networking.k8s.io/GatewayClass': (live) => judged(live, live.conditions, '') ?? observed(live.conditions),
  'gateway.networking.k8s.io/Gateway': gatewayHealth,
  'gateway.networking.k8s.io/*': attachedHealth,
  'gateway.networking.x-k8s.io/*': attachedHealth,
};

/** Routes say for each parent what its controller made of them, policies for each ancestor. Undefined: neither. */
export function attachedHealth(live: Live): Found | undefined {
  const { parents, ancestors } = live.status;
  if (Array.isArray(parents)) return routeHealth(live, objectsOf(parents));
  if (Array.isArray(ancestors)) return policyHealth(live, objectsOf(ancestors));
  return isStaticKind(live.kind) ? undefined : NOT_OBSERVED;
}

/** Whether a status is that of a route or a policy of the Gateway API, whatever its group. */
export function isAttached({ status: { parents, ancestors } }: Live): boolean {
  return [...objectsOf(parents), ...objectsOf(ancestors)].some((one) => Array.isArray(one.conditions));
}

function isStaticKind(kind: string): boolean {
  return kind === 'ReferenceGrant';
}

function gatewayHealth(live: Live): Found | undefined {
  const listeners = objectsOf(live.status.listeners);
  const found =
    judged(live, live.conditions, '') ??
    firstOf(listeners, (one) => judged(live, objectsOf(one.conditions), `listener ${textOf(one.name)}: `));
  return found ?? (listeners.length > 0 ? undefined : observed(live.conditions));
}

/** A parent of which the status is old does not count: it can be one that the route does not name any more. */
function routeHealth(live: Live, parents: readonly JsonObject[]): Found | undefined {
  const fresh = parents.filter(({ conditions }) => {
    const all = objectsOf(conditions);
    return all.length > 0 && !all.some((one) => isStale(one, live.metadata));
  });
  if (fresh.length === 0) return NOT_OBSERVED;
  return firstOf(fresh, (one) => judged(live, objectsOf(one.conditions), `parent ${nameOf(one.parentRef)}: `));
}

function policyHealth(live: Live, ancestors: readonly JsonObject[]): Found | undefined {
  const all = ancestors.flatMap(({ conditions }) => objectsOf(conditions));
  if (all.some((one) => isStale(one, live.metadata))) return NOT_OBSERVED;
  return (
    firstOf(ancestors, (one) => judged(live, objectsOf(one.conditions), `ancestor ${nameOf(one.ancestorRef)}: `)) ??
    observed(all)
  );
}

function observed(conditions: readonly JsonObject[]): Found | undefined {
  return conditions.length === 0 ? NOT_OBSERVED : undefined;
}

function nameOf(reference: JsonObject[string]): string {
  return textOf(objectOf(reference).name);
}

/** The health that the conditions of one place stand for; `where` begins the message. */
function judged({ metadata }: Live, conditions: readonly JsonObject[], where: string): Found | undefined {
  if (conditions.some((one) => isStale(one, metadata))) return NOT_OBSERVED;
  const text = (condition: JsonObject): string => `${where}${messageOf(condition)}`;
  const broken =
    conditionWith(conditions, ['ResolvedRefs', 'Accepted'], 'False') ??
    conditionWith(conditions, ['Conflicted'], 'True');
  if (broken !== undefined) return broken.reason === 'Pending' ? inProgress(text(broken)) : failed(text(broken));
  const waiting = conditions.find(({ type, status }) => AWAITED.includes(textOf(type)) && status !== 'True');
  return waiting === undefined ? undefined : inProgress(text(waiting));
}

const AWAITED: readonly string[] = ['Accepted', 'ResolvedRefs', 'Programmed'];

function firstOf<Item>(items: readonly Item[], judge: (item: Item) => Found | undefined): Found | undefined {
  for (const item of items) {
    const found = judge(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
