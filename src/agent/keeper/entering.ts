import type { ObjectKey } from '../../model/object-key.ts';
import type { Clock } from '../../ports/clock.ts';
import type { InventoryRecord } from '../../ports/cluster-api.ts';
import type { Log } from '../../ports/log.ts';
import type { Durable } from './durable.ts';
import { type Entry, withEntries } from './entries.ts';
import type { Holding } from './holding.ts';

/** What became of objects, entered into the inventory: whatever comes while one write waits is in the same one. */
export interface Entering {
  /** The id of a new object that is not in the inventory yet. */
  newIdOf(key: ObjectKey): string | undefined;
  /** An object is gone. Resolves when the inventory says so, or something newer has overtaken it; rejects if neither. */
  gone(record: InventoryRecord): Promise<void>;
  /** The id of a new object is entered later: its key is entered, so it is known to be ours whatever happens. */
  identified(record: InventoryRecord, identity: string): void;
  forget(key: ObjectKey): void;
  /** Enters what waits, and tries nothing again after it. */
  stop(): void;
}

export interface EnteringDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly durable: Pick<Durable, 'serially' | 'entries'>;
  readonly holding: () => Holding;
  /** What is held once an entry is durable. */
  readonly become: (next: Holding) => void;
}

/** Ids of new objects that come within this time are one write of the inventory. */
const GATHER_IDS_MS = 100;
/** After a write of ids that failed. */
const IDS_AGAIN_MS = 5_000;

export function createEntering({ clock, log, durable, holding, become }: EnteringDeps): Entering {
  /** What the next write takes along, and that write. */
  const waiting: Entry[] = [];
  let writing: Promise<void> | undefined;
  const newIds = new Map<ObjectKey, string>();
  /** What ends the wait for more ids to enter at once. */
  let cancelGathering: (() => void) | undefined;
  let stopping = false;

  return {
    newIdOf: (key) => newIds.get(key),
    gone: (record) => {
      waiting.push({ record, became: { type: 'gone' } });
      return write();
    },
    identified,
    forget: (key) => {
      newIds.delete(key);
    },
    stop: () => {
      stopping = true;
      if (cancelGathering !== undefined) writeGathered();
    },
  };

  function identified(record: InventoryRecord, identity: string): void {
    if (identity === (newIds.get(record.key) ?? record.identity)) return;
    newIds.set(record.key, identity);
    waiting.push({ record, became: { type: 'identified', identity } });
    cancelGathering ??= clock.schedule(GATHER_IDS_MS, writeGathered);
  }

  function writeGathered(): void {
    cancelGathering?.();
    cancelGathering = undefined;
    write().catch((error: unknown) => log.warn('ids of new objects could not be entered', { error }));
  }

  function write(): Promise<void> {
    writing ??= durable.serially(writeAll);
    return writing;
  }

  async function writeAll(): Promise<void> {
    const entries = waiting.splice(0);
    writing = undefined;
    const entered = withEntries(holding(), entries);
    if (entered === undefined) return;
    try {
      await durable.entries(entered.change, entered.next);
    } catch (error) {
      // Whoever waits for an end of an object tries again by itself. In front: an id that came meanwhile is the newer one.
      waiting.unshift(...entries.filter(({ became }) => became.type === 'identified'));
      if (waiting.length > 0 && !stopping) cancelGathering ??= clock.schedule(IDS_AGAIN_MS, writeGathered);
      throw error;
    }
    become(entered.next);
    for (const { key, identity } of entered.change.put) if (newIds.get(key) === identity) newIds.delete(key);
  }
}
