import type { ObjectKey } from '../../model/objects/object-key.ts';
import { objectDigest } from '../../model/text/digest.ts';
import type { AgentDisk, StoredObject, StoredOutput } from '../../ports/agent-disk.ts';
import type { InventoryRecord, LiveState, LoadedInventory, ObservedObject } from '../../ports/cluster-api.ts';
import type { Log } from '../../ports/log.ts';
import { contentsOf, EMPTY_INVENTORY, type Inventory, recordsOf } from './inventory.ts';

/** The state that an agent starts from. */
export interface Recovered {
  readonly inventory: Inventory;
  /**
   * The contents match the inventory, so drift correction may begin at once. Otherwise the agent waits for the server, and
   * writes nothing of this before: the next start would trust it without proof.
   */
  readonly trusted: boolean;
}

/**
 * Recovers the inventory of the cluster, with the contents on the disk if the two match. If they do not match, the stored output is
 * ignored and contents are taken from live objects that are as declared. The other contents are lost, and the server sends them again.
 * The inventory stays as its tag proves it.
 *
 * A missing or damaged inventory is rebuilt from the stamps on live objects. A stamp proves no ownership, so the server sends all
 * contents, and an object is owned again if its stamp has the digest of the content that arrives.
 */
export async function recover(
  { disk, log }: { readonly disk: AgentDisk; readonly log: Log },
  loaded: LoadedInventory,
  live: LiveState,
): Promise<Recovered> {
  if (loaded.type !== 'found') {
    if (loaded.type === 'damaged') log.error('the inventory is damaged and is ignored', { reason: loaded.message });
    return rebuildFromStamps(log, live);
  }
  const records = recordsOf([...loaded.records, ...(loaded.statuses ?? [])]);
  const stored = await disk.load(loaded.state.position);
  const inventory: Inventory = { state: loaded.state, records, contents: contentsOf(stored?.objects ?? []) };
  if (matches(inventory, stored)) return { inventory, trusted: true };
  const why =
    stored === undefined
      ? 'the disk lacks the output snapshot of the inventory'
      : 'the stored output snapshot does not match the inventory and is ignored';
  log.warn(`${why}; drift is not corrected before the server connects`, { objects: records.size });
  return { inventory: withLiveContents(inventory, live), trusted: false };
}

/** A stored output of the same digest lacks a content only if no server has sent it again since it was lost. */
function matches({ state, records }: Inventory, stored: StoredOutput | undefined): boolean {
  return records.size === 0 || stored?.digest === state.digest;
}

/** Takes the contents from live objects that carry our stamp and have the digest of their record. */
function withLiveContents({ state, records }: Inventory, live: LiveState): Inventory {
  const contents: [ObjectKey, StoredObject][] = [];
  for (const [key, { digest, nonce }] of records) {
    const observed = live.objects.get(key);
    const isOwned =
      observed?.stamp !== undefined &&
      observed.stamp.fleet === state.fleet &&
      observed.stamp.key === key &&
      observed.stamp.nonce === nonce &&
      observed.stale !== true;
    const content = observed === undefined || !isOwned ? undefined : declaredContent(observed);
    if (content?.digest === digest) contents.push([key, content]);
  }
  return { state, records, contents: contentsOf(contents) };
}

function rebuildFromStamps(log: Log, live: LiveState): Recovered {
  const owned = [...live.objects.values()].filter(({ key, stamp, stale }) => stamp?.key === key && stale !== true);
  const fleets = [...new Set(owned.flatMap(({ stamp }) => stamp?.fleet ?? []))];
  const [fleet] = fleets;
  // Only the server knows which fleet the cluster belongs to; without it no object is owned.
  if (fleets.length > 1)
    log.error('the inventory is lost and live objects carry the stamps of several fleets', { fleets });
  if (fleet === undefined || fleets.length > 1) return { inventory: EMPTY_INVENTORY, trusted: true };
  const entries = owned.flatMap(({ key, stamp, value, declared }): InventoryRecord[] => {
    if (stamp === undefined) return [];
    const { nonce, origins, scope } = stamp;
    return [{ key, digest: declared ?? objectDigest(value), phase: 'held', origins, scope, nonce, rebuilt: true }];
  });
  log.warn(
    'the inventory is rebuilt from the stamps on live objects; drift is not corrected before the server connects',
    { objects: entries.length },
  );
  const records = recordsOf(entries);
  const state = { ...EMPTY_INVENTORY.state, digest: records.digest(), fleet };
  return { inventory: { ...EMPTY_INVENTORY, state, records }, trusted: false };
}

/**
 * The declared content of a live object; undefined if the object differs from it. An API server adds defaults, and an
 * observed Secret has no values: applying such a content would take fields from other managers and empty the Secret.
 */
function declaredContent({ value, declared }: ObservedObject): StoredObject | undefined {
  const digest = objectDigest(value);
  return declared === undefined || declared === digest ? { digest, value } : undefined;
}
