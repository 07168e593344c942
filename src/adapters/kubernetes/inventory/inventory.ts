import { sha256 } from '../../../model/text/digest.ts';
import { errorText } from '../../../model/text/messages.ts';
import { createTurns } from '../../../model/values/in-turn.ts';
import { type InventoryChange, type LoadedInventory, loadedRecords } from '../../../ports/cluster-api.ts';
import type { Log } from '../../../ports/log.ts';
import type { FollowerDeps } from '../api/types.ts';
import {
  EMPTY_HEAD,
  type HeadContent,
  lineOf,
  type PieceRef,
  type Records,
  readHead,
  readLines,
  takeStep,
} from './head.ts';
import { createHeadWriter, type HeadWriter, Overtaken } from './head-writer.ts';
import { HEAD_NAME, listPieces, readPiece, removePiece, writePieces } from './pieces.ts';
import { type Requests, startRequests } from './requests.ts';

export interface InventoryOptions {
  /** The agent's own namespace. */
  readonly namespace: string;
  /** Name of this process, for people who look into the head. */
  readonly holder?: string;
  /** Whether a request may be sent at this moment. Default: always. */
  readonly mayWrite?: () => boolean;
  /** Called once, when another process has taken the inventory over. */
  readonly overtaken?: () => void;
}

/**
 * The inventory of a cluster, in ConfigMaps of the agent's namespace: the head `fleetrelay-inventory`, whose replacement
 * is the atomic step, and immutable pieces that it names with their checksums.
 */
export interface KubernetesInventory {
  /**
   * Must precede the first save: from then on every save of an earlier process fails. Rejects if the cluster does not answer,
   * or the namespace does not exist.
   */
  fence(): Promise<void>;
  /** Reads the inventory. Rejects if the cluster does not answer; that is neither missing nor damaged. */
  load(): Promise<LoadedInventory>;
  /**
   * Durable, completely or not at all, when it resolves. Waits up to 20 s for the API server. When it rejects, it may have
   * been saved all the same; the next save begins with the content before.
   */
  save(change: InventoryChange): Promise<void>;
}

/** A journal of at most this many bytes stays in the head; a longer one becomes a piece. */
const JOURNAL_BYTES = 64 * 1024;
/** All pieces are rewritten when they are this many times as long as after the last rewrite, and have at least this length. */
const SLACK = 2;
const SMALLEST_REWRITE_BYTES = 256 * 1024;

/** Opens the inventory; no request is sent before the first call. Calls run one after the other. */
export function openInventory(deps: FollowerDeps, options: InventoryOptions): KubernetesInventory {
  const { namespace, mayWrite = () => true } = options;
  const identity = `${options.holder ?? 'agent'}/${deps.random.id().slice(0, 8)}`;
  const state: State = {
    log: deps.log,
    namespace,
    head: createHeadWriter({ namespace, identity, overtaken: () => options.overtaken?.() }),
    records: new Map(),
    content: EMPTY_HEAD,
    isLoaded: false,
    bytesAtRewrite: 0,
    hasGarbage: true,
    isUncertain: false,
    saves: 0,
  };
  const inTurn = createTurns();
  return {
    fence: () => work('taken over', (requests) => state.head.take(requests)),
    load: () => work('read', (requests) => load(state, requests)),
    save: (change) => work('saved', (requests) => save(state, requests, change)),
  };

  function work<Value>(what: string, run: (requests: Requests) => Promise<Value>): Promise<Value> {
    return inTurn(() => run(startRequests(deps, checkLeading))).catch((error: unknown) => {
      if (error instanceof Overtaken) throw error;
      const message = `the inventory in namespace ${namespace} could not be ${what}: ${errorText(error)}`;
      throw new Error(message, { cause: error });
    });
  }

  function checkLeading(): void {
    const refusal = state.head.refusal();
    if (refusal !== undefined) throw refusal;
    if (!mayWrite()) throw new Error('this replica does not lead any more');
  }
}

interface State {
  readonly log: Log;
  readonly namespace: string;
  readonly head: HeadWriter;
  records: Records;
  content: HeadContent;
  isLoaded: boolean;
  bytesAtRewrite: number;
  /** There may be pieces that the head does not name. */
  hasGarbage: boolean;
  /** A write of the head has failed. It can still take effect until another write succeeds. */
  isUncertain: boolean;
  /** Number of saves, in the names of pieces: no two saves write pieces of the same name. */
  saves: number;
}

