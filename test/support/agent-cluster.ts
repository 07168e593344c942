import type { AgentSettings } from '../../src/model/agent/agent-settings.ts';
import type { Diagnostic } from '../../src/model/fleet/diagnostic.ts';
import type { ClusterId } from '../../src/model/fleet/ids.ts';
import type { ObjectHealth } from '../../src/model/objects/object-health/health.ts';
import { displayKey, isStatusKey, type ObjectKey, statusKey } from '../../src/model/objects/object-key.ts';
import { differingFields } from '../../src/model/text/field-diff.ts';
import { type JsonObject, jsonEquals } from '../../src/model/text/json.ts';
import {
  type ApplyOutcome,
  type ApplyRequest,
  type ClusterApi,
  type InventoryChange,
  type InventoryRecord,
  type LiveState,
  loadedRecords,
  type ObservedObject,
  type Ownership,
  type RemoveOutcome,
  type RemoveRequest,
  type Stamp,
  takenOverError,
} from '../../src/ports/cluster-api.ts';
import { createMemoryStatuses } from './memory-statuses.ts';

/** What a person and a test can do to a cluster that lives in memory. */
export interface MemoryCluster {
  /** Opens it, as a new agent process would. */
  open(): ClusterApi;
  /** Every write in order: `inventory`, `apply KEY`, `remove KEY`. */
  readonly calls: string[];
  readonly objects: Map<ObjectKey, ObservedObject>;
  /** Settings that it was given. */
  readonly configured: AgentSettings[];
  readonly inventory: {
    current: { state: InventoryChange['state']; records: Map<ObjectKey, InventoryRecord> } | undefined;
  };
  /** Inventory changes wait for this before they are durable; they fail if it rejects. */
  inventoryGate: Promise<void> | undefined;
  /** Looks fail with this, until it is undefined. */
  unreadable: Error | undefined;
  /** Writes of objects answer only after this, though they are done before. */
  writeGate: Promise<void> | undefined;
  /** Kinds (`group/Kind`) that cannot be listed now. */
  readonly unknownKinds: Set<string>;
  /** Of its API server; undefined: it has none. */
  kubernetesVersion: string | undefined;
  /** What is wrong in it. */
  readonly diagnostics: Diagnostic[];
  /** A person makes or changes an object; the stamp stays if there was one, unless told otherwise. */
  personPuts(key: ObjectKey, value: JsonObject, stamp?: 'keep' | 'drop' | Stamp): void;
  personRemoves(key: ObjectKey): void;
  pause(on: boolean): void;
  /** The definition of this kind (`group/Kind`) changes. */
  redefine(kind: string): void;
  /** An object's health is this from now on, as its cluster sees it. */
  becomes(key: ObjectKey, health: ObjectHealth): void;
  /** From now on every list returns one view that keeps changing, with the changed keys. */
  view(): void;
  /** From now on new objects have ids of their own. */
  identify: boolean;
  /** Another agent has it: writes of the inventory fail. */
  takenOver: boolean;
  /** The next list reads everything again, although no hint was given. */
  forgetState(): void;
  /** How often an object was to be applied or removed. */
  tries(key: ObjectKey): number;
  /** The result of the next writes of this object, until it is set to undefined. */
  fail(
    key: ObjectKey,
    outcome: Extract<ApplyOutcome & RemoveOutcome, { type: 'failed' | 'exempt' }> | 'waiting' | undefined,
  ): void;
}

