import { parseSettings } from '../../../model/agent/agent-settings.ts';
import { type Digest, parseDigest, quote } from '../../../model/fleet/ids.ts';
import type { ObjectKey } from '../../../model/objects/object-key.ts';
import { sha256 } from '../../../model/text/digest.ts';
import { canonicalJson, compareText, type JsonObject, type JsonValue, textOf } from '../../../model/text/json.ts';
import { errorText } from '../../../model/text/messages.ts';
import type { InventoryChange, InventoryRecord, InventoryState } from '../../../ports/cluster-api.ts';
import {
  asCount,
  asInventoryRecord,
  asInventoryState,
  asKeys,
  asList,
  asObject,
  asText,
  parsed,
} from '../../disk/stored-json.ts';

/** The process that writes the inventory. `write` grows with each write, so equal holders are the same head. */
export interface Holder {
  readonly identity: string;
  /** Grows with each process that takes the inventory over. */
  readonly term: number;
  readonly write: number;
}

/** A piece of the inventory that the head names. */
export interface PieceRef {
  readonly name: string;
  readonly sha256: Digest;
  /** Length of its text. */
  readonly bytes: number;
}

/** The content of the head beside its holder: pieces in their order, then the journal. Later lines replace earlier ones. */
export interface HeadContent {
  /** Absent: nothing was saved yet. */
  readonly state?: InventoryState;
  readonly pieces: readonly PieceRef[];
  /** Lines, each with its line end. */
  readonly journal: string;
}

/** The objects of an inventory. */
export type Records = Map<ObjectKey, InventoryRecord>;

export const EMPTY_HEAD: HeadContent = { pieces: [], journal: '' };

const FORMAT = 'fleetrelay.dev/inventory/v1';

/** The `data` of the head. */
export function renderHead({ state, pieces, journal }: HeadContent, holder: Holder): JsonObject {
  const content = {
    format: FORMAT,
    ...(state === undefined ? {} : { state: canonical(state) }),
    pieces: canonical(pieces),
    journal,
  };
  return withHolder({ ...content, sha256: sha256(canonical(content)) }, holder);
}

/** The `data` of a head with another holder. The content stays, damaged or not. */
export function withHolder(data: JsonObject, holder: Holder): JsonObject {
  return { ...data, holder: JSON.stringify(holder) };
}

/** Undefined: there is none, or it cannot be read. */
export function readHolder({ holder }: JsonObject): Holder | undefined {
  try {
    const { identity, term, write } = asObject(JSON.parse(asText(holder)));
    return { identity: asText(identity), term: asCount(term), write: asCount(write) };
  } catch {
    return undefined;
  }
}

/** Reads the `data` of a head. A head that has only a holder is empty. */
export function readHead(
  data: JsonObject,
): { readonly type: 'read'; readonly content: HeadContent } | { readonly type: 'damaged'; readonly message: string } {
  const { holder: _, sha256: check, ...content } = data;
  if (check === undefined && Object.keys(content).length === 0) return { type: 'read', content: EMPTY_HEAD };
  try {
    if (data.format !== FORMAT) {
      throw new Error(`it is of the format ${quote(textOf(data.format))}, which this version does not know`);
    }
    if (check !== sha256(canonical(content))) throw new Error('its content was changed by hand: the checksum differs');
    const { state, pieces, journal } = content;
    return {
      type: 'read',
      content: {
        ...(state === undefined ? {} : { state: readState(JSON.parse(asText(state))) }),
        pieces: asList(JSON.parse(asText(pieces))).map(readPiece),
        journal: asText(journal),
      },
    };
  } catch (error) {
    return { type: 'damaged', message: errorText(error) };
  }
}

function readPiece(value: JsonValue): PieceRef {
  const { name, sha256: digest, bytes } = asObject(value);
  return { name: asText(name), sha256: parsed(parseDigest, digest), bytes: asCount(bytes) };
}

/** Ignores invalid settings, so that the rest of the inventory stays valid: the server sends settings again. */
function readState(value: unknown): InventoryState {
  const { settings } = asObject(value);
  const read = settings === undefined ? undefined : parseSettings(JSON.stringify(settings));
  return { ...asInventoryState(value), ...(read?.ok === true ? { settings: read.value } : {}) };
}

type Step = Pick<InventoryChange, 'put' | 'drop'>;

/** The line of a step. */
export function lineOf({ put, drop }: Step): string {
  return `${canonical({ put: put.toSorted((a, b) => compareText(a.key, b.key)), drop })}\n`;
}

/** The objects after all steps of a text. Throws on a line that is no step. */
export function readLines(text: string): Records {
  const records: Records = new Map();
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const { put, drop } = asObject(JSON.parse(line));
    takeStep(records, { put: asList(put).map(asInventoryRecord), drop: asKeys(drop) });
  }
  return records;
}

export function takeStep(records: Records, { put, drop }: Step): void {
  for (const record of put) records.set(record.key, record);
  for (const key of drop) records.delete(key);
}

function canonical(value: object): string {
  return canonicalJson(value as JsonValue);
}
