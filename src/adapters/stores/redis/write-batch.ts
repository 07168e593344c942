import { createHash } from 'node:crypto';
import type { StoreWrite } from '../../../ports/snapshot-store.ts';
import { RefusedCommand } from './errors.ts';
import { texts, VERSION_LENGTH, withVersion } from './layout.ts';
import type { Link, Live } from './link.ts';
import { WRITE } from './scripts.ts';

/** Limits of a batch: more would block Redis noticeably, and exceed the arguments that a command of the client can have. */
const MOST_WRITES = 5_000;
const MOST_BYTES = 128 * 1024 * 1024;
/** Batches without an answer whose ids are remembered; a caller retries soon, so older ones are forgotten. */
const MOST_OPEN = 256;

/** Redis has written nothing of the batch. */
class NotWritten extends Error {}

type BatchOutcome = 'written' | 'conflict';

/** Writes each batch atomically. The caller must not change the bytes of a batch before its promise has settled. */
export function createBatchWriter(link: Link): (writes: readonly StoreWrite[]) => Promise<BatchOutcome> {
  const open = createOpenBatches(link.newId);
  return async (writes) => {
    assertWithinLimits(writes);
    link.live();
    const batch = open.begin(writes);
    try {
      const outcome = await attempt(link, writes, batch);
      open.settle(batch);
      return outcome;
    } catch (error) {
      if (error instanceof RefusedCommand || error instanceof NotWritten) open.settle(batch);
      throw error;
    }
  };
}

async function attempt(
  link: Link,
  writes: readonly StoreWrite[],
  batch: Batch,
  isSecond = false,
): Promise<BatchOutcome> {
  const live = link.live();
  const [outcome, detail = '0'] = await run(link, live, writes, batch);
  switch (outcome) {
    case 'written':
      // Count 0: an earlier attempt has written the batch, or the batch only checks versions.
      if (detail !== '0') link.wrote({ marker: live.marker, count: Number(detail), batch: batch.id });
      return outcome;
    case 'conflict':
      return outcome;
    case 'session':
      await link.reopen(live);
      if (isSecond) throw new NotWritten('the store does not know this process any more; nothing was written');
      return attempt(link, writes, batch, true);
    case 'marker':
      await link.reopen(live);
      throw new NotWritten('the store was emptied or replaced, nothing was written; try again');
    case 'right':
      throw new NotWritten(`the user of the store lacks a right in Redis: +${detail}; nothing was written`);
    default:
      throw new Error('Redis answered a batch in an unknown form');
  }
}

/** Runs the script WRITE. */
async function run(
  { layout }: Link,
  { session, token, marker }: Live,
  writes: readonly StoreWrite[],
  batch: Batch,
): Promise<readonly string[]> {
  const keys = [...session.keys, ...writes.map(({ key }) => layout.record(key))];
  const changed = JSON.stringify(writes.filter(({ value }) => value !== undefined).map(({ key }) => key));
  const args: (string | Uint8Array)[] = [marker, token, batch.id, batch.again ? '1' : '0', layout.changes, changed];
  for (const { key, value, ifVersion } of writes) {
    const operation = value === undefined ? 'check' : value === null ? 'delete' : 'set';
    const bytes = value instanceof Uint8Array ? withVersion(batch.id, value) : '';
    args.push(operation, requiredVersion(ifVersion), `k${key}`, bytes);
  }
  return texts(await session.commands.run(WRITE, keys, args));
}

function requiredVersion(ifVersion: StoreWrite['ifVersion']): string {
  if (ifVersion === undefined) return '*';
  if (ifVersion === null) return '-';
  return ifVersion.length === VERSION_LENGTH ? ifVersion : 'none';
}

function assertWithinLimits(writes: readonly StoreWrite[]): void {
  let bytes = 0;
  for (const { key, value } of writes) bytes += (value?.byteLength ?? 0) + key.length;
  if (writes.length <= MOST_WRITES && bytes <= MOST_BYTES) return;
  throw new Error(
    `a batch of ${writes.length} records with ${bytes} bytes is too large: at most ${MOST_WRITES} with ${MOST_BYTES} bytes can be written at once`,
  );
}

export interface Batch {
  readonly id: string;
  /** A batch with the same contents was sent under this id before. */
  readonly again: boolean;
  readonly digest: string;
}

/**
 * Remembers the batches that were sent and have no answer yet, until another one changes a record of theirs. `nextId` returns a new
 * id at each call.
 */
export function createOpenBatches(nextId: () => string) {
  const open = new Map<string, { readonly id: string; readonly changed: ReadonlySet<string> }>();
  return {
    /** Returns a new id, or the id of an open batch with the same contents. */
    begin: (writes: readonly StoreWrite[]): Batch => {
      // Compared by contents: the caller may have changed the bytes of an array that was sent before.
      const digest = digestOf(writes);
      const known = open.get(digest);
      const id = known?.id ?? nextId();
      const changed = new Set(writes.flatMap(({ key, value }) => (value === undefined ? [] : [key])));
      open.delete(digest);
      // What they wrote may be overwritten now: the same contents later are no second attempt.
      for (const [other, batch] of open) if (!batch.changed.isDisjointFrom(changed)) open.delete(other);
      open.set(digest, { id, changed });
      for (const oldest of open.keys()) {
        if (open.size <= MOST_OPEN) break;
        open.delete(oldest);
      }
      return { id, again: known !== undefined, digest };
    },
    /** Called when the outcome of the batch is known. */
    settle: ({ id, digest }: Batch): void => {
      if (open.get(digest)?.id === id) open.delete(digest);
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
