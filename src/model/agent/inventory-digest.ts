import type { Digest } from '../fleet/ids.ts';
import { snapshotDigest } from '../text/digest.ts';
import type { InventoryEntry } from './agent.ts';

/**
 * The digest of an inventory with all that an entry says: phase, origins, scope, `stopped`, `attempt`, `driftMode` and `lost` too. Two inventories
 * of the same digest have the same entries. Part of the protocol: it never changes.
 */
export function inventoryDigest(entries: Iterable<InventoryEntry>): Digest {
  return snapshotDigest(Array.from(entries, (entry) => [entry.key, textOf(entry)] as const));
}

/** JSON escapes line feeds. */
function textOf({ digest, phase, origins, scope, stopped, attempt, driftMode, lost }: InventoryEntry): string {
  const said = [digest, phase, origins.map(({ source, path }) => [source, path]), scope, stopped === true];
  const marks = [attempt, driftMode, lost === true ? 'lost' : undefined].filter((mark) => mark !== undefined);
  return JSON.stringify([...said, ...marks]);
}

/** The digest of the objects that an inventory owns: without those that are being removed. */
export function heldDigest(entries: Iterable<InventoryEntry>): Digest {
  const held: [string, Digest][] = [];
  for (const { key, digest, phase } of entries) if (phase === 'held') held.push([key, digest]);
  return snapshotDigest(held);
}
