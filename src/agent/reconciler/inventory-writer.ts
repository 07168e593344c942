import type { AgentSettings } from '../../model/agent-settings.ts';
import { createTurns, type InTurn } from '../../model/in-turn.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { AgentDisk } from '../../ports/agent-disk.ts';
import type { Clock } from '../../ports/clock.ts';
import {
  type ClusterApi,
  type InventoryChange,
  type InventoryRecord,
  type InventoryState,
  isTakenOver,
} from '../../ports/cluster-api.ts';
import type { Log } from '../../ports/log.ts';
import type { Acceptance, Inventory } from './inventory.ts';

/** Makes changes of the inventory durable, one write at a time: contents on the disk, the inventory in the cluster. */
export interface InventoryWriter {
  /** Runs one change after the other; a failed one does not stop the next. */
  readonly inTurn: InTurn;
  /** Writes an accepted delta; to be called in turn. Calls `contentIsDurable` between the disk and the inventory. */
  writeDelta(acceptance: Acceptance, contentIsDurable: () => void): Promise<void>;
  /** Writes settings into the inventory; of several that wait, the newest only. Failures are logged. */
  writeSettings(settings: AgentSettings): void;
  /** Writes everything, unless the recovered inventory is durable already. Failures are logged. */
  writeRecovered(): void;
  /**
   * Drops the record of a removed object. Resolves when that is durable, or when a newer delta has changed the record.
   * Rejects if the write fails.
   */
  writeRemoval(record: InventoryRecord): Promise<void>;
  /** Writes the identity of a created object, later: the key is in the inventory before the object is created. */
  writeIdentity(record: InventoryRecord, identity: string): void;
  /** The identity of a created object that is not in the inventory yet. */
  unwrittenIdentity(key: ObjectKey): string | undefined;
  forget(key: ObjectKey): void;
  /** Writes what waits, without retries. Resolves when nothing is being written. */
  stop(): Promise<void>;
}

export interface InventoryWriterDeps {
  readonly cluster: ClusterApi;
  readonly disk: AgentDisk;
  readonly clock: Clock;
  readonly log: Log;
  /** Another agent has taken the cluster over. */
  readonly takenOver: (error: Error) => void;
  /** The inventory in memory. */
  readonly current: () => Inventory;
  readonly replace: (next: Inventory) => void;
}

/** Identities that arrive within this time share one write. */
const GATHER_IDENTITIES_MS = 100;
/** Pause after a failed write of identities. */
const RETRY_IDENTITIES_MS = 5_000;

/** A change of one record after work on its object. */
interface RecordChange {
  /** The record when the work began. */
  readonly record: InventoryRecord;
  /** The identity of the object; undefined: the object is gone. */
  readonly identity: string | undefined;
}

/** `isDurable`: the disk and the inventory in the cluster hold `recovered`. */
export function createInventoryWriter(
  deps: InventoryWriterDeps,
  recovered: Inventory,
  isDurable: boolean,
): InventoryWriter {
  const { clock, log } = deps;
  const inTurn = createTurns();
  const storage = createStorage(deps, recovered, isDurable);
  /** Changes for the next write of records, and that write. */
  const waiting: RecordChange[] = [];
  let nextWrite: Promise<void> | undefined;
  const identities = new Map<ObjectKey, string>();
  let cancelGathering: (() => void) | undefined;
  let newestSettings: AgentSettings | undefined;
  let stopping = false;

  return {
    inTurn,
    writeDelta: storage.writeDelta,
    writeSettings,
    writeRecovered: () => {
      inTurn(() => storage.writeRecovered(deps.current())).catch((error: unknown) =>
        log.error('the inventory could not be made durable', { error }),
      );
    },
    writeRemoval: (record) => {
      waiting.push({ record, identity: undefined });
      return writeWaiting();
    },
    writeIdentity,
    unwrittenIdentity: (key) => identities.get(key),
    forget: (key) => void identities.delete(key),
    stop: async () => {
      stopping = true;
      if (cancelGathering !== undefined) writeGathered();
      await inTurn(async () => undefined);
    },
  };

  function writeSettings(settings: AgentSettings): void {
    const isWaiting = newestSettings !== undefined;
    newestSettings = settings;
    if (isWaiting) return;
    inTurn(async () => {
      const state = { ...deps.current().state, settings: newestSettings ?? settings };
      newestSettings = undefined;
      deps.replace({ ...deps.current(), state });
      await storage.writeState(state);
    }).catch((error: unknown) => log.error('the settings could not be made durable', { error }));
  }

  function writeIdentity(record: InventoryRecord, identity: string): void {
    if (identity === (identities.get(record.key) ?? record.identity)) return;
    identities.set(record.key, identity);
    waiting.push({ record, identity });
    cancelGathering ??= clock.schedule(GATHER_IDENTITIES_MS, writeGathered);
  }

  function writeGathered(): void {
    cancelGathering?.();
    cancelGathering = undefined;
    writeWaiting().catch((error: unknown) => log.warn('identities of new objects could not be written', { error }));
  }

  function writeWaiting(): Promise<void> {
    nextWrite ??= inTurn(writeRecords);
    return nextWrite;
  }

  async function writeRecords(): Promise<void> {
    const changes = waiting.splice(0);
    nextWrite = undefined;
    const changed = withRecordChanges(deps.current(), changes);
    if (changed === undefined) return;
    try {
      await storage.writeChange(changed.change, changed.next);
    } catch (error) {
      // The caller of `writeRemoval` retries by itself. In front: an identity that has arrived since is newer.
      waiting.unshift(...changes.filter(({ identity }) => identity !== undefined));
      if (waiting.length > 0 && !stopping) cancelGathering ??= clock.schedule(RETRY_IDENTITIES_MS, writeGathered);
      throw error;
    }
    deps.replace(changed.next);
    for (const { key, identity } of changed.change.put) if (identities.get(key) === identity) identities.delete(key);
  }
}

