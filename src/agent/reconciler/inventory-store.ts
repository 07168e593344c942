import type { AgentSettings } from '../../model/agent/agent-settings.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import type { JsonObject } from '../../model/text/json.ts';
import { createTurns, type InTurn } from '../../model/values/in-turn.ts';
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
import { type Acceptance, contentOf, contentsOf, type Inventory } from './inventory.ts';

export interface StoreDeps {
  readonly cluster: ClusterApi;
  readonly disk: AgentDisk;
  readonly clock: Clock;
  readonly log: Log;
  /** Another agent has taken the cluster over. */
  readonly takenOver: (error: Error) => void;
}

/** Identities that arrive within this time share one write. */
const GATHER_IDENTITIES_MS = 100;
/** Pause after a failed write of identities. */
const RETRY_IDENTITIES_MS = 5_000;

/** A change of one record after work on its object. */
interface RecordChange {
  /** The record when the work began. */
  readonly record: InventoryRecord;
  /** What it has from now on, whichever delta came since; undefined: the object is gone. `applied` is of this content alone. */
  readonly to: Pick<InventoryRecord, 'identity'> | Required<Pick<InventoryRecord, 'applied'>> | GivenUp | undefined;
}

/** Null: no field that the object gave up is live. */
interface GivenUp {
  readonly givenUp: JsonObject | null;
}

/**
 * Keeps the inventory in memory and makes its changes durable, one write at a time: contents on the disk, the inventory in the
 * cluster. `isDurable`: both hold `recovered`.
 */
export function createInventoryStore(deps: StoreDeps, recovered: Inventory, isDurable: boolean) {
  const inTurn = createTurns();
  const storage = createStorage(deps, recovered, isDurable);
  // The disk drops the contents of removed objects; memory does not need them.
  let inventory: Inventory = {
    ...recovered,
    contents: recovered.contents.with(
      [],
      [...recovered.contents.keys()].filter((key) => !recovered.records.has(key)),
    ),
  };
  let newestSettings: AgentSettings | undefined;
  const replace = (next: Inventory): void => {
    inventory = next;
  };
  const runInTurn = (failure: string, work: () => Promise<void>): void =>
    void inTurn(work).catch((error: unknown) => deps.log.error(failure, { error }));

  return {
    current: (): Inventory => inventory,
    replace,
    /** Runs one change after the other; a failed one does not stop the next. */
    inTurn,
    /**
     * Writes an accepted delta; to be called in turn. Calls `contentIsDurable` between the disk and the inventory. Resolves with
     * the inventory after it, and replaces nothing.
     */
    writeDelta: (acceptance: Acceptance, contentIsDurable: (next: Inventory) => void): Promise<Inventory> =>
      storage.writeDelta(inventory, acceptance, contentIsDurable),
    /** The disk cannot read the content of this record any more. Calls `lost` if the inventory had it: the holding says so now. */
    loseContent: (record: InventoryRecord, lost: () => void): void =>
      runInTurn('a lost content could not be noted', async () => {
        if (!isUnchanged(inventory, record) || contentOf(inventory, record.key) === undefined) return;
        replace({ ...inventory, contents: inventory.contents.with([], [record.key]) });
        lost();
      }),
    /** Writes settings into the inventory; of several that wait, the newest only. Logs failures. */
    writeSettings: (settings: AgentSettings): void => {
      newestSettings = settings;
      runInTurn('the settings could not be made durable', async () => {
        // An earlier turn has written the newest settings.
        if (newestSettings === undefined) return;
        replace({ ...inventory, state: { ...inventory.state, settings: newestSettings } });
        newestSettings = undefined;
        await storage.writeState(inventory.state);
      });
    },
    /** Writes everything, unless the recovered inventory is durable already. Logs failures. */
    writeRecovered: (): void =>
      runInTurn('the inventory could not be made durable', async () =>
        replace(await storage.writeRecovered(inventory)),
      ),
    ...createRecordChanges(deps, inTurn, async (changes) => {
      const changed = withRecordChanges(inventory, changes);
      if (changed === undefined) return [];
      replace(await storage.writeChange(changed.change, changed.next));
      return changed.change.put;
    }),
  };
}

