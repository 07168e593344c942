import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import {
  type ClusterApi,
  type InventoryState,
  type ObservedObject,
  takenOverError,
} from '../../../src/ports/cluster-api.ts';
import { createMemoryCluster, type MemoryCluster } from '../../support/agent-cluster.ts';
import type { Dice } from '../core/dice.ts';
import type { SimProcess } from '../core/process.ts';

/** How a cluster's API is just now. */
export interface ClusterWeather {
  latencyMs: number;
  /** Chance that a write of an object fails and may be tried again. */
  failingWrites: number;
  /** It cannot be listed. */
  unreadable: boolean;
  /** The inventory cannot be written. */
  full: boolean;
  /** Chance that a hint is lost. */
  lostHints: number;
}

export const fineCluster = (): ClusterWeather => ({
  latencyMs: 2,
  failingWrites: 0,
  unreadable: false,
  full: false,
  lostHints: 0,
});

/** A write of ours as it came about in a cluster. */
export type ClusterWrite =
  | { readonly type: 'applied'; readonly key: ObjectKey; readonly before: ObservedObject | undefined }
  /** `asked`: when the agent asked for it, in milliseconds of the world. */
  | { readonly type: 'removed'; readonly key: ObjectKey; readonly before: ObservedObject; readonly asked: number };

/** Is called with what happens in a cluster. */
export interface ClusterListener {
  wrote(cluster: SimCluster, write: ClusterWrite): void;
  /** An agent's process has ended; `state` is what it wrote to the inventory last. Called again if a later write of it arrives. */
  agentEnded(cluster: SimCluster, state: InventoryState): void;
}

/** A workload cluster: what is in it, and what people have made there. */
export interface SimCluster {
  readonly name: string;
  readonly memory: MemoryCluster;
  readonly weather: ClusterWeather;
  /** Objects of people, as they left them. */
  readonly foreign: Map<ObjectKey, JsonObject>;
  /**
   * Objects that were made anew by an agent that ended before it had entered their new ids, and were to be removed before
   * its successor could write to them: with another id than the inventory names they are let go, to be on the safe side.
   */
  readonly letGo: Set<ObjectKey>;
  /** Objects whose last write the cluster has refused during a fault: the agent that runs now tries again after a while. */
  readonly refused: Set<ObjectKey>;
  /** Writes of objects that took effect. */
  writes: number;
  /** The process that has read the inventory last: writes of others are refused. */
  holder: SimProcess | undefined;
  /** The cluster as an agent's process has it. */
  open(process: SimProcess): ClusterApi;
}

export function createSimCluster(name: string, dice: Dice, listener: ClusterListener): SimCluster {
  const memory = createMemoryCluster(`id-${name}`);
  if (dice.chance(0.5)) memory.view();
  memory.identify = dice.chance(0.5);
  const cluster: SimCluster = {
    name,
    memory,
    weather: fineCluster(),
    foreign: new Map(),
    letGo: new Set(),
    refused: new Set(),
    writes: 0,
    holder: undefined,
    open: (process) => openCluster(cluster, process, dice, listener),
  };
  return cluster;
}

const FAILED = { type: 'failed', reason: 'Refused', message: 'the weather is bad' } as const;

function openCluster(cluster: SimCluster, process: SimProcess, dice: Dice, listener: ClusterListener): ClusterApi {
  const { memory, weather } = cluster;
  const api = memory.open();
  const delay = (): number => dice.int(weather.latencyMs + 1);
  let saved: InventoryState | undefined;
  const tellIfEnded = (): void => {
    if (saved !== undefined && process.state() === 'dead') listener.agentEnded(cluster, saved);
  };
  process.atDeath(tellIfEnded);
  // An agent that begins tries everything at once.
  cluster.refused.clear();
  const isRefused = (key: ObjectKey): boolean => {
    const is = dice.chance(weather.failingWrites);
    // A late write of an agent that has ended says nothing about its successor.
    if (process.state() === 'dead') return is;
    if (is) cluster.refused.add(key);
    else cluster.refused.delete(key);
    return is;
  };
  return {
    ...api,
    identity: () => process.call(0, () => api.identity()),
    list: (depth) =>
      process.call(delay(), () => {
        if (weather.unreadable) throw new Error('the cluster does not answer');
        // A list of a dead process must not use up the changes since the last list of its successor.
        return process.state() === 'dead' ? new Promise(() => undefined) : api.list(depth);
      }),
    watch: (hint) => {
      const end = api.watch(() => process.enter(() => dice.chance(weather.lostHints) || hint()));
      process.atDeath(end);
      return end;
    },
    apply: (request) =>
      process.write(delay(), async () => {
        if (isRefused(request.key)) return FAILED;
        const before = memory.objects.get(request.key);
        const outcome = await api.apply(request);
        if (memory.objects.get(request.key) !== before) {
          cluster.writes += 1;
          cluster.letGo.delete(request.key);
          listener.wrote(cluster, { type: 'applied', key: request.key, before });
        }
        return outcome;
      }),
    remove: (request) => {
      const asked = process.clock.monotonic();
      return process.write(delay(), async () => {
        if (isRefused(request.key)) return FAILED;
        const before = memory.objects.get(request.key);
        const outcome = await api.remove(request);
        if (before !== undefined && !memory.objects.has(request.key)) {
          cluster.writes += 1;
          listener.wrote(cluster, { type: 'removed', key: request.key, before, asked });
        }
        if (outcome.type === 'notOwned' && before?.stamp !== undefined) cluster.letGo.add(request.key);
        return outcome;
      });
    },
    loadInventory: () =>
      process.call(delay(), () => {
        if (process.state() !== 'dead') cluster.holder = process;
        return api.loadInventory();
      }),
    saveInventory: (change) =>
      process.write(delay(), async () => {
        if (weather.full) throw new Error('the cluster takes no inventory');
        // A late write of an agent that has ended: the real adapters fence it.
        if (cluster.holder !== process) throw takenOverError('another agent has it');
        await api.saveInventory(change);
        saved = change.state;
        tellIfEnded();
      }),
    close: () => process.call(0, () => api.close()),
  };
}
