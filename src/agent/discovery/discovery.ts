import type { KindState, LiveObject } from '../../model/agent.ts';
import type { AgentSettings } from '../../model/agent-settings.ts';
import { objectDigest, sha256 } from '../../model/digest.ts';
import { errorText } from '../../model/error-text.ts';
import type { Digest } from '../../model/ids.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { kindOf, type ObjectKey } from '../../model/object-key.ts';
import type { InventoryRecord, LiveState, ObservedObject } from '../../ports/cluster-api.ts';
import type { RelayClient } from '../../relay/session.ts';
import { createGatewayWatch } from './gateway-watch.ts';
import { gatewayKey } from './gateways.ts';
import { createSelection, type Selection } from './selection.ts';

/** Makes the input snapshot of live states and publishes what is new in it. */
export interface Discovery {
  take(live: LiveState, records: ReadonlyMap<ObjectKey, InventoryRecord>): void;
  /** The cluster cannot be looked at: what was seen last stays, with every kind unknown. */
  unreadable(error: unknown): void;
}

/** What an API server keeps for itself: it changes with every write and says nothing. */
const NOISE: readonly string[] = ['managedFields', 'resourceVersion', 'generation', 'selfLink'];
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** One object of the snapshot. Its value is worked out when it is read: nothing is kept twice. */
interface Discovered extends LiveObject {
  /** What it was made of; absent: it was worked out from several. */
  readonly observed?: ObservedObject;
}

/**
 * Costs what changed: the first state, new settings, and a state that does not say what changed in it are compared whole.
 * The snapshot's objects are one map, which changes only in the turn in which it is published.
 */
export function createDiscovery(relay: Pick<RelayClient, 'publishInput'>, settings: () => AgentSettings): Discovery {
  const objects = new Map<ObjectKey, Discovered>();
  const gateways = createGatewayWatch();
  let kinds: readonly KindState[] = [];
  /** What the cluster said of its kinds, from which `kinds` was made. */
  let said: readonly KindState[] | undefined;
  let saidOfGateways: KindState['state'] | undefined;
  let published = false;
  /** A state was not taken to its end, and nobody says again what changed in it: everything is compared once. */
  let missed = false;
  let selection: Selection | undefined;
  let records: ReadonlyMap<ObjectKey, InventoryRecord> = new Map();

  return {
    take(live, now) {
      try {
        takeState(live, now);
      } catch (error) {
        [selection, missed] = [undefined, true];
        throw error;
      }
    },
    unreadable(error) {
      if (!published) return;
      said = undefined;
      publish(new Set(), kinds.map(unknownBecause(errorText(error))));
    },
  };

  function takeState(live: LiveState, now: ReadonlyMap<ObjectKey, InventoryRecord>): void {
    const before = selection;
    selection = before?.of === settings() ? before : createSelection(settings());
    const isFirst = selection !== before;
    const looked = selection.note(live, isFirst);
    const keys = isFirst || looked === undefined ? everyKey(objects, live) : [...looked, ...rederived(records, now)];
    const changed = new Set<ObjectKey>();
    for (const key of keys) if (update(key, live.objects.get(key), now.get(key))) changed.add(key);
    for (const service of gateways.note(live, keys)) if (updateGateway(service)) changed.add(gatewayKey(service));
    records = now;
    publish(changed, kindsOf(live.kinds, selection, isFirst));
  }

  /** The same list as before while the cluster says the same: it is long, and seldom new. */
  function kindsOf(now: readonly KindState[], by: Selection, anew: boolean): readonly KindState[] {
    const worked = gateways.kind(now);
    if (now === said && worked?.state === saidOfGateways && !anew) return kinds;
    said = now;
    saidOfGateways = worked?.state;
    return withGateways(now, worked).map(by.kind);
  }

  /** What is worked out for a Service is in the snapshot only with it: a Service that we derived says nothing. */
  function updateGateway(service: ObjectKey): boolean {
    const key = gatewayKey(service);
    const gateway = gateways.of(service);
    const isTaken = objects.has(service) && gateway !== undefined && selection?.takes(key, gateway.value) === true;
    if (!isTaken) return objects.delete(key);
    const before = objects.get(key);
    objects.set(key, gateway);
    return before?.digest !== gateway.digest;
  }

  /** True if the snapshot says something else of this key now. */
  function update(key: ObjectKey, observed: ObservedObject | undefined, record: InventoryRecord | undefined): boolean {
    const before = objects.get(key);
    if (observed === undefined || isDerived(observed, record)) return objects.delete(key);
    const { value, content } = observed;
    if (selection?.takes(key, value) === false) return objects.delete(key);
    if (before?.observed === observed) return false;
    const object = discovered(observed, content === undefined ? objectDigest(trim(key, value)) : sha256(content));
    objects.set(key, object);
    return before?.digest !== object.digest;
  }

  function publish(changed: ReadonlySet<ObjectKey>, now: readonly KindState[]): void {
    const sameKinds = now === kinds || JSON.stringify(now) === JSON.stringify(kinds);
    if (published && !missed && changed.size === 0 && sameKinds) return;
    if (!sameKinds) kinds = now;
    relay.publishInput({ objects, kinds }, published && !missed ? changed : undefined);
    published = true;
    missed = false;
  }
}

/** Whatever is there, was there, or is said to have changed. */
function everyKey(
  before: ReadonlyMap<ObjectKey, Discovered>,
  { objects, changed = new Set() }: LiveState,
): readonly ObjectKey[] {
  const gone = [...before].flatMap(([key, { observed }]) => (observed === undefined || objects.has(key) ? [] : [key]));
  return [...new Set([...objects.keys(), ...gone, ...changed])];
}

/** A cluster may have the kind itself, of another maker: a kind is named once. */
function withGateways(kinds: readonly KindState[], gateways: KindState | undefined): readonly KindState[] {
  return gateways === undefined ? kinds : [...kinds.filter(({ kind }) => kind !== gateways.kind), gateways];
}

function unknownBecause(message: string): (kind: KindState) => KindState {
  return (kind) => (kind.state === 'offered' ? kind : { ...kind, state: 'unknown', message });
}

function discovered(observed: ObservedObject, digest: Digest): Discovered {
  const { key, content } = observed;
  return {
    key,
    digest,
    observed,
    ...(content === undefined ? {} : { content }),
    get value() {
      return content === undefined ? trim(key, observed.value) : observed.value;
    },
  };
}

/** Keys of which the inventory says something else than before: derived from live state, or not. */
function rederived(
  before: ReadonlyMap<ObjectKey, InventoryRecord>,
  now: ReadonlyMap<ObjectKey, InventoryRecord>,
): readonly ObjectKey[] {
  if (before === now) return [];
  const says = (record: InventoryRecord | undefined): boolean | undefined => record && record.scope.length > 0;
  const keys = [...now.keys(), ...[...before.keys()].filter((key) => !now.has(key))];
  return keys.filter((key) => says(before.get(key)) !== says(now.get(key)));
}

/**
 * What was computed from live state must not come back as live state; what came from a source is as live as anything, and
 * so is what somebody else has under a name that we were told to use.
 */
function isDerived({ key, stamp }: ObservedObject, record: InventoryRecord | undefined): boolean {
  return stamp?.key === key && (record ?? stamp).scope.length > 0;
}

function trim(key: ObjectKey, value: JsonObject): JsonObject {
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