async function load(state: State, requests: Requests): Promise<LoadedInventory> {
  const found = await readAll(state, requests);
  state.isLoaded = true;
  state.content = found.type === 'read' ? found.content : EMPTY_HEAD;
  state.records = found.type === 'read' ? found.records : new Map();
  if (found.type === 'damaged') return found;
  const records = [...state.records.values()];
  state.bytesAtRewrite = Buffer.byteLength(lineOf({ put: records, drop: [] }));
  if (!state.isUncertain) await removeGarbage(state, requests);
  return found.content.state === undefined
    ? { type: 'missing' }
    : { type: 'found', state: found.content.state, ...loadedRecords(records) };
}

type ReadInventory =
  | { readonly type: 'read'; readonly content: HeadContent; readonly records: Records }
  | { readonly type: 'damaged'; readonly message: string };

/** A reader that has not fenced can read pieces that a save removes meanwhile. Then the head has changed: it reads again. */
async function readAll({ head, namespace }: State, requests: Requests): Promise<ReadInventory> {
  let data = (await head.read(requests)) ?? {};
  for (;;) {
    const read = readHead(data);
    if (read.type === 'damaged') return read;
    const records = await readRecords(requests, namespace, read.content);
    if (typeof records !== 'string') return { type: 'read', content: read.content, records };
    const now = (await head.read(requests)) ?? {};
    if (now.holder === data.holder) return { type: 'damaged', message: records };
    data = now;
  }
}

/** Resolves with a message if the pieces are damaged. */
async function readRecords(
  requests: Requests,
  namespace: string,
  { pieces, journal, state }: HeadContent,
): Promise<Records | string> {
  const texts: string[] = [];
  for (const { name, sha256: expected } of pieces) {
    const text = await readPiece(requests, namespace, name);
    if (text === undefined) return `the ConfigMap ${name} is not there`;
    if (sha256(text) !== expected) return `the ConfigMap ${name} is not what was written: its checksum differs`;
    texts.push(text);
  }
  try {
    const records = readLines([...texts, journal].join(''));
    return records.size > 0 && state?.fleet === undefined ? 'it names no fleet' : records;
  } catch (error) {
    return errorText(error);
  }
}

async function save(state: State, requests: Requests, change: InventoryChange): Promise<void> {
  if (!state.isLoaded || state.head.holder() === undefined) {
    throw new Error('it can be saved only after it was taken over and read');
  }
  state.saves += 1;
  try {
    const { next, isRewritten } = await prepare(state, requests, change);
    await state.head.write(requests, next);
    state.content = next;
    takeStep(state.records, change);
    if (isRewritten) state.bytesAtRewrite = bytesOf(next.pieces);
    state.hasGarbage ||= isRewritten;
    state.isUncertain = false;
  } catch (error) {
    state.hasGarbage = true;
    state.isUncertain = true;
    throw error;
  }
  // Not earlier: a head of unknown outcome can name the pieces until the head was written again.
  if (state.hasGarbage) await removeGarbage(state, requests);
}

/** The head after the change. Content that is too long for the head is written as pieces before. */
async function prepare(
  { namespace, head, records, content, bytesAtRewrite, saves }: State,
  requests: Requests,
  { state, put, drop }: InventoryChange,
): Promise<{ readonly next: HeadContent; readonly isRewritten: boolean }> {
  const { pieces } = content;
  const journal = content.journal + lineOf({ put, drop });
  const length = Buffer.byteLength(journal);
  if (length <= JOURNAL_BYTES) return { next: { state, pieces, journal }, isRewritten: false };
  const prefix = `${HEAD_NAME}-${head.holder()?.term ?? 0}-${saves}`;
  if (bytesOf(pieces) + length <= Math.max(SMALLEST_REWRITE_BYTES, SLACK * bytesAtRewrite)) {
    const added = await writePieces(requests, namespace, prefix, journal);
    return { next: { state, pieces: [...pieces, ...added], journal: '' }, isRewritten: false };
  }
  const all = new Map(records);
  takeStep(all, { put, drop });
  const complete = lineOf({ put: [...all.values()], drop: [] });
  const written = await writePieces(requests, namespace, prefix, complete);
  return { next: { state, pieces: written, journal: '' }, isRewritten: true };
}

/** Removes pieces that the head does not name, except pieces of later processes. A failure does not affect the inventory. */
async function removeGarbage(state: State, requests: Requests): Promise<void> {
  const { head, content, namespace, log } = state;
  const holder = head.holder();
  if (holder === undefined) return;
  const named = new Set(content.pieces.map(({ name }) => name));
  try {
    for (const piece of await listPieces(requests, namespace)) {
      if (!named.has(piece.name) && piece.term <= holder.term) await removePiece(requests, namespace, piece);
    }
  } catch (error) {
    const reason = errorText(error);
    log.warn('unused pieces of the inventory could not be removed', { namespace, reason });
  }
  state.hasGarbage = false;
}

function bytesOf(pieces: readonly PieceRef[]): number {
  return pieces.reduce((sum, { bytes }) => sum + bytes, 0);
}
