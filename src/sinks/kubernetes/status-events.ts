import { type Condition, readConditions } from '../../model/fleet/conditions.ts';
import { type JsonObject, objectOf } from '../../model/text/json.ts';
import type { ResourceEvent } from '../../ports/resource-status.ts';

/** The events between two states of a status. Only changes make events, so a restart or a repeated write makes none. */
export function eventsBetween(before: JsonObject | undefined, after: JsonObject): readonly ResourceEvent[] {
  const [was, is] = [byType(before), byType(after)];
  const events: ResourceEvent[] = [];
  const add = (type: ResourceEvent['type'], reason: string, message: string): void => {
    events.push({ type, reason, message });
  };
  const becomes = (type: string, status: Condition['status']): Condition | undefined => {
    const now = is.get(type);
    return now?.status === status && was.get(type)?.status !== status ? now : undefined;
  };
  const grows = (name: string): boolean => count(after, name) > count(before, name);

  const accepted = is.get('Accepted');
  if (accepted?.status === 'False' && isChanged(was.get('Accepted'), accepted)) {
    add('Warning', accepted.reason, accepted.message);
  }
  if (becomes('Accepted', 'True') !== undefined) add('Normal', 'Admitted', 'it counts as desired state');
  if (becomes('ClusterWarm', 'True') !== undefined) {
    add('Normal', 'FirstSnapshotReceived', 'the first complete input snapshot was received');
  }
  if (becomes('Connected', 'True') !== undefined) add('Normal', 'AgentConnected', 'its agent is connected');
  const disconnected = becomes('Connected', 'False');
  if (disconnected !== undefined && was.has('Connected')) add('Warning', 'AgentDisconnected', disconnected.message);
  const stalled = is.get('Stalled')?.message ?? '';
  if (grows('failed')) add('Warning', 'ObjectsFailed', stalled);
  if (grows('held')) add('Warning', 'ObjectsHeld', stalled);
  const ready = becomes('Ready', 'True');
  if (ready !== undefined && count(after, 'targeted') > 0) add('Normal', 'Applied', ready.message);
  return events;
}

function isChanged(before: Condition | undefined, after: Condition): boolean {
  return before?.status !== after.status || before.reason !== after.reason || before.message !== after.message;
}

function byType(status: JsonObject | undefined): ReadonlyMap<string, Condition> {
  return new Map(readConditions(status?.conditions).map((condition) => [condition.type, condition]));
}

function count(status: JsonObject | undefined, name: string): number {
  const value = objectOf(status?.counts)[name];
  return typeof value === 'number' ? value : 0;
}
