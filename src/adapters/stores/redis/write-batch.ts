import { createHash } from 'node:crypto';
import { createTurns } from '../../../model/in-turn.ts';
import type { StoreWrite } from '../../../ports/snapshot-store.ts';
import { RefusedCommand } from './errors.ts';
import { texts, VERSION_LENGTH, withVersion } from './layout.ts';
import type { Link, Live } from './link.ts';
import { WRITE } from './scripts.ts';

/** A larger batch sends its large values ahead one by one, so that no script blocks Redis for long. */
const INLINE_BYTES = 1024 * 1024;
const PART_FROM_BYTES = 4 * 1024;
/** Bytes of parts that are under way at the same time. */
const WINDOW_BYTES = 4 * 1024 * 1024;
/** Expiry of the parts of a batch that was given up. */
const PART_TTL_MS = 120_000;
/** Limits of a batch: more would block Redis noticeably, and exceed the arguments that a command of the client can have. */
const MOST_WRITES = 5_000;
const MOST_BYTES = 512 * 1024 * 1024;
const LARGEST_VALUE = 64 * 1024 * 1024;
/** Batches without an answer whose ids are remembered; a caller retries soon, so older ones are forgotten. */
const MOST_OPEN = 256;

/** Redis has written nothing of the batch. */
class NotWritten extends Error {}

type BatchOutcome = 'written' | 'conflict';

interface Request {
  readonly writes: readonly StoreWrite[];
  /** The writes whose values are sent ahead. */
  readonly large: ReadonlySet<StoreWrite>;
  readonly batch: Batch;
}

/** Writes each batch atomically. The caller must not change the bytes of a batch before its promise has settled. */
export function createBatchWriter(link: Link): (writes: readonly StoreWrite[]) => Promise<BatchOutcome> {
  const open = createOpenBatches(link.newId);
  // One large batch at a time, which bounds the bytes under way.
  const inTurn = createTurns();
  return async (writes) => {
    const large = largeValuesOf(writes);
    link.live();
    const batch = open.begin(writes);
    try {
      const send = (): Promise<BatchOutcome> => attempt(link, { writes, large, batch });
      const outcome = await (large.size === 0 ? send() : inTurn(send));
      open.settle(batch);
      return outcome;
    } catch (error) {
      if (error instanceof RefusedCommand || error instanceof NotWritten) open.settle(batch);
      throw error;
    }
  };
}

async function attempt(link: Link, request: Request, isSecond = false): Promise<BatchOutcome> {
  const live = link.live();
  const parts = new Map<StoreWrite, string>();
  let answer: readonly string[] = [];
  try {
    await sendParts(link, live, request, parts);
    answer = await run(link, live, request, parts);
  } finally {
    // Never rejects: parts that remain expire.
    if (answer[0] !== 'written' && parts.size > 0) {
      await live.session.commands.send('UNLINK', ...parts.values()).catch(() => undefined);
    }
  }
  const [outcome, detail = '0'] = answer;
  switch (outcome) {
    case 'written':
      // Count 0: an earlier attempt has written the batch, or the batch only checks versions.
      if (detail !== '0') link.wrote({ marker: live.marker, count: Number(detail), batch: request.batch.id });
      return outcome;
    case 'conflict':
      return outcome;
    case 'session':
      await link.reopen(live);
      if (isSecond) throw new NotWritten('the store does not know this process any more; nothing was written');
      return attempt(link, request, true);
    case 'marker':
      await link.reopen(live);
      throw new NotWritten('the store was emptied or replaced, nothing was written; try again');
    case 'parts':
      throw new NotWritten('Redis evicted parts of the batch before it was complete; nothing was written');
    case 'right':
      throw new NotWritten(`the user of the store lacks a right in Redis: +${detail}; nothing was written`);
    default:
      throw new Error('Redis answered a batch in an unknown form');
  }
}

