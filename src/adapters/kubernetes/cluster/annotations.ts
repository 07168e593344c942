import type { AgentSettings } from '../../../model/agent-settings.ts';
import type { JsonObject } from '../../../model/json.ts';
import { annotationOf, kindOf, type ObjectKey } from '../../../model/object-key.ts';

/** What people write onto objects; each has its meaning in one place only. */
export const ADOPT = 'fleetrelay.dev/adopt';
/** Names of field managers between commas. */
export const ADOPT_FROM = 'fleetrelay.dev/adopt-from';
/** Written by `fleetrelay cluster register` onto each Namespace that it makes for the fleet; a manifest of it needs no ADOPT. */
export const MADE_FOR_FLEET = 'fleetrelay.dev/made-for-fleet';
export const FORCE_CONFLICTS = 'fleetrelay.dev/force-conflicts';
export const RECONCILE = 'fleetrelay.dev/reconcile';
export const DISCOVERY = 'fleetrelay.dev/discovery';
export const PAUSED = 'fleetrelay.dev/paused';

/** Whether the live object is a Namespace that an installation has made. Annotations of other kinds can be copies. */
export function isMadeForFleet(key: ObjectKey, live: JsonObject): boolean {
  return kindOf(key) === '/Namespace' && annotationOf(live, MADE_FOR_FLEET) === 'true';
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
