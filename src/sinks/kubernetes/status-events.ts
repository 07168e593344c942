import type { Condition } from '../../model/conditions.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import type { ResourceEvent } from '../../ports/resource-status.ts';
import { conditionsOf } from './status-content.ts';

/**
 * What has happened between two states of a status, for whoever looks at the object: only what has changed is told, so
 * that neither a restart nor a status that is written again says anything.
 */
export function eventsBetween(before: JsonObject | undefined, after: JsonObject): readonly ResourceEvent[] {
  const was = byType(before);
  const is = byType(after);
  const events: ResourceEvent[] = [];
  const tell = (type: ResourceEvent['type'], reason: string, message: string): void => {
    events.push({ type, reason, message });
  };
  const becomes = (type: string, status: Condition['status']): Condition | undefined => {
    const now = is.get(type);
    return now?.status === status && was.get(type)?.status !== status ? now : undefined;
  };

  const refused = is.get('Accepted');
  if (refused?.status === 'False' && changed(was.get('Accepted'), refused)) {
    tell('Warning', refused.reason, refused.message);
  }
  if (becomes('Accepted', 'True') !== undefined) tell('Normal', 'Admitted', 'it counts as desired state');
  if (becomes('ClusterWarm', 'True') !== undefined) {
    tell('Normal', 'FirstSnapshotReceived', 'the first complete input snapshot was received');
  }
  if (becomes('Connected', 'True') !== undefined) tell('Normal', 'AgentConnected', 'its agent is connected');
  const gone = becomes('Connected', 'False');
  if (gone !== undefined && was.has('Connected')) tell('Warning', 'AgentDisconnected', gone.message);
  const stalled = is.get('Stalled')?.message ?? '';
  if (count(after, 'failed') > count(before, 'failed')) tell('Warning', 'ObjectsFailed', stalled);
  if (count(after, 'held') > count(before, 'held')) tell('Warning', 'ObjectsHeld', stalled);
  const ready = becomes('Ready', 'True');
  if (ready !== undefined && count(after, 'targeted') > 0) tell('Normal', 'Applied', ready.message);
  return events;
}

function changed(before: Condition | undefined, after: Condition): boolean {
  return before?.status !== after.status || before.reason !== after.reason || before.message !== after.message;
}

function byType(status: JsonObject | undefined): ReadonlyMap<string, Condition> {
  return new Map(conditionsOf(status).map((condition) => [condition.type, condition]));
}

function count(status: JsonObject | undefined, name: string): number {
  const counts = status?.counts;
  const value = isJsonObject(counts) ? counts[name] : undefined;
  return typeof value === 'number' ? value : 0;
}