/** A cluster in memory, behind the port, for tests of the agent. */
export function createMemoryCluster(id = 'memory-cluster'): MemoryCluster {
  const objects = new Map<ObjectKey, ObservedObject>();
  const faults = new Map<ObjectKey, Extract<ApplyOutcome, { type: 'failed' | 'exempt' }> | 'waiting'>();
  const ids = new Map<ObjectKey, string>();
  const hints = new Set<() => void>();
  const calls: string[] = [];
  const tries = new Map<ObjectKey, number>();
  const configured: AgentSettings[] = [];
  const unknownKinds = new Set<string>();
  const diagnostics: Diagnostic[] = [];
  const inventory: MemoryCluster['inventory'] = { current: undefined };
  const changed = new Set<ObjectKey>();
  let viewed = false;
  let paused = false;
  const redefined = new Set<string>();
  let state: LiveState | undefined;
  const statuses = createMemoryStatuses(objects, put);

  const memory: MemoryCluster = {
    open,
    inventoryGate: undefined,
    unreadable: undefined,
    identify: false,
    kubernetesVersion: undefined,
    takenOver: false,
    becomes: (key, health) => {
      const object = objects.get(key);
      if (object === undefined) throw new Error(`${key} is not there`);
      put({ ...object, health });
      hint();
    },
    view: () => {
      viewed = true;
      state = undefined;
    },
    writeGate: undefined,
    calls,
    tries: (key) => tries.get(key) ?? 0,
    configured,
    objects,
    inventory,
    unknownKinds,
    diagnostics,
    personPuts: (key, value, stamp = 'keep') => {
      const before = stamp === 'keep' ? objects.get(key)?.stamp : stamp === 'drop' ? undefined : stamp;
      put({ key, value, where: 'memory', ...(before === undefined ? {} : { stamp: before }) });
      hint();
    },
    personRemoves: (key) => {
      objects.delete(key);
      statuses.removed(key);
      changed.add(key);
      hint();
    },
    pause: (on) => {
      paused = on;
      hint();
    },
    redefine: (kind) => {
      redefined.add(kind);
      hint();
    },
    forgetState: () => {
      state = undefined;
    },
    fail: (key, outcome) => {
      if (outcome === undefined) faults.delete(key);
      else faults.set(key, outcome);
    },
  };
  return memory;

  function put(object: ObservedObject): void {
    objects.set(object.key, object);
    changed.add(object.key);
    state = undefined;
  }

  function hint(): void {
    state = undefined;
    for (const each of hints) each();
  }

  function open(): ClusterApi {
    return {
      identity: async () => id as ClusterId,
      takesStatuses: true,
      releaseStop: 'release it',
      list: async () => {
        if (memory.unreadable !== undefined) throw memory.unreadable;
        state ??= compose();
        return state;
      },
      watch: (callback) => {
        hints.add(callback);
        return () => hints.delete(callback);
      },
      apply: async (request) => {
        tried(request.key);
        return answered(apply(request));
      },
      remove: async (request) => {
        tried(request.key);
        return answered(remove(request));
      },
      matches: (request, observed) => {
        const { key, value, stamp } = request;
        if (isStatusKey(key)) return statuses.matches(request);
        return jsonEquals(value, observed.value) && JSON.stringify(stamp) === JSON.stringify(observed.stamp);
      },
      differences: (request, observed) =>
        isStatusKey(request.key)
          ? statuses.differences(request)
          : { fields: differingFields(request.value, observed.value), managers: [] },
      loadInventory: async () =>
        inventory.current === undefined
          ? { type: 'missing' }
          : { type: 'found', state: inventory.current.state, ...loadedRecords(inventory.current.records.values()) },
      saveInventory: async ({ state: next, put: added, drop }) => {
        await memory.inventoryGate;
        if (memory.takenOver) throw takenOverError('another agent has it');
        calls.push('inventory');
        const records = new Map(inventory.current?.records);
        for (const record of added) records.set(record.key, record);
        for (const key of drop) records.delete(key);
        inventory.current = { state: next, records };
        if ([...added.map(({ key }) => key), ...drop].some(isStatusKey)) state = undefined;
      },
      configure: (settings) => configured.push(settings),
      close: async () => {},
    };
  }

  function tried(key: ObjectKey): void {
    tries.set(key, memory.tries(key) + 1);
  }

  async function answered<Outcome>(outcome: Outcome): Promise<Outcome> {
    await memory.writeGate;
    return outcome;
  }

  function compose(): LiveState {
    const kinds = new Set([...objects.keys()].map((key) => key.split('/').slice(0, 2).join('/')));
    const since = new Set(changed);
    changed.clear();
    const definitions = new Set(redefined);
    redefined.clear();
    const { kubernetesVersion } = memory;
    return {
      ...(kubernetesVersion === undefined ? {} : { kubernetesVersion }),
      ...(viewed ? { changed: since } : {}),
      ...(definitions.size === 0 ? {} : { redefined: definitions }),
      objects: viewed ? objects : new Map(objects),
      statuses: statuses.observed([...(inventory.current?.records.keys() ?? [])].filter(isStatusKey)),
      ...(viewed ? { changedStatuses: new Set([...since].map(statusKey)) } : {}),
      kinds: [...new Set([...kinds, ...unknownKinds])].sort().map((kind) => ({
        kind,
        state: unknownKinds.has(kind) ? 'unknown' : 'complete',
        message: '',
      })),
      diagnostics: [...diagnostics],
      paused,
    };
  }

  function apply(request: ApplyRequest): ApplyOutcome {
    const { key, value, stamp, leavesDrift, applied } = request;
    if (paused) return { type: 'paused' };
    const fault = faults.get(key);
    if (fault !== undefined && fault !== 'waiting') return fault;
    if (isStatusKey(key)) {
      const outcome = statuses.apply(request);
      if (outcome.type === 'applied') calls.push(`apply ${key}`);
      return outcome;
    }
    const live = objects.get(key);
    if (live !== undefined && !owns(live, stamp)) return theirs(key);
    if (live !== undefined && jsonEquals(live.value, value) && JSON.stringify(live.stamp) === JSON.stringify(stamp)) {
      const known = memory.identify ? ids.get(key) : undefined;
      return { type: 'unchanged', ...(known === undefined ? {} : { identity: known }) };
    }
    if (leavesDrift === true && applied === true) {
      const fields = live === undefined ? [] : differingFields(value, live.value);
      const drift = live === undefined ? 'removed' : 'changed';
      if (live === undefined || fields.length > 0) return { type: 'drifted', drift, fields, managers: [] };
    }
    calls.push(`apply ${key}`);
    put({ key, value, stamp, where: 'memory' });
    if (!memory.identify) return { type: 'applied' };
    // An object keeps its id for as long as it is there.
    const identity = (live === undefined ? undefined : ids.get(key)) ?? `id-${calls.length}`;
    ids.set(key, identity);
    return { type: 'applied', identity };
  }

  function remove(request: RemoveRequest): RemoveOutcome {
    const { key, identity } = request;
    if (paused) return { type: 'paused' };
    const fault = faults.get(key);
    if (fault === 'waiting') return { type: 'waiting', message: 'a finalizer holds it' };
    if (fault !== undefined) return fault;
    if (isStatusKey(key)) {
      statuses.end(key);
      calls.push(`remove ${key}`);
      return { type: 'gone' };
    }
    const live = objects.get(key);
    if (live === undefined) return { type: 'gone' };
    const isOther = identity !== undefined && identity !== ids.get(key);
    if (isOther || !owns(live, request)) return { ...theirs(key), type: 'notOwned' };
    calls.push(`remove ${key}`);
    objects.delete(key);
    changed.add(key);
    state = undefined;
    return { type: 'gone' };
  }
}

function owns({ key, stamp }: ObservedObject, { fleet, nonce }: Ownership): boolean {
  return stamp?.fleet === fleet && stamp.key === key && stamp.nonce === nonce;
}

function theirs(key: ObjectKey) {
  return { type: 'conflict' as const, owner: 'a person', message: `${displayKey(key)} is a person's` };
}
