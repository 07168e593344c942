import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { InventoryEntry } from '../../../../src/model/agent/agent.ts';
import { heldDigest, inventoryDigest } from '../../../../src/model/agent/inventory-digest.ts';
import { sha256, snapshotDigest } from '../../../../src/model/text/digest.ts';

const text = fc.constantFrom('a', 'b', 'a\n', '"', 'a","b', '\u0000');
const entry = fc.record({
  key: fc.constantFrom('/ConfigMap/web/a', '/ConfigMap/web/b'),
  digest: fc.constantFrom(sha256('1'), sha256('2')),
  phase: fc.constantFrom('held', 'removing'),
  origins: fc.array(fc.record({ source: text, path: text }), { maxLength: 2 }),
  scope: fc.array(text, { maxLength: 2 }),
  stopped: fc.boolean(),
  driftMode: fc.constantFrom('Repair', 'Report', undefined),
  attempt: fc.option(fc.integer({ min: 1, max: 2 ** 45 }), { nil: undefined }),
});
const inventory = fc
  .uniqueArray(entry, { maxLength: 2, selector: ({ key }) => key })
  .map((entries) => entries as unknown as readonly InventoryEntry[]);

test('two inventories have one digest exactly if their entries are equal, in any order', () => {
  fc.assert(
    fc.property(inventory, inventory, (a, b) => {
      const sorted = (entries: readonly InventoryEntry[]) =>
        entries.toSorted((one, other) => (one.key < other.key ? -1 : 1));
      const isSame = JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
      expect(inventoryDigest(a) === inventoryDigest(b)).toBe(isSame);
      expect(inventoryDigest(a.toReversed())).toBe(inventoryDigest(a));
    }),
    { numRuns: 1_000 },
  );
});

test('an entry that is not stopped equals one that says nothing of it', () => {
  const [one] = fc.sample(entry, { numRuns: 1, seed: 1 }) as unknown as InventoryEntry[];
  const { stopped: _, ...rest } = one as InventoryEntry;
  expect(inventoryDigest([rest])).toBe(inventoryDigest([{ ...rest, stopped: false } as unknown as InventoryEntry]));
});

test('what is being removed is no part of what is held', () => {
  const digest = sha256('1');
  const held = { key: 'a', digest, phase: 'held', origins: [], scope: [] } as unknown as InventoryEntry;
  expect(heldDigest([held, { ...held, key: 'b' as never, phase: 'removing' }])).toBe(snapshotDigest([['a', digest]]));
});
