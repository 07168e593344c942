import { parseSettings } from '../../model/agent/agent-settings.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { compareText, type JsonValue } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import type { InventoryChange, InventoryRecord, InventoryState, LoadedInventory } from '../../ports/cluster-api.ts';
import { openRecordLog } from '../disk/record-log.ts';
import { asInventoryRecord, asInventoryState, asKeys, asList, asObject } from '../disk/stored-json.ts';

const FORMAT = 'fleetrelay.dev/inventory/v1';
const REWRITE_FROM_BYTES = 256 * 1024;

/** Opens the inventory of a directory cluster; the first `save` creates the file. */
export function openInventory(path: string) {
  const log = openRecordLog(path, FORMAT, REWRITE_FROM_BYTES);
  const records = new Map<ObjectKey, InventoryRecord>();
  const loaded = log.content.type === 'found' ? replay(log.content.records, records) : log.content;
  let isReadable = loaded.type === 'found';
  return {
    load: () => loaded,
    save: async (change: InventoryChange): Promise<void> => {
      const complete = (): InventoryChange => {
        const next = new Map(records);
        take(next, change);
        return { ...change, put: [...next.values()].sort((a, b) => compareText(a.key, b.key)), drop: [] };
      };
      await (isReadable ? log.append(change, complete) : log.rewrite(complete()));
      isReadable = true;
      // Changes the memory after the file is durable.
      take(records, change);
    },
    close: log.close,
  };
}

function replay(steps: readonly unknown[], records: Map<ObjectKey, InventoryRecord>): LoadedInventory {
  try {
    let state: InventoryState | undefined;
    for (const step of steps) {
      const { state: latest, put, drop } = asObject(step);
      state = { ...asInventoryState(latest), ...settingsIn(asObject(latest).settings) };
      take(records, { put: asList(put).map(asInventoryRecord), drop: asKeys(drop) });
    }
    if (records.size > 0 && state?.fleet === undefined) throw new Error('it does not say which fleet it is of');
    return state === undefined ? { type: 'missing' } : { type: 'found', state, records: [...records.values()] };
  } catch (error) {
    records.clear();
    return { type: 'damaged', message: errorText(error) };
  }
}

/** Ignores invalid settings, so that the rest of the inventory stays valid: the server sends settings again. */
function settingsIn(settings: JsonValue | undefined): Pick<InventoryState, 'settings'> {
  const known = settings === undefined ? undefined : parseSettings(JSON.stringify(settings));
  return known?.ok === true ? { settings: known.value } : {};
}

function take(records: Map<ObjectKey, InventoryRecord>, { put, drop }: Pick<InventoryChange, 'put' | 'drop'>): void {
  for (const record of put) records.set(record.key, record);
  for (const key of drop) records.delete(key);
}