/** Changes of records after work on their objects, several in one write. `write` returns the records with new identities. */
function createRecordChanges(
  { clock, log }: StoreDeps,
  inTurn: InTurn,
  write: (changes: readonly RecordChange[]) => Promise<readonly InventoryRecord[]>,
) {
  /** Changes for the next write, and that write. */
  let waiting: RecordChange[] = [];
  let nextWrite: Promise<void> | undefined;
  const identities = new Map<ObjectKey, string>();
  let cancelGathering: (() => void) | undefined;
  let stopping = false;

  return {
    /**
     * Drops the record of a removed object. Resolves when that is durable, or when a newer delta has changed the record.
     * Rejects if the write fails.
     */
    writeRemoval: (record: InventoryRecord): Promise<void> => {
      waiting.push({ record, to: undefined });
      return writeWaiting();
    },
    /** Enters fields that the object gives up. Resolves when that is durable; rejects if the write fails. */
    writeGivenUp: (record: InventoryRecord, givenUp: JsonObject): Promise<void> => {
      waiting.push({ record, to: { givenUp } });
      return writeWaiting();
    },
    /** No field that the object gave up is live: its record says so later. */
    endGivenUp: (record: InventoryRecord): void => writeLater({ record, to: { givenUp: null } }),
    /** Writes the identity of a created object, later: the key is in the inventory before the object is created. */
    writeIdentity: (record: InventoryRecord, identity: string): void => {
      if (identity === (identities.get(record.key) ?? record.identity)) return;
      identities.set(record.key, identity);
      writeLater({ record, to: { identity } });
    },
    /** The content has been applied: its record says so later. */
    writeApplied: (record: InventoryRecord): void => writeLater({ record, to: { applied: true } }),
    /** A delta names these objects: that they have been applied is known anew after the work on them. */
    forgetApplied: (keys: readonly ObjectKey[]): void => {
      if (waiting.length === 0) return;
      const named = new Set(keys);
      waiting = waiting.filter(({ record, to }) => to === undefined || !('applied' in to) || !named.has(record.key));
    },
    /** Identities of created objects that are not in the inventory yet, by key. */
    identities,
    /** Writes what waits, without retries. Resolves when nothing is being written. */
    stop: async (): Promise<void> => {
      stopping = true;
      if (cancelGathering !== undefined) writeGathered();
      await inTurn(async () => undefined);
    },
  };

  function writeLater(change: RecordChange): void {
    waiting.push(change);
    cancelGathering ??= clock.schedule(GATHER_IDENTITIES_MS, writeGathered);
  }

  function writeGathered(): void {
    cancelGathering?.();
    cancelGathering = undefined;
    writeWaiting().catch((error: unknown) =>
      log.warn('what is known of applied objects could not be written', { error }),
    );
  }

  function writeWaiting(): Promise<void> {
    nextWrite ??= inTurn(writeRecords);
    return nextWrite;
  }

  async function writeRecords(): Promise<void> {
    const changes = waiting.splice(0);
    nextWrite = undefined;
    try {
      for (const { key, identity } of await write(changes))
        if (identities.get(key) === identity) identities.delete(key);
    } catch (error) {
      // The caller of `writeRemoval` retries by itself. In front: an identity that has arrived since is newer.
      waiting.unshift(...changes.filter(({ to }) => to !== undefined));
      if (waiting.length > 0 && !stopping) cancelGathering ??= clock.schedule(RETRY_IDENTITIES_MS, writeGathered);
      throw error;
    }
  }
}

/**
 * The disk and the inventory in the cluster. Each function resolves with the inventory whose contents are on the disk then. A
 * recovered inventory that is not durable is written by the first change.
 */
