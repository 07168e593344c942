import { objectDigest } from '../../model/digest.ts';
import { parseDigest } from '../../model/ids.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import { must } from '../../model/result.ts';
import type { AgentDisk, StoredObject, StoredOutput } from '../../ports/agent-disk.ts';
import type { InventoryRecord, LiveState, LoadedInventory, ObservedObject } from '../../ports/cluster-api.ts';
import type { Log } from '../../ports/log.ts';
import { contentOf, digestOf, EMPTY_HOLDING, type Holding } from './holding.ts';

/** What an agent starts from. */
export interface Recovered {
  readonly holding: Holding;
  /**
   * The contents are those of the inventory: repairing may begin at once. Otherwise the server must speak first, and
   * nothing of this is written before: what is found without proof must not be taken for an order by the next start.
   */
  readonly trusted: boolean;
}

/** Of an object whose content is not known: no content has it, so the server sends the object again. */
const UNKNOWN_DIGEST = must(parseDigest('0'.repeat(64)));

/**
 * Finds out what this cluster's agent held: from the inventory in the cluster, with contents from the disk if the two
 * agree. Where they do not, the stored output is ignored and contents are taken from live objects, where these say them
 * whole; what is left gets a digest that nothing has, so that the server sends it again. Without an inventory, live objects
 * with our stamp are entered again.
 */
export async function recover(
  { disk, log }: { readonly disk: AgentDisk; readonly log: Log },
  inventory: LoadedInventory,
  live: LiveState,
): Promise<Recovered> {
  if (inventory.type !== 'found') {
    if (inventory.type === 'damaged')
      log.error('the inventory is damaged and is ignored', { reason: inventory.message });
    return restoreFromStamps(log, live);
  }
  const records = new Map(inventory.records.map((record) => [record.key, record]));
  const stored = await disk.load(inventory.state.position);
  const held: Holding = { state: inventory.state, records, contents: stored?.objects ?? new Map() };
  if (agrees(held, stored)) return { holding: held, trusted: true };
  const why =
    stored === undefined
      ? 'the disk does not have what the inventory names'
      : 'the stored output snapshot does not agree with the inventory and is ignored';
  log.warn(`${why}; nothing is put back before the server was heard`, { objects: records.size });
  return { holding: restoreContents(held, live), trusted: false };
}

function agrees(held: Holding, stored: StoredOutput | undefined): boolean {
  if (held.records.size === 0) return true;
  if (stored === undefined || stored.digest !== held.state.digest) return false;
  for (const { key, phase } of held.records.values()) {
    if (phase === 'held' && contentOf(held, key) === undefined) return false;
  }
  return true;
}

function restoreContents({ state, records }: Holding, live: LiveState): Holding {
  const contents = new Map<ObjectKey, StoredObject>();
  const truth = new Map<ObjectKey, InventoryRecord>();
  for (const [key, record] of records) {
    const observed = live.objects.get(key);
    const ours =
      observed?.stamp !== undefined &&
      observed.stamp.fleet === state.fleet &&
      observed.stamp.key === key &&
      observed.stale !== true;
    const content = observed === undefined || !ours ? undefined : declaredContent(observed);
    truth.set(key, { ...record, digest: content?.digest ?? UNKNOWN_DIGEST });
    if (content !== undefined) contents.set(key, content);
  }
  return { state: { ...state, digest: digestOf(truth.values()) }, records: truth, contents };
}

function restoreFromStamps(log: Log, live: LiveState): Recovered {
  const ours = [...live.objects.values()].filter(({ key, stamp, stale }) => stamp?.key === key && stale !== true);
  const fleets = [...new Set(ours.flatMap(({ stamp }) => stamp?.fleet ?? []))];
  const [fleet] = fleets;
  if (fleet === undefined) return { holding: EMPTY_HOLDING, trusted: true };
  if (fleets.length > 1) {
    // Which of them this cluster belongs to only a server can say; until then nothing in it is ours.
    log.error('the inventory is lost and live objects carry the stamps of several fleets', { fleets });
    return { holding: EMPTY_HOLDING, trusted: true };
  }
  const records = new Map<ObjectKey, InventoryRecord>();
  const contents = new Map<ObjectKey, StoredObject>();
  for (const observed of ours) {
    const { key, stamp } = observed;
    if (stamp === undefined) continue;
    const content = declaredContent(observed);
    const digest = content?.digest ?? UNKNOWN_DIGEST;
    records.set(key, { key, digest, phase: 'held', origins: stamp.origins, scope: stamp.scope });
    if (content !== undefined) contents.set(key, content);
  }
  log.warn(
    'objects with our stamp are entered into the inventory again; nothing is put back before the server was heard',
    { objects: records.size },
  );
  const state = { ...EMPTY_HOLDING.state, digest: digestOf(records.values()), fleet };
  return { holding: { state, records, contents }, trusted: false };
}

/**
 * What a live object says of what was declared; undefined if it does not say it whole. To apply what an API server has made
 * of it would take fields from others, and empty Secrets, whose values are not kept.
 */
function declaredContent({ value, declared }: ObservedObject): StoredObject | undefined {
  const digest = objectDigest(value);
  return declared === undefined || declared === digest ? { digest, value } : undefined;
}
