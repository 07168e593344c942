import { type KindState, type LiveObject, unknownKind } from '../../model/agent/agent.ts';
import type { AgentReports } from '../../model/agent/agent-report.ts';
import type { AgentSettings } from '../../model/agent/agent-settings.ts';
import type { Digest } from '../../model/fleet/ids.ts';
import { mirrorLabels } from '../../model/objects/mirror-labels.ts';
import { kindOf, labelsOf, type ObjectKey } from '../../model/objects/object-key.ts';
import { withoutSecretValues } from '../../model/objects/secret-values.ts';
import { liveMetadata } from '../../model/objects/server-fields.ts';
import { objectDigest, sha256 } from '../../model/text/digest.ts';
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  objectOf,
  parseJsonBytes,
  textOf,
} from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import type { InventoryRecord, LiveState, ObservedObject } from '../../ports/cluster-api.ts';
import type { RelayClient } from '../../relay/session.ts';
import { EMPTY_INVENTORY, type InventoryRecords } from '../reconciler/inventory.ts';
import { createGatewayWatch, gatewayKey } from './gateways.ts';
import { createReportBook } from './reports.ts';
import { createSelection, type Selection } from './selection.ts';

const LEASE = 'coordination.k8s.io/Lease';

/** One object of the snapshot. Its value is computed when it is read, so that no copy of the live object is kept. */
interface Discovered extends LiveObject {
  /** The live object; absent: the object was computed from several live objects. */
  readonly observed?: ObservedObject;
}

/**
 * Makes the input snapshot from live states and publishes its changes. The cost of a state follows its changes. The first
 * state, new settings, and a state without `changed` are compared completely. The snapshot's objects are one map, which
 * changes only in the event loop turn that publishes it.
 */
export function createDiscovery(relay: Pick<RelayClient, 'publishInput'>, settings: () => AgentSettings) {
  const objects = new Map<ObjectKey, Discovered>();
  const gateways = createGatewayWatch();
  const reports = createReportBook();
  const publisher = createPublisher(relay, objects);
  const kinds = createKindList(gateways);
  let selection: Selection | undefined;
  let records: InventoryRecords = EMPTY_INVENTORY.records;

  return {
    take(live: LiveState, now: InventoryRecords): void {
      try {
        takeState(live, now);
      } catch (error) {
        // No later state names its changes: the next one is compared completely.
        selection = undefined;
        publisher.missed();
        throw error;
      }
    },
    /** The cluster cannot be listed: the last snapshot stays, with every kind unknown. */
    unreadable(error: unknown): void {
      if (!publisher.hasPublished()) return;
      publish(new Set(), kinds.unknown(errorText(error)));
    },
    /** Takes all reports of one part of the agent. They are published with the first state, and then at once. */
    report(maker: string, next: AgentReports): void {
      const keys = [...reports.take(maker, next)].filter((key) => objects.get(key)?.observed === undefined);
      const changed = new Set(keys.filter(updateReport));
      if (publisher.hasPublished()) publish(changed, kinds.current());
    },
  };

  function takeState(live: LiveState, now: InventoryRecords): void {
    const before = selection;
    selection = before?.of === settings() ? before : createSelection(settings());
    const isFirst = selection !== before;
    const moved = selection.note(live, isFirst);
    const keys = isFirst || moved === undefined ? everyKey(objects, live) : [...moved, ...rederived(records, now)];
    const changed = new Set<ObjectKey>();
    for (const key of keys) if (update(key, live.objects.get(key), now.get(key))) changed.add(key);
    for (const service of gateways.note(live, keys)) if (updateGateway(service)) changed.add(gatewayKey(service));
    records = now;
    publish(changed, kinds.take(live.kinds, selection, isFirst));
  }

  /** Puts a report into the snapshot, or takes it away. An object of the cluster with the same key has precedence. */
  function updateReport(key: ObjectKey): boolean {
    const report = reports.get(key);
    return report === undefined ? objects.delete(key) : put(report);
  }

  /** True if the object of this key was another one, or none. */
  function put(object: Discovered): boolean {
    const before = objects.get(object.key);
    objects.set(object.key, object);
    return before?.digest !== object.digest;
  }

  /** A gateway is in the snapshot only together with its Service; derived Services are not in it. */
  function updateGateway(service: ObjectKey): boolean {
    const key = gatewayKey(service);
    const gateway = gateways.of(service);
    const isTaken =
      objects.has(service) && gateway !== undefined && selection?.takes(key, () => gateway.value) === true;
    return isTaken ? put(gateway) : objects.delete(key);
  }

  /** True if the snapshot's object of this key has changed. */
  function update(key: ObjectKey, observed: ObservedObject | undefined, record: InventoryRecord | undefined): boolean {
    const before = objects.get(key);
    if (observed === undefined) return updateReport(key);
    if (kindOf(key) === LEASE || isDerived(observed, record)) return objects.delete(key);
    // While an object cannot be read, what was reported of it counts.
    const known = observed.stale === true && before?.observed !== undefined ? before : undefined;
    const read = readingOnce(known ?? observed);
    if (selection?.takes(key, read) === false) return objects.delete(key);
    if (known !== undefined || before?.observed === observed) return false;
    if (isMirrored(observed, read)) return objects.delete(key);
    return put(discovered(observed, read));
  }

  function publish(changed: ReadonlySet<ObjectKey>, ofCluster: readonly KindState[]): void {
    publisher.publish(changed, reports.withKinds(ofCluster));
  }
}

