import { unreachable } from '../../../model/result.ts';
import type { StoreWrite } from '../../../ports/snapshot-store.ts';
import { createStaging } from './batch-parts.ts';
import type { Live } from './current-session.ts';
import type { Link } from './link.ts';
import { type Batch, createOpenBatches } from './open-batches.ts';
import { VERSION_LENGTH, withVersion } from './record-bytes.ts';
import { RefusedCommand } from './refusals.ts';
import { WRITE } from './scripts.ts';
import { texts } from './session.ts';

/** Above this a batch's larger values are sent ahead one by one, so that no script holds Redis up. */
const INLINE_BYTES = 1024 * 1024;
const PART_FROM_BYTES = 4 * 1024;
/** More would hold Redis up for noticeably long, and are more words than a command of the client can have. */
const MOST_WRITES = 5_000;
const MOST_BYTES = 512 * 1024 * 1024;
const LARGEST_VALUE = 64 * 1024 * 1024;

export type WriteBatch = (writes: readonly StoreWrite[]) => Promise<'written' | 'conflict'>;

/** Writes batches, each as one step of Redis. The bytes of a batch must stay as they are until it is settled. */
export function createBatchWriter(link: Link): WriteBatch {
  const open = createOpenBatches(link.newId);
  const staging = createStaging(link.layout);
  return async (writes) => {
    const staged = stagedOf(writes);
    link.live();
    const batch = open.begin(writes);
    try {
      const send = (): Promise<'written' | 'conflict'> => attempt(writes, staged, batch);
      const outcome = await (staged.size === 0 ? send() : staging.inTurn(send));
      open.settle(batch);
      return outcome;
    } catch (error) {
      if (error instanceof RefusedCommand || error instanceof NotWritten) open.settle(batch);
      throw error;
    }
  };

  async function attempt(
    writes: readonly StoreWrite[],
    staged: ReadonlySet<StoreWrite>,
    batch: Batch,
    isSecond = false,
  ): Promise<'written' | 'conflict'> {
    const live = link.live();
    const parts = await staging.stage(live.session.commands, staged, batch.id);
    const { outcome, detail } = await run(link, live, { writes, batch, parts }).catch(async (error: unknown) => {
      await staging.discard(live.session.commands, parts);
      throw error;
    });
    if (outcome !== 'written') await staging.discard(live.session.commands, parts);
    switch (outcome) {
      case 'written':
        // A batch that was written by an earlier attempt, or only checks, says no count.
        if (detail !== '0') link.wrote({ marker: live.marker, count: Number(detail), batch: batch.id });
        return outcome;
      case 'conflict':
        return outcome;
      case 'session':
        await link.reopen(live);
        if (isSecond) throw new NotWritten('the store does not know this process any more; nothing was written');
        return attempt(writes, staged, batch, true);
      case 'marker':
        await link.reopen(live);
        throw new NotWritten('the store was emptied or replaced, nothing was written; try again');
      case 'parts':
        throw new NotWritten('Redis has thrown parts of the batch away before it was complete; nothing was written');
      case 'right':
        throw new NotWritten(`the user of the store lacks a right in Redis: +${detail}; nothing was written`);
      default:
        return unreachable(outcome);
    }
  }
}

/** Nothing of the batch has happened. */
class NotWritten extends Error {}

interface Prepared {
  readonly writes: readonly StoreWrite[];
  readonly batch: Batch;
  /** The names of the values that were sent ahead. */
  readonly parts: ReadonlyMap<StoreWrite, string>;
}

const OUTCOMES = ['written', 'conflict', 'session', 'marker', 'parts', 'right'] as const;
type Outcome = (typeof OUTCOMES)[number];

async function run(
  { layout }: Link,
  { session, token, marker }: Live,
  { writes, batch, parts }: Prepared,
): Promise<{ readonly outcome: Outcome; readonly detail: string }> {
  const records = writes.map(({ key }) => layout.record(key));
  const keys = [...session.keys, ...records, ...writes.flatMap((write) => parts.get(write) ?? [])];
  const changed = JSON.stringify(writes.filter(({ value }) => value !== undefined).map(({ key }) => key));
  const args: (string | Uint8Array)[] = [marker, token, batch.id, batch.again ? '1' : '0', layout.changes, changed];
  for (const write of writes) {
    const { key, value } = write;
    args.push(parts.has(write) ? 'move' : whatOf(value), wantedOf(write), `k${key}`);
    args.push(value instanceof Uint8Array && !parts.has(write) ? withVersion(batch.id, value) : '');
  }
  const [said, detail = '0'] = texts(await session.commands.run(WRITE, keys, args));
  const outcome = OUTCOMES.find((one) => one === said);
  if (outcome === undefined) throw new Error('the store has answered a batch with something else');
  return { outcome, detail };
}

function whatOf(value: Uint8Array | null | undefined): string {
  if (value === undefined) return 'check';
  return value === null ? 'delete' : 'set';
}

function wantedOf({ ifVersion }: StoreWrite): string {
  if (ifVersion === undefined) return '*';
  if (ifVersion === null) return '-';
  return ifVersion.length === VERSION_LENGTH ? ifVersion : 'none';
}

/** Which values are sent ahead. Throws if the batch is larger than what one may be. */
function stagedOf(writes: readonly StoreWrite[]): ReadonlySet<StoreWrite> {
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