/** The disk and the inventory in the cluster. A recovered inventory that is not durable is written by the first change. */
function createStorage({ cluster, disk, takenOver }: InventoryWriterDeps, recovered: Inventory, isDurable: boolean) {
  let unwritten = !isDurable;
  /** The disk may be ahead of the inventory: the next delta replaces its content. */
  let diskAhead = !isDurable;
  /** Keys whose contents are still on the disk although the objects are gone. */
  const gone = new Set([...recovered.contents.keys()].filter((key) => !recovered.records.has(key)));

  return { writeDelta, writeChange, writeState, writeRecovered };

  /** First the disk, then the inventory: the inventory never names a content that the disk lacks. */
  async function writeDelta({ step, change, next }: Acceptance, contentIsDurable: () => void): Promise<void> {
    const put = new Set(step.put.map(({ key }) => key));
    if (diskAhead) await replaceDisk(next);
    else await disk.append({ ...step, drop: [...gone].filter((key) => !put.has(key)) });
    diskAhead = true;
    gone.clear();
    contentIsDurable();
    await saveInventory(unwritten ? { ...change, put: [...next.records.values()] } : change);
    diskAhead = false;
    unwritten = false;
  }

  /** Writes a change of the inventory alone, which leads to `next`. */
  async function writeChange(change: InventoryChange, next: Inventory): Promise<void> {
    if (unwritten) return writeAll(next, change.drop);
    await saveInventory(change);
    for (const key of change.drop) gone.add(key);
  }

  /** Leaves an unwritten inventory unwritten: the write that makes it durable contains the state. */
  async function writeState(state: InventoryState): Promise<void> {
    if (!unwritten) await saveInventory({ state, put: [], drop: [] });
  }

  async function writeRecovered(inventory: Inventory): Promise<void> {
    if (unwritten) await writeAll(inventory, []);
  }

  async function writeAll(next: Inventory, drop: readonly ObjectKey[]): Promise<void> {
    await replaceDisk(next);
    await saveInventory({ state: next.state, put: [...next.records.values()], drop });
    diskAhead = false;
    unwritten = false;
  }

  async function replaceDisk({ state, records, contents }: Inventory): Promise<void> {
    // With the contents of objects that are being removed: the server can cancel a removal without sending the content.
    const objects = new Map([...contents].filter(([key, { digest }]) => records.get(key)?.digest === digest));
    await disk.replace({ position: state.position, digest: state.digest, objects });
    gone.clear();
  }

  async function saveInventory(change: InventoryChange): Promise<void> {
    try {
      await cluster.saveInventory(change);
    } catch (error) {
      if (isTakenOver(error)) takenOver(error);
      throw error;
    }
  }
}

/** Whether the record is still the same as when the work on its object began. */
export function isUnchanged({ records }: Inventory, { key, digest, phase }: InventoryRecord): boolean {
  const now = records.get(key);
  return now?.digest === digest && now.phase === phase;
}

/** One change of the inventory with all of these; undefined if newer deltas have overtaken every one of them. */
function withRecordChanges(
  inventory: Inventory,
  changes: readonly RecordChange[],
): { readonly change: InventoryChange; readonly next: Inventory } | undefined {
  const drop = changes.flatMap(({ record, identity }) =>
    identity === undefined && isUnchanged(inventory, record) ? [record.key] : [],
  );
  const dropped = new Set(drop);
  // The identity is that of the live object, whichever delta came since.
  const put = changes.flatMap(({ record, identity }): InventoryRecord[] => {
    const now = dropped.has(record.key) ? undefined : inventory.records.get(record.key);
    return identity === undefined || now === undefined ? [] : [{ ...now, identity }];
  });
  if (drop.length === 0 && put.length === 0) return undefined;
  const records = new Map(inventory.records);
  const contents = new Map(inventory.contents);
  for (const key of drop) {
    records.delete(key);
    contents.delete(key);
  }
  for (const record of put) records.set(record.key, record);
  return { change: { state: inventory.state, put, drop }, next: { ...inventory, records, contents } };
}