/** The kinds of the snapshot without kinds of reports. */
function createKindList(gateways: ReturnType<typeof createGatewayWatch>) {
  let current: readonly KindState[] = [];
  /** The cluster's kinds that `current` was computed from. */
  let clusterKinds: readonly KindState[] | undefined;
  let gatewayState: KindState['state'] | undefined;
  let leftOut: readonly string[] | undefined;
  return {
    current: () => current,
    /** The list is long and seldom new: it stays the same list while the cluster's kinds do. */
    take(now: readonly KindState[], by: Selection, anew: boolean): readonly KindState[] {
      const gatewayKind = gateways.kind(now);
      const isSame = now === clusterKinds && gatewayKind?.state === gatewayState && by.leftOut() === leftOut;
      if (isSame && !anew) return current;
      clusterKinds = now;
      leftOut = by.leftOut();
      gatewayState = gatewayKind?.state;
      current = withGateways(now, gatewayKind).map(withoutLeases).map(by.kind);
      return current;
    },
    /** The cluster cannot be listed. */
    unknown(message: string): readonly KindState[] {
      clusterKinds = undefined;
      current = current.map(unknownBecause(message));
      return current;
    },
  };
}

/** Publishes the snapshot if it has changed. */
function createPublisher(relay: Pick<RelayClient, 'publishInput'>, objects: ReadonlyMap<ObjectKey, Discovered>) {
  let kinds: readonly KindState[] = [];
  let published = false;
  let missed = false;
  return {
    hasPublished: () => published,
    /** The changes of a state were not taken to their end: the next snapshot names none. */
    missed(): void {
      missed = true;
    },
    publish(changed: ReadonlySet<ObjectKey>, now: readonly KindState[]): void {
      const sameKinds = now === kinds || JSON.stringify(now) === JSON.stringify(kinds);
      if (published && !missed && changed.size === 0 && sameKinds) return;
      if (!sameKinds) kinds = now;
      relay.publishInput({ objects, kinds }, published && !missed ? changed : undefined);
      published = true;
      missed = false;
    },
  };
}

/** Keys of the state, of the snapshot before, and of the named changes. */
function everyKey(
  before: ReadonlyMap<ObjectKey, Discovered>,
  { objects, changed = new Set() }: LiveState,
): readonly ObjectKey[] {
  const gone = [...before].flatMap(([key, { observed }]) => (observed === undefined || objects.has(key) ? [] : [key]));
  return [...new Set([...objects.keys(), ...gone, ...changed])];
}

