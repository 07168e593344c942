import { sha256 } from '../../../model/digest.ts';
import { createTurns } from '../../../model/in-turn.ts';
import { errorText } from '../../../model/messages.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { InventoryChange, LoadedInventory } from '../../../ports/cluster-api.ts';
import type { Log } from '../../../ports/log.ts';
import type { Random } from '../../../ports/random.ts';
import type { KubeClient } from '../api/types.ts';
import { type Asking, startAsking } from './ask.ts';
import { EMPTY_HEAD, type HeadContent, type PieceRef, readHead } from './head.ts';
import { createHeadWriter, type HeadWriter, Overtaken } from './head-writer.ts';
import { listPieces, readPiece, removePiece, writePieces } from './pieces.ts';
import { changeLines, type Records, readLines } from './records.ts';

export interface InventoryDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface InventoryOptions {
  /** The agent's own namespace. */
  readonly namespace: string;
  /** Who this process is, for people who look into the head. */
  readonly holder?: string;
  /** May a request be sent at this moment? Default: always. */
  readonly mayWrite?: () => boolean;
  /** Called once, when it turns out that another process has taken the inventory over. */
  readonly overtaken?: () => void;
}

/**
 * The inventory of a cluster, in ConfigMaps of the agent's namespace: the head `fleetrelay-inventory`, whose replacement
 * is the one atomic step, and immutable pieces that it names with their checksums.
 */
export interface KubernetesInventory {
  /**
   * Comes before anything else of a process that is going to save: from then on every save of an earlier process fails.
   * Rejects if the cluster cannot be asked, or the namespace is not there.
   */
  fence(): Promise<void>;
  /** Reads it. Rejects if the cluster cannot be asked, which is neither missing nor damaged. */
  load(): Promise<LoadedInventory>;
  /**
   * Durable, whole or not at all, when it resolves. Trouble of the API server is waited for, 20 s at most. When it
   * rejects, it may have happened all the same; the next save goes on from what was there before it.
   */
  save(change: InventoryChange): Promise<void>;
}

/** Changes of this many bytes are kept in the head; more become a piece. */
const JOURNAL_BYTES = 64 * 1024;
/** All is written anew when the pieces are this many times as long as what they say, and this long at least. */
const SLACK = 2;
const SMALLEST_REWRITE_BYTES = 256 * 1024;

