import { parseSettings } from '../../model/agent-settings.ts';
import { parseDigest, parseFleetName } from '../../model/ids.ts';
import { compareText, type JsonObject, type JsonValue } from '../../model/json.ts';
import { errorText } from '../../model/messages.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { InventoryChange, InventoryRecord, LoadedInventory } from '../../ports/cluster-api.ts';
import { openRecordLog } from '../disk/record-log.ts';
import {
  asAdmitted,
  asInventoryRecord,
  asKeys,
  asList,
  asObject,
  asPosition,
  asRevisions,
  parsed,
} from '../disk/stored-json.ts';

const HEADER = { format: 'fleetrelay.dev/inventory', version: 1 };
/** The file is rewritten when it is this many times as long as after the last rewrite, and at least this long. */
const SLACK = 4;
const SMALLEST_REWRITE_BYTES = 256 * 1024;

/** The inventory file of a directory cluster. */
export interface InventoryFile {
  load(): LoadedInventory;
  save(change: InventoryChange): Promise<void>;
  close(): void;
}

/** Opens the inventory at this path; the first `save` creates the file. */
export function openInventory(path: string): InventoryFile {
  const { log, content } = openRecordLog(path);
  const records = new Map<ObjectKey, InventoryRecord>();
  const loaded = content.type === 'found' ? replay(content.records, records) : content;
  // Not the length of the file, with which it would grow at each restart.
  let lengthAtRewrite = JSON.stringify([...records.values()]).length;
  let started = loaded.type === 'found';

  return { load: () => loaded, save, close: () => log.close() };

  async function save(change: InventoryChange): Promise<void> {
    const tooLong = log.size() > Math.max(SMALLEST_REWRITE_BYTES, SLACK * lengthAtRewrite);
    if (started && !tooLong && log.isThere()) {
      await log.append(change);
    } else {
      const next = new Map(records);
      take(next, change.put, change.drop);
      const put = [...next.values()].sort((a, b) => compareText(a.key, b.key));
      await log.rewrite([HEADER, { state: change.state, put, drop: [] } satisfies InventoryChange]);
      lengthAtRewrite = log.size();
      started = true;
    }
    // In memory only after it is durable.
    take(records, change.put, change.drop);
  }
}

function replay(lines: readonly unknown[], records: Map<ObjectKey, InventoryRecord>): LoadedInventory {
  try {
    const [header, ...steps] = lines;
    const { format, version } = asObject(header);
    if (format !== HEADER.format || version !== HEADER.version) {
      return { type: 'damaged', message: 'it is of a format that this version does not know' };
    }
    let state: InventoryChange['state'] | undefined;
    for (const line of steps) {
      const step = asObject(line);
      state = asState(asObject(step.state));
      take(records, asList(step.put).map(asInventoryRecord), asKeys(step.drop));
    }
    if (records.size > 0 && state?.fleet === undefined) throw new Error('it does not say which fleet it is of');
    return state === undefined ? { type: 'missing' } : { type: 'found', state, records: [...records.values()] };
  } catch (error) {
    records.clear();
    return { type: 'damaged', message: errorText(error) };
  }
}

function asState(state: JsonObject): InventoryChange['state'] {
  return {
    position: asPosition(state.position),
    digest: parsed(parseDigest, state.digest),
    revisions: asRevisions(state.revisions),
    ...asAdmitted(state.admitted),
    fleet: state.fleet === undefined ? undefined : parsed(parseFleetName, state.fleet),
    ...settingsIn(state.settings),
  };
}

/** Invalid settings are ignored, so that the rest of the inventory stays valid: the server sends settings again. */
function settingsIn(settings: JsonValue | undefined): Pick<InventoryChange['state'], 'settings'> {
  if (settings === undefined) return {};
  const known = parseSettings(JSON.stringify(settings));
  return known.ok ? { settings: known.value } : {};
}

function take(
  records: Map<ObjectKey, InventoryRecord>,
  put: readonly InventoryRecord[],
  drop: readonly ObjectKey[],
): void {
  for (const record of put) records.set(record.key, record);
  for (const key of drop) records.delete(key);
}
