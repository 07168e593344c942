import type { KindState, LiveObject } from '../model/agent.ts';
import { objectDigest } from '../model/digest.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { ObjectKey } from '../model/object-key.ts';
import type { InventoryRecord, LiveState, ObservedObject } from '../ports/cluster-api.ts';
import type { InputSnapshot } from '../relay/session.ts';
import { kindOf } from './order.ts';

/** Makes input snapshots of live states; what did not change is made once. */
export interface Discovery {
  /** Undefined if it is the same as the one before. */
  snapshot(live: LiveState, records: ReadonlyMap<ObjectKey, InventoryRecord>): InputSnapshot | undefined;
  /** The cluster cannot be looked at: what was seen last, with every kind unknown. Undefined if nothing was ever seen. */
  unreadable(why: string): InputSnapshot | undefined;
}

/** What an API server keeps for itself: it changes with every write and says nothing. */
const NOISE: readonly string[] = ['managedFields', 'resourceVersion', 'generation', 'selfLink'];
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

export function createDiscovery(): Discovery {
  const trimmed = new WeakMap<ObservedObject, LiveObject>();
  let last: InputSnapshot | undefined;

  return { snapshot, unreadable };

  function snapshot(live: LiveState, records: ReadonlyMap<ObjectKey, InventoryRecord>): InputSnapshot | undefined {
    const objects = new Map<ObjectKey, LiveObject>();
    for (const [key, observed] of live.objects) {
      if (!isDerived(observed, records.get(key))) objects.set(key, liveObject(observed));
    }
    const next = { objects, kinds: live.kinds };
    if (last !== undefined && sameSnapshot(last, next)) return undefined;
    last = next;
    return next;
  }

  function unreadable(why: string): InputSnapshot | undefined {
    if (last === undefined) return undefined;
    last = { objects: last.objects, kinds: last.kinds.map(unknownBecause(why)) };
    return last;
  }

  function liveObject(observed: ObservedObject): LiveObject {
    const known = trimmed.get(observed);
    if (known !== undefined) return known;
    const value = trim(observed);
    const fresh = { key: observed.key, value, digest: objectDigest(value) };
    trimmed.set(observed, fresh);
    return fresh;
  }
}

/** What was computed from live state must not come back as live state; what came from a source is as live as anything. */
function isDerived({ key, stamp }: ObservedObject, record: InventoryRecord | undefined): boolean {
  if (record !== undefined) return record.scope.length > 0;
  return stamp?.key === key && stamp.scope.length > 0;
}

function trim({ key, value }: ObservedObject): JsonObject {
  const metadata = isJsonObject(value.metadata) ? trimMetadata(value.metadata) : value.metadata;
  const rest = { ...value, metadata };
  if (kindOf(key) !== '/Secret') return rest;
  // Nobody needs the values of Secrets outside of their cluster.
  const { data: _data, stringData: _stringData, ...named } = rest as JsonObject;
  return named;
}

function trimMetadata(metadata: JsonObject): JsonObject {
  const kept = Object.fromEntries(Object.entries(metadata).filter(([name]) => !NOISE.includes(name)));
  const { annotations, ...others } = kept;
  if (!isJsonObject(annotations) || annotations[LAST_APPLIED] === undefined) return kept;
  const { [LAST_APPLIED]: _lastApplied, ...rest } = annotations;
  return Object.keys(rest).length === 0 ? others : { ...others, annotations: rest };
}

function unknownBecause(message: string): (kind: KindState) => KindState {
  return (kind) => (kind.state === 'offered' ? kind : { ...kind, state: 'unknown', message });
}

function sameSnapshot(a: InputSnapshot, b: InputSnapshot): boolean {
  if (a.objects.size !== b.objects.size || JSON.stringify(a.kinds) !== JSON.stringify(b.kinds)) return false;
  for (const [key, object] of b.objects) if (a.objects.get(key)?.digest !== object.digest) return false;
  return true;
}