/** A cluster can offer the gateway kind itself; a kind is listed once. */
function withGateways(kinds: readonly KindState[], gateways: KindState | undefined): readonly KindState[] {
  return gateways === undefined ? kinds : [...kinds.filter(({ kind }) => kind !== gateways.kind), gateways];
}

/** Leases change every few seconds: they are never reported, but judged in their cluster. */
function withoutLeases(kind: KindState): KindState {
  return kind.kind === LEASE && kind.state === 'complete' ? { ...kind, state: 'offered' } : kind;
}

function unknownBecause(message: string): (kind: KindState) => KindState {
  return (kind) => (kind.state === 'offered' ? kind : unknownKind(kind, message));
}

/** Returns what reads the value at its first call only: each access may parse it. */
function readingOnce(object: Pick<LiveObject, 'value'>): () => JsonObject {
  let value: JsonObject | undefined;
  return () => {
    value ??= object.value;
    return value;
  };
}

function discovered(observed: ObservedObject, read: () => JsonObject): Discovered {
  const { content, isReread } = observed;
  // The snapshot has one state of the object, also if the adapter does not keep it.
  if (isReread === true) return new KeptObject(observed, trim(read()));
  return new TrimmedObject(observed, content === undefined ? objectDigest(trim(read())) : sha256(content));
}

/** An object as its adapter keeps it. A class, because a getter of its own would cost each of tens of thousands of objects a function. */
class TrimmedObject implements Discovered {
  readonly key: ObjectKey;
  readonly digest: Digest;
  readonly content?: Uint8Array;
  readonly observed: ObservedObject;

  constructor(observed: ObservedObject, digest: Digest) {
    this.key = observed.key;
    this.digest = digest;
    if (observed.content !== undefined) this.content = observed.content;
    this.observed = observed;
  }

  get value(): JsonObject {
    const { value, content } = this.observed;
    return content === undefined ? trim(value) : value;
  }
}

/** The bytes of an object, and its value, which is parsed when it is read. */
class KeptObject implements Discovered {
  readonly key: ObjectKey;
  readonly digest: Digest;
  readonly content: Uint8Array;
  readonly observed: ObservedObject;

  constructor(observed: ObservedObject, value: JsonObject) {
    this.key = observed.key;
    this.observed = observed;
    this.content = new TextEncoder().encode(canonicalJson(value));
    this.digest = sha256(this.content);
  }

  get value(): JsonObject {
    return objectOf(parseJsonBytes(this.content));
  }
}

/** Keys whose inventory record was derived from live state before and is not now, or the reverse. */
function rederived(before: InventoryRecords, now: InventoryRecords): readonly ObjectKey[] {
  const isDerivedRecord = (record: InventoryRecord | undefined): boolean | undefined =>
    record && record.scope.length > 0;
  return [...now.changedSince(before)].filter(
    (key) => isDerivedRecord(before.get(key)) !== isDerivedRecord(now.get(key)),
  );
}

/**
 * Objects that the engine derived from live state are not reported as live state. Objects from a source are reported, and
 * so are objects of another owner that have the name of a derived object.
 */
function isDerived({ key, stamp }: ObservedObject, record: InventoryRecord | undefined): boolean {
  return stamp?.key === key && (record ?? stamp).scope.length > 0;
}

/** An object that mirroring made of declarations: it is not reported either, because its addresses change often. */
function isMirrored({ key, stamp }: ObservedObject, read: () => JsonObject): boolean {
  return stamp?.key === key && labelsOf(read())[mirrorLabels.backend] !== undefined;
}

function trim(value: JsonObject): JsonObject {
  const metadata = isJsonObject(value.metadata) ? liveMetadata(value.metadata, textOf(value.kind)) : value.metadata;
  return withoutSecretValues({ ...value, metadata });
}
