import { type JsonObject, objectOf, objectsOf, textOf } from '../../text/json.ts';
import {
  CURRENT,
  conditionWith,
  type Found,
  failed,
  inProgress,
  type Live,
  messageOf,
  NOT_OBSERVED,
  notObservedAtFirst,
  type Rules,
  specWrittenAt,
  UNOBSERVED_MS,
  until,
} from './health.ts';

export const gatewayApiRules: Rules = {
  'gateway.networking.k8s.io/GatewayClass': (live) => judged(live, live.conditions, '') ?? observed(live.conditions),
  'gateway.networking.k8s.io/Gateway': gatewayHealth,
  'gateway.networking.k8s.io/*': attachedHealth,
  'gateway.networking.x-k8s.io/*': attachedHealth,
};

/** Routes say for each parent what its controller made of them, policies for each ancestor, other kinds in conditions as a Gateway. */
export function attachedHealth(live: Live): Found | undefined {
  const { kind, status, conditions } = live;
  const { parents, ancestors, listeners } = status;
  if (Array.isArray(parents) || kind.endsWith('Route')) return routeHealth(live, objectsOf(parents));
  if (Array.isArray(ancestors)) return policyHealth(live, objectsOf(ancestors));
  if (conditions.length > 0 || Array.isArray(listeners)) return gatewayHealth(live);
  if (kind === 'ReferenceGrant') return undefined;
  // No controller writes a status of a policy while no Gateway uses what it is for.
  return kind.endsWith('Policy') ? notObservedAtFirst(live.metadata) : NOT_OBSERVED;
}

function routeHealth(live: Live, parents: readonly JsonObject[]): Found | undefined {
  const fresh = freshOf(live, parents);
  const hasNoParent = Object.keys(live.spec).length > 0 && objectsOf(live.spec.parentRefs).length === 0;
  // Other routes refer to a route without a parent, and no controller writes a status of it.
  return fresh.length === 0 && hasNoParent ? undefined : placesHealth(live, fresh, 'parent');
}

function policyHealth(live: Live, ancestors: readonly JsonObject[]): Found | undefined {
  const fresh = freshOf(live, ancestors);
  const found = placesHealth(live, fresh, 'ancestor');
  if (fresh.length === 0 || fresh.length === ancestors.length || found?.state === 'failed') return found;
  // The controllers of the others may be at work, or gone.
  return until(specWrittenAt(live.metadata), UNOBSERVED_MS, NOT_OBSERVED, found ?? CURRENT);
}

/** Whether a status has the form of a route or a policy of the Gateway API. Other groups use this form too. */
export function isAttached({ status: { parents, ancestors } }: Live): boolean {
  return [...objectsOf(parents), ...objectsOf(ancestors)].some((one) => Array.isArray(one.conditions));
}

function gatewayHealth(live: Live): Found | undefined {
  const listeners = objectsOf(live.status.listeners);
  const found =
    judged(live, live.conditions, '') ??
    firstOf(listeners, (one) => judged(live, objectsOf(one.conditions), `listener ${textOf(one.name)}: `));
  return found ?? (listeners.length > 0 ? undefined : observed(live.conditions));
}

/** The places whose status is not old: a route can name the others no more. */
function freshOf({ isStale }: Live, places: readonly JsonObject[]): readonly JsonObject[] {
  return places.filter(({ conditions }) => {
    const counted = objectsOf(conditions).filter(isCounted);
    return counted.length > 0 && !counted.some(isStale);
  });
}

/** What is said of an object in each of several places. */
function placesHealth(live: Live, places: readonly JsonObject[], what: 'parent' | 'ancestor'): Found | undefined {
  if (places.length === 0) return NOT_OBSERVED;
  return firstOf(places, (one) =>
    judged(live, objectsOf(one.conditions), `${what} ${textOf(objectOf(one[`${what}Ref`]).name)}: `),
  );
}

function observed(conditions: readonly JsonObject[]): Found | undefined {
  return conditions.length === 0 ? NOT_OBSERVED : undefined;
}

/** The health that the conditions of one place stand for; `where` begins the message. */
function judged({ isStale }: Live, all: readonly JsonObject[], where: string): Found | undefined {
  // A controller of before can have left others.
  const conditions = all.filter(isCounted);
  if (conditions.some(isStale)) return NOT_OBSERVED;
  const text = (condition: JsonObject): string => `${where}${messageOf(condition)}`;
  const broken =
    conditionWith(conditions, ['ResolvedRefs', 'Accepted'], 'False') ??
    conditionWith(conditions, ['Conflicted'], 'True');
  if (broken !== undefined) return broken.reason === 'Pending' ? inProgress(text(broken)) : failed(text(broken));
  const waiting = conditions.find(({ type, status }) => type !== 'Conflicted' && status !== 'True');
  return waiting === undefined ? undefined : inProgress(text(waiting));
}

function isCounted({ type }: JsonObject): boolean {
  return type === 'Accepted' || type === 'ResolvedRefs' || type === 'Programmed' || type === 'Conflicted';
}

function firstOf<Item>(items: readonly Item[], judge: (item: Item) => Found | undefined): Found | undefined {
  for (const item of items) {
    const found = judge(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
