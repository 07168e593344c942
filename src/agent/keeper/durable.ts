import { createTurns, type InTurn } from '../../model/in-turn.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { AgentDisk } from '../../ports/agent-disk.ts';
import { type ClusterApi, type InventoryChange, type InventoryState, isTakenOver } from '../../ports/cluster-api.ts';
import type { Acceptance } from './accept.ts';
import type { Holding } from './holding.ts';

/** Writes what is held, one change at a time: contents to the disk, and to the inventory what counts. */
export interface Durable {
  /** Runs one change after the other; a failed one does not stop the next. */
  readonly serially: InTurn;
  /** An accepted delta. `contentIsDurable` is called between the disk and the inventory. */
  step(acceptance: Acceptance, contentIsDurable: () => void): Promise<void>;
  /** A change of the inventory alone, which leads to `next`. */
  entries(change: InventoryChange, next: Holding): Promise<void>;
  /** What is said beside the records; a holding that is not durable yet takes it along when it becomes so. */
  state(state: InventoryState): Promise<void>;
  /** All of it, unless it is written already. */
  whole(holding: Holding): Promise<void>;
  /** Resolves when nothing is being written. */
  settled(): Promise<unknown>;
}

/** `found`: what is held at the start; `written`: that it is what the disk and the inventory say. */
export function createDurable(
  deps: { readonly cluster: ClusterApi; readonly disk: AgentDisk; readonly takenOver: (error: Error) => void },
  found: Holding,
  written: boolean,
): Durable {
  const { disk } = deps;
  const serially = createTurns();
  let unwritten = !written;
  /** The disk may hold more than the inventory: the next step replaces it. */
  let diskAhead = !written;
  /** Contents on the disk of objects that are gone. */
  const gone = new Set([...found.contents.keys()].filter((key) => !found.records.has(key)));

  return { serially, step, entries, state, whole, settled: () => serially(async () => undefined) };

  async function saveInventory(change: InventoryChange): Promise<void> {
    try {
      await deps.cluster.saveInventory(change);
    } catch (error) {
      if (isTakenOver(error)) deps.takenOver(error);
      throw error;
    }
  }

  /** First the disk, then the inventory: the inventory says what counts, and never names a content that is not there. */
  async function step({ step, change, next }: Acceptance, contentIsDurable: () => void): Promise<void> {
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

  async function entries(change: InventoryChange, next: Holding): Promise<void> {
    if (unwritten) return writeAll(next, change.drop);
    await saveInventory(change);
    for (const key of change.drop) gone.add(key);
  }

  async function state(next: InventoryState): Promise<void> {
    if (!unwritten) await saveInventory({ state: next, put: [], drop: [] });
  }

  async function whole(holding: Holding): Promise<void> {
    if (unwritten) await writeAll(holding, []);
  }

  async function writeAll(holding: Holding, drop: readonly ObjectKey[]): Promise<void> {
    await replaceDisk(holding);
    await saveInventory({ state: holding.state, put: [...holding.records.values()], drop });
    diskAhead = false;
    unwritten = false;
  }

  async function replaceDisk({ state, records, contents }: Holding): Promise<void> {
    // What is on its way out stays until it is gone: its removal may be called off, and nobody sends it again then.
    const objects = new Map([...contents].filter(([key, { digest }]) => records.get(key)?.digest === digest));
    await disk.replace({ position: state.position, digest: state.digest, objects });
    gone.clear();
  }
}
