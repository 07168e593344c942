import type { AgentSettings } from '../../../model/agent/agent-settings.ts';
import { annotationOf, kindOf, type ObjectKey } from '../../../model/objects/object-key.ts';
import type { JsonObject } from '../../../model/text/json.ts';

/** What people write onto objects; each has its meaning in one place only. */
export const ADOPT = 'fleetrelay.dev/adopt';
/** Names of field managers between commas. */
export const ADOPT_FROM = 'fleetrelay.dev/adopt-from';
/**
 * `fleetrelay cluster register` writes it onto the Namespace that it makes for an agent; the value is the namespace of the agent.
 * Each agent of a cluster has a namespace of its own, also if their fleets differ. Its agent adopts the Namespace without ADOPT.
 */
export const MADE_FOR_AGENT = 'fleetrelay.dev/made-for-agent';
export const FORCE_CONFLICTS = 'fleetrelay.dev/force-conflicts';
export const RECONCILE = 'fleetrelay.dev/reconcile';
export const DISCOVERY = 'fleetrelay.dev/discovery';
export const PAUSED = 'fleetrelay.dev/paused';

/** The namespace of the agent for which an installation has made the live Namespace; empty: none, or it is of another kind. */
export function madeForAgent(key: ObjectKey, live: JsonObject): string {
  // Annotations of other kinds can be copies.
  return kindOf(key) === '/Namespace' ? annotationOf(live, MADE_FOR_AGENT) : '';
}

/** Whether an object of others may be taken over: its manifest says so, or it is a Namespace that was made for this agent. */
export function mayTakeOver(key: ObjectKey, declared: JsonObject, live: JsonObject, agentNamespace: string): boolean {
  if (annotationOf(declared, ADOPT) === 'true') return true;
  const madeFor = madeForAgent(key, live);
  return madeFor !== '' && madeFor === agentNamespace;
}

/**
 * Whether an annotation (RECONCILE, PRUNE) takes the live object out of management. If opt-outs on live objects are ignored, the
 * declared object must have it too. `declared` undefined: its content is not known, so the live annotation counts.
 */
export function optsOut(
  annotation: string,
  live: JsonObject,
  declared: JsonObject | undefined,
  { ignoreLiveOptOuts }: AgentSettings,
): boolean {
  if (annotationOf(live, annotation) !== 'disabled') return false;
  return ignoreLiveOptOuts !== true || declared === undefined || annotationOf(declared, annotation) === 'disabled';
}