/** Opens the inventory; nothing is asked before the first call. Calls run one after the other. */
export function openInventory(deps: InventoryDeps, options: InventoryOptions): KubernetesInventory {
  const { namespace, mayWrite = () => true } = options;
  const identity = `${options.holder ?? 'agent'}/${deps.random.id().slice(0, 8)}`;
  const state: State = {
    log: deps.log,
    namespace,
    head: createHeadWriter({ namespace, identity, overtaken: () => options.overtaken?.() }),
    records: new Map(),
    content: EMPTY_HEAD,
    loaded: false,
    bytesAtRewrite: 0,
    litter: true,
    uncertain: false,
    attempts: 0,
  };
  const inTurn = createTurns();
  return {
    fence: () => work('taken over', (asking) => state.head.take(asking)),
    load: () => work('read', (asking) => load(state, asking)),
    save: (change) => work('saved', (asking) => save(state, asking, change)),
  };

  function work<Value>(what: string, run: (asking: Asking) => Promise<Value>): Promise<Value> {
    return inTurn(() => run(startAsking(deps, checkLeading))).catch((error: unknown) => {
      if (error instanceof Overtaken) throw error;
      throw new Error(`the inventory in namespace ${namespace} could not be ${what}: ${errorText(error)}`, {
        cause: error,
      });
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
  loaded: boolean;
  bytesAtRewrite: number;
  /** There may be pieces that nobody counts on. */
  litter: boolean;
  /** A write of the head has failed: it may still take effect, until another one has. */
  uncertain: boolean;
  /** How often a save was begun: no two of them write pieces of one name. */
  attempts: number;
}

async function load(state: State, asking: Asking): Promise<LoadedInventory> {
  const found = await readAll(state, asking);
  state.loaded = true;
  state.content = found.type === 'read' ? found.content : EMPTY_HEAD;
  state.records = found.type === 'read' ? found.records : new Map();
  if (found.type === 'damaged') return found;
  state.bytesAtRewrite = Buffer.byteLength(changeLines({ put: state.records.values(), drop: [] }));
  if (!state.uncertain) await sweep(state, asking);
  const { state: said } = state.content;
  return said === undefined
    ? { type: 'missing' }
    : { type: 'found', state: said, records: [...state.records.values()] };
}

type ReadInventory =
  | { readonly type: 'read'; readonly content: HeadContent; readonly records: Records }
  | { readonly type: 'damaged'; readonly message: string };

/** A reader that has not fenced may be overtaken by whoever saves meanwhile: it looks again. */
async function readAll({ head, namespace }: State, asking: Asking): Promise<ReadInventory> {
  let data = (await head.read(asking)) ?? {};
  for (;;) {
    const read = readHead(data);
    if (read.type === 'damaged') return read;
    const records = await readRecords(asking, namespace, read.content);
    if (typeof records !== 'string') return { type: 'read', content: read.content, records };
    const now = (await head.read(asking)) ?? {};
    if (now.holder === data.holder) return { type: 'damaged', message: records };
    data = now;
  }
}

/** Resolves with what is wrong with them, if something is. */
async function readRecords(asking: Asking, namespace: string, content: HeadContent): Promise<Records | string> {
  const texts: string[] = [];
  for (const { name, sha256: expected } of content.pieces) {
    const text = await readPiece(asking, namespace, name);
    if (text === undefined) return `the ConfigMap ${name} is not there`;
    if (sha256(text) !== expected) return `the ConfigMap ${name} is not what was written: its checksum differs`;
    texts.push(text);
  }
  try {
    const records = readLines([...texts, content.journal].join(''));
    if (records.size > 0 && content.state?.fleet === undefined) return 'it does not say which fleet it is of';
    return records;
  } catch (error) {
    return errorText(error);
  }
}

async function save(state: State, asking: Asking, change: InventoryChange): Promise<void> {
  if (!state.loaded || state.head.holder() === undefined) {
    throw new Error('it can be saved only after it was taken over and read');
  }
  state.attempts += 1;
  try {
    const { next, rewritten } = await prepare(state, asking, change);
    await state.head.write(asking, next);
    state.content = next;
    take(state.records, change);
    if (rewritten) state.bytesAtRewrite = bytesOf(next.pieces);
    state.litter ||= rewritten;
    state.uncertain = false;
  } catch (error) {
    state.litter = true;
    state.uncertain = true;
    throw error;
  }
  // Not before: what an attempt of unknown end has left may be counted on until the head was written again.
  if (state.litter) await sweep(state, asking);
}

/** What the head is to say after the change; what is too long for it is written before. */
async function prepare(
  { namespace, head, records, content, bytesAtRewrite, attempts }: State,
  asking: Asking,
  { state, put, drop }: InventoryChange,
): Promise<{ readonly next: HeadContent; readonly rewritten: boolean }> {
  const { pieces } = content;
  const journal = content.journal + changeLines({ put, drop });
  const length = Buffer.byteLength(journal);
  if (length <= JOURNAL_BYTES) return { next: { state, pieces, journal }, rewritten: false };
  const write = (text: string): Promise<readonly PieceRef[]> =>
    writePieces(asking, namespace, { term: head.holder()?.term ?? 0, attempt: attempts, text });
  if (bytesOf(pieces) + length <= Math.max(SMALLEST_REWRITE_BYTES, SLACK * bytesAtRewrite)) {
    return { next: { state, pieces: [...pieces, ...(await write(journal))], journal: '' }, rewritten: false };
  }
  const all = new Map(records);
  take(all, { put, drop });
  const whole = await write(changeLines({ put: all.values(), drop: [] }));
  return { next: { state, pieces: whole, journal: '' }, rewritten: true };
}

/**
 * Removes pieces that the head does not name: of earlier processes, and of our own earlier writes. What a later process
 * has written is not ours to judge. Trouble with it is no trouble of the inventory.
 */
async function sweep(state: State, asking: Asking): Promise<void> {
  const { head, content, namespace, log } = state;
  const holder = head.holder();
  if (holder === undefined) return;
  const named = new Set(content.pieces.map(({ name }) => name));
  try {
    for (const piece of await listPieces(asking, namespace)) {
      if (!named.has(piece.name) && piece.term <= holder.term) await removePiece(asking, namespace, piece);
    }
  } catch (error) {
    log.warn('pieces of the inventory that nobody needs any more could not be removed', {
      namespace,
      reason: errorText(error),
    });
  }
  state.litter = false;
}

function take(records: Records, { put, drop }: Pick<InventoryChange, 'put' | 'drop'>): void {
  for (const record of put) records.set(record.key, record);
  for (const key of drop) records.delete(key);
}

function bytesOf(pieces: readonly PieceRef[]): number {
  return pieces.reduce((sum, { bytes }) => sum + bytes, 0);
}
