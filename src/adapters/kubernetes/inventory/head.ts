import { parseSettings, settingsText } from '../../../model/agent-settings.ts';
import { sha256 } from '../../../model/digest.ts';
import { type Digest, parseDigest, quote } from '../../../model/ids.ts';
import { canonicalJson, type JsonObject, type JsonValue, objectOf, textOf } from '../../../model/json.ts';
import { errorText } from '../../../model/messages.ts';
import type { InventoryState } from '../../../ports/cluster-api.ts';
import { asCount, asInventoryState, asObject, asText, parsed } from '../../disk/stored-json.ts';

/** Who writes the inventory now. `write` grows with each write of the head: two heads with one holder are one head. */
export interface Holder {
  readonly identity: string;
  /** Grows with each process that takes the inventory over. */
  readonly term: number;
  readonly write: number;
}

/** A piece of the inventory that the head counts on. */
export interface PieceRef {
  readonly name: string;
  readonly sha256: Digest;
  /** Of its text. */
  readonly bytes: number;
}

/** What the head says beside its holder. Pieces in order, then the journal: what comes later wins. */
export interface HeadContent {
  /** Absent: nothing was ever saved. */
  readonly state?: InventoryState;
  readonly pieces: readonly PieceRef[];
  /** Lines, each with its end. */
  readonly journal: string;
}

export const EMPTY_HEAD: HeadContent = { pieces: [], journal: '' };

const FORMAT = 'fleetrelay.dev/inventory/v1';

/** The `data` of the head. */
export function renderHead({ state, pieces, journal }: HeadContent, holder: Holder): JsonObject {
  const content = {
    format: FORMAT,
    ...(state === undefined ? {} : renderState(state)),
    pieces: pieces.map((piece) => JSON.stringify(piece)).join('\n'),
    journal,
  };
  return { ...content, holder: JSON.stringify(holder), sha256: checkOf(content) };
}

/** The holder alone is exchanged; the rest stays as it is, damaged or not. */
export function withHolder(data: JsonObject, holder: Holder): JsonObject {
  return { ...data, holder: JSON.stringify(holder) };
}

/** Undefined if it says none that can be read. */
export function readHolder({ holder }: JsonObject): Holder | undefined {
  try {
    const { identity, term, write } = asObject(JSON.parse(asText(holder)));
    return { identity: asText(identity), term: asCount(term), write: asCount(write) };
  } catch {
    return undefined;
  }
}

/** Is it what we wrote, and not only its holder? A head that nobody has written content to yet is so as well. */
export function isSound(data: JsonObject): boolean {
  const { holder: _, sha256: check, ...content } = data;
  return Object.keys(content).length === 0 || check === checkOf(content);
}

/** Reads the `data` of a head. */
export function readHead(
  data: JsonObject,
): { readonly type: 'read'; readonly content: HeadContent } | { readonly type: 'damaged'; readonly message: string } {
  const { holder: _, ...written } = data;
  if (Object.keys(written).length === 0) return { type: 'read', content: EMPTY_HEAD };
  if (data.format !== FORMAT) {
    const format = quote(textOf(data.format));
    return { type: 'damaged', message: `it is of the format ${format}, which this version does not know` };
  }
  if (!isSound(data)) return { type: 'damaged', message: 'its content was changed by hand: the checksum differs' };
  try {
    return { type: 'read', content: readContent(data) };
  } catch (error) {
    return { type: 'damaged', message: errorText(error) };
  }
}

function checkOf(content: JsonObject): Digest {
  return sha256(canonicalJson(content));
}

function renderState({ settings, ...state }: InventoryState): JsonObject {
  const { position, digest, revisions, fleet, admitted } = state;
  return {
    state: canonicalJson({
      position: { epoch: position.epoch, sequence: position.sequence },
      digest,
      revisions: revisions.map(({ source, revision }) => ({ source, revision })),
      fleet,
      ...(admitted === undefined ? {} : { admitted: { epoch: admitted.epoch, sequence: admitted.sequence } }),
    }),
    ...(settings === undefined ? {} : { settings: settingsText(settings) }),
  };
}

function readContent(data: JsonObject): HeadContent {
  const pieces = asText(data.pieces)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => readPiece(JSON.parse(line)));
  const journal = asText(data.journal);
  if (data.state === undefined) return { pieces, journal };
  const state = { ...asInventoryState(JSON.parse(asText(data.state))), ...readSettings(data.settings) };
  return { state, pieces, journal };
}

function readPiece(value: JsonValue): PieceRef {
  const { name, sha256: digest, bytes } = asObject(value);
  return { name: asText(name), sha256: parsed(parseDigest, digest), bytes: asCount(bytes) };
}

/** What cannot be read of them is left out: the server says them again, and nothing else may be lost over it. */
function readSettings(text: JsonValue | undefined): Pick<InventoryState, 'settings'> {
  if (typeof text !== 'string') return {};
  const settings = parseSettings(text);
  return settings.ok ? { settings: settings.value } : {};
}

/** The `data` of a ConfigMap; empty if it has none. */
export function dataOf(object: JsonObject): JsonObject {
  return objectOf(object.data);
}