function createStorage({ cluster, disk, takenOver }: StoreDeps, recovered: Inventory, isDurable: boolean) {
  let unwritten = !isDurable;
  /** Keys whose contents are still on the disk although the objects are gone. */
  const gone = new Set([...recovered.contents.keys()].filter((key) => !recovered.records.has(key)));

  const writeRecovered = async (inventory: Inventory): Promise<Inventory> =>
    unwritten ? writeAll(inventory, []) : inventory;
  return { writeDelta, writeChange, writeState, writeRecovered };

  /** First the disk, then the inventory: the inventory never names a content that the disk lacks. */
  async function writeDelta(
    before: Inventory,
    acceptance: Acceptance,
    contentIsDurable: (next: Inventory) => void,
  ): Promise<Inventory> {
    const { change } = acceptance;
    const next = unwritten ? await replaceDisk(withContents(acceptance)) : await appendToDisk(before, acceptance);
    contentIsDurable(next);
    await saveInventory(unwritten ? { ...change, put: [...next.records.values()] } : change);
    unwritten = false;
    return next;
  }

  async function appendToDisk(
    { state: { position: after } }: Inventory,
    { contents: put, change, next }: Acceptance,
  ): Promise<Inventory> {
    const { position, digest } = change.state;
    const keys = new Set(put.map(({ key }) => key));
    const drop = [...gone].filter((key) => !keys.has(key));
    const stored = await disk.append({ position, after, digest, put, drop });
    gone.clear();
    return { ...next, contents: next.contents.with(stored) };
  }

  /** Writes a change of the inventory alone, which leads to `next`. */
  async function writeChange(change: InventoryChange, next: Inventory): Promise<Inventory> {
    if (unwritten) return writeAll(next, change.drop);
    await saveInventory(change);
    for (const key of change.drop) gone.add(key);
    return next;
  }

  /** Leaves an unwritten inventory unwritten: the write that makes it durable contains the state. */
  async function writeState(state: InventoryState): Promise<void> {
    if (!unwritten) await saveInventory({ state, put: [], drop: [] });
  }

  async function writeAll(inventory: Inventory, drop: readonly ObjectKey[]): Promise<Inventory> {
    const next = await replaceDisk(inventory);
    await saveInventory({ state: next.state, put: [...next.records.values()], drop });
    unwritten = false;
    return next;
  }

  async function replaceDisk(inventory: Inventory): Promise<Inventory> {
    const { state, records, contents } = inventory;
    // With the contents of objects that are being removed: the server can cancel a removal without sending the content.
    const objects = new Map([...contents].filter(([key, { digest }]) => records.get(key)?.digest === digest));
    const stored = await disk.replace({ position: state.position, digest: state.digest, objects });
    gone.clear();
    return { ...inventory, contents: contentsOf(stored) };
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

function withContents({ contents, next }: Acceptance): Inventory {
  return { ...next, contents: next.contents.with(contents.map((object) => [object.key, object])) };
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
  const drop = changes.flatMap(({ record, to }) =>
    to === undefined && isUnchanged(inventory, record) ? [record.key] : [],
  );
  const dropped = new Set(drop);
  const changed = new Map<ObjectKey, InventoryRecord>();
  for (const { record, to } of changes) {
    const now = changed.get(record.key) ?? inventory.records.get(record.key);
    if (to === undefined || now === undefined || dropped.has(record.key)) continue;
    if ('applied' in to && (now.digest !== record.digest || now.applied === true)) continue;
    changed.set(record.key, changedTo(now, to));
  }
  const put = [...changed.values()];
  if (drop.length === 0 && put.length === 0) return undefined;
  const records = inventory.records.with(
    put.map((record) => [record.key, record]),
    drop,
  );
  const contents = inventory.contents.with([], drop);
  return { change: { state: inventory.state, put, drop }, next: { ...inventory, records, contents } };
}

function changedTo(record: InventoryRecord, to: NonNullable<RecordChange['to']>): InventoryRecord {
  if (!('givenUp' in to)) return { ...record, ...to };
  const { givenUp: _, ...rest } = record;
  return to.givenUp === null ? rest : { ...rest, givenUp: to.givenUp };
}
