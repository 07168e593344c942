import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import type { InventoryRecord, LoadedInventory } from '../../../src/ports/cluster-api.ts';
import { Crashed, type Fault } from '../../support/kubernetes/faulty-client.ts';
import { found, type InventoryHome, keyNamed, type OpenedInventory, open, record, stateAt } from './suite.ts';

/** What an inventory says: its sequence, and each record's path. */
interface Content {
  readonly sequence: number;
  readonly records: ReadonlyMap<ObjectKey, InventoryRecord>;
}

interface Step {
  readonly put: readonly { readonly name: string; readonly padding: number }[];
  readonly drop: readonly string[];
  /** What becomes of the requests of this save, in turn; the last one goes on for ever. */
  readonly faults: readonly Fault[];
  /** A new process takes over before the save. */
  readonly restart: boolean;
  /** The old one is still there then, and tries to save as well. */
  readonly ghost: boolean;
}

const NAMES = ['a', 'b', 'c', 'd', 'e'];
const name = fc.constantFrom(...NAMES);
const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Fault>('none') },
  { weight: 2, arbitrary: fc.constantFrom<Fault>('lost', 'dropped') },
  { weight: 1, arbitrary: fc.constantFrom<Fault>('crash', 'crashAfter') },
);
const step: fc.Arbitrary<Step> = fc.record({
  // Long paths make the journal overflow, the pieces many and the rewriting due.
  put: fc.uniqueArray(fc.record({ name, padding: fc.constantFrom(0, 10, 30_000, 90_000) }), {
    maxLength: 4,
    selector: (item) => item.name,
  }),
  drop: fc.uniqueArray(name, { maxLength: 2 }),
  faults: fc.array(fault, { minLength: 1, maxLength: 8 }),
  restart: fc.boolean(),
  ghost: fc.boolean(),
});

const MANY_RUNS = 100;

/**
 * Random saves, with requests that are lost and processes that end at any of them: what is found is always the state before
 * or after the last save, and after a save that succeeded it is the state after.
 */
export function inventoryHistories(title: string, runs: number, make: () => Promise<InventoryHome>): void {
  test(`${title}: random saves and crashes never leave a mixture`, async () => {
    const outcomes = { saved: 0, failed: 0, crashed: 0, fenced: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        await play(await make(), steps, outcomes);
      }),
      { numRuns: runs },
    );
    // Each of them has been seen, or this says nothing. The few runs on a real server need not see all of them.
    const least = runs >= MANY_RUNS ? 1 : 0;
    for (const count of Object.values(outcomes)) expect(count).toBeGreaterThanOrEqual(least);
    expect(outcomes.saved).toBeGreaterThan(0);
  });
}

async function play(
  home: InventoryHome,
  steps: readonly Step[],
  outcomes: { saved: number; failed: number; crashed: number; fenced: number },
): Promise<void> {
  let current: OpenedInventory | undefined;
  /** What the process goes on from. */
  let known: Content = { sequence: 0, records: new Map() };
  /** Contents that may be found: also those whose save was not acknowledged. */
  let possible: readonly Content[] = [known];
  for (const [index, { faults, restart, ghost, ...change }] of steps.entries()) {
    if (restart || current === undefined) {
      const before: OpenedInventory | undefined = current;
      current = open(home);
      await current.fence();
      known = contentOf(await current.load());
      expect(possible).toContainEqual(known);
      possible = [known];
      if (ghost && before !== undefined) {
        before.faults.fail(() => 'none');
        await expect(before.save({ state: stateAt(99), put: [record('ghost')], drop: [] })).rejects.toThrow('fenced');
        outcomes.fenced += 1;
      }
    }
    const next = after(known, index + 1, change);
    current.faults.fail((_, number) => faults[Math.min(number, faults.length - 1)] ?? 'none');
    const outcome = await current
      .save({ state: stateAt(index + 1), put: next.put, drop: change.drop.map(keyNamed) })
      .then(
        () => 'saved' as const,
        (error: unknown) => (isCrash(error) ? ('crashed' as const) : ('failed' as const)),
      );
    outcomes[outcome] += 1;
    if (outcome === 'saved') known = next.content;
    possible = outcome === 'saved' ? [known] : [...possible, next.content];
    expect(possible).toContainEqual(await found(home));
    // Also while it tidied up after a save that had succeeded.
    if (current.faults.crashed()) current = undefined;
  }
}

function contentOf(loaded: LoadedInventory): Content {
  if (loaded.type === 'missing') return { sequence: 0, records: new Map() };
  if (loaded.type === 'damaged') throw new Error(`damaged: ${loaded.message}`);
  return {
    sequence: loaded.state.position.sequence,
    records: new Map(loaded.records.map((item) => [item.key, item])),
  };
}

function after(known: Content, sequence: number, change: Pick<Step, 'put' | 'drop'>) {
  const records = new Map(known.records);
  const put = change.put
    .filter((item) => !change.drop.includes(item.name))
    .map((item) => record(item.name, { padding: item.padding, identity: `uid-${sequence}` }));
  for (const item of put) records.set(item.key, item);
  for (const item of change.drop) records.delete(keyNamed(item));
  return { put, content: { sequence, records } };
}

function isCrash(error: unknown): boolean {
  return error instanceof Crashed || (error instanceof Error && error.cause instanceof Crashed);
}