/** Runs the script WRITE; `parts`: the names of the values that were sent ahead. */
async function run(
  { layout }: Link,
  { session, token, marker }: Live,
  { writes, batch }: Request,
  parts: ReadonlyMap<StoreWrite, string>,
): Promise<readonly string[]> {
  const records = writes.map(({ key }) => layout.record(key));
  const keys = [...session.keys, ...records, ...writes.flatMap((write) => parts.get(write) ?? [])];
  const changed = JSON.stringify(writes.filter(({ value }) => value !== undefined).map(({ key }) => key));
  const args: (string | Uint8Array)[] = [marker, token, batch.id, batch.again ? '1' : '0', layout.changes, changed];
  for (const write of writes) {
    const { key, value } = write;
    const operation = value === undefined ? 'check' : value === null ? 'delete' : parts.has(write) ? 'move' : 'set';
    const bytes = operation === 'set' && value ? withVersion(batch.id, value) : '';
    args.push(operation, requiredVersion(write), `k${key}`, bytes);
  }
  return texts(await session.commands.run(WRITE, keys, args));
}

function requiredVersion({ ifVersion }: StoreWrite): string {
  if (ifVersion === undefined) return '*';
  if (ifVersion === null) return '-';
  return ifVersion.length === VERSION_LENGTH ? ifVersion : 'none';
}

/** Throws if the batch or one of its values exceeds a limit. */
function largeValuesOf(writes: readonly StoreWrite[]): ReadonlySet<StoreWrite> {
  let bytes = 0;
  for (const { key, value } of writes) {
    const size = value?.byteLength ?? 0;
    bytes += size + key.length;
    if (size > LARGEST_VALUE)
      throw new Error(`the record ${key} has ${size} bytes; at most ${LARGEST_VALUE} can be stored`);
  }
  if (writes.length > MOST_WRITES || bytes > MOST_BYTES) {
    throw new Error(
      `a batch of ${writes.length} records with ${bytes} bytes is too large: at most ${MOST_WRITES} with ${MOST_BYTES} bytes can be written at once`,
    );
  }
  if (bytes <= INLINE_BYTES) return new Set();
  return new Set(writes.filter(({ value }) => (value?.byteLength ?? 0) > PART_FROM_BYTES));
}

/** Sends large values ahead, under names of their own, which it adds to `parts`; the script only renames them. */
async function sendParts(
  { layout }: Link,
  { session }: Live,
  { large, batch }: Request,
  parts: Map<StoreWrite, string>,
): Promise<void> {
  let sent: Promise<unknown>[] = [];
  let bytes = 0;
  for (const write of large) {
    if (!(write.value instanceof Uint8Array)) continue;
    const name = layout.part(batch.id, parts.size);
    parts.set(write, name);
    sent.push(session.commands.send('SET', name, withVersion(batch.id, write.value), 'PX', PART_TTL_MS));
    bytes += write.value.byteLength;
    if (bytes < WINDOW_BYTES) continue;
    await Promise.all(sent);
    sent = [];
    bytes = 0;
  }
  await Promise.all(sent);
}

export interface Batch {
  readonly id: string;
  /** A batch with the same contents was sent under this id before. */
  readonly again: boolean;
  readonly digest: string;
}

/** Remembers the batches that were sent and have no answer yet. `nextId` returns a new id at each call. */
export function createOpenBatches(nextId: () => string) {
  const open = new Map<string, string>();
  return {
    /** Returns a new id, or the id of an open batch with the same contents. */
    begin: (writes: readonly StoreWrite[]): Batch => {
      // Compared by contents: the caller may have changed the bytes of an array that was sent before.
      const digest = digestOf(writes);
      const known = open.get(digest);
      const id = known ?? nextId();
      open.delete(digest);
      open.set(digest, id);
      for (const oldest of open.keys()) {
        if (open.size <= MOST_OPEN) break;
        open.delete(oldest);
      }
      return { id, again: known !== undefined, digest };
    },
    /** Called when the outcome of the batch is known. */
    settle: ({ id, digest }: Batch): void => {
      if (open.get(digest) === id) open.delete(digest);
    },
  };
}

function digestOf(writes: readonly StoreWrite[]): string {
  const hash = createHash('sha256');
  for (const { key, value, ifVersion } of writes) {
    const kind = value === undefined ? 'check' : value === null ? 'delete' : value.byteLength;
    hash.update(JSON.stringify([key, ifVersion ?? (ifVersion === null ? 0 : 1), kind]));
    if (value !== undefined && value !== null) hash.update(value);
  }
  return hash.digest('base64');
}
