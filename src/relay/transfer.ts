import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import {
  type Begin,
  type BeginSchema,
  type Chunk,
  type ChunkAck,
  PartSchema,
  RecordSchema,
} from '../../generated/relay_pb.ts';
import { createTurns } from '../model/values/in-turn.ts';
import { pieceToCompress, pieceToDecompress } from '../model/values/zlib-piece.ts';
import type { Clock } from '../ports/clock.ts';
import { CHUNK_BYTES, RECORD_ITEMS, type RelayLimits } from './limits.ts';
import type { Link } from './link.ts';
import type { TransferMemory } from './transfer-memory.ts';
import { inOrder, type Receiver } from './waiting-frames.ts';
import type { Frame } from './wire/frames.ts';
import { decodePart, PART_RECORDS } from './wire/measure.ts';
import type { Assembler, RecordInit, WireRecord } from './wire/records.ts';
import { clipText, ProtocolError, readCount, readReason, readText, sendableReason } from './wire/scalars.ts';

/** The head of a transfer, as it is written. */
type Subject = NonNullable<MessageInitShape<typeof BeginSchema>['subject']>;
/** The head of a transfer, as it is read. */
export type ReadSubject = Exclude<Begin['subject'], { case: undefined }>;

/** Why a receiver refuses a complete transfer. `reason` is a constant UpperCamelCase word. */
export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/** The answer to a transfer; `over`: the link ended before it. */
export type ExchangeOutcome =
  | { readonly type: 'accepted' }
  | ({ readonly type: 'refused' } & Refusal)
  | { readonly type: 'over' };

/** Answers a complete transfer: without a refusal it is accepted. */
export type TransferAnswer = (refusal?: Refusal) => void;

/**
 * The transfers of both directions of a stream. In each direction one transfer follows the other. The sender generates a
 * chunk when the link takes one and the window of unacknowledged chunks has room, so a slow reader costs the memory of a
 * few chunks.
 */
export interface Transfers {
  /** Sends a transfer without an answer: true when the transport has all of it. */
  send(subject: Subject, records: Iterable<RecordInit>): Promise<boolean>;
  /** Sends a transfer and waits for the answer. */
  exchange(subject: Subject, records: Iterable<RecordInit>): Promise<ExchangeOutcome>;
  /** Handles a frame about transfers; false for any other frame. Throws a {@link ProtocolError} if it is out of order. */
  take(frame: Frame): boolean;
  /** Acknowledges the chunks of the newest transfer from the peer again: its answer takes time, and is not lost. */
  acknowledgeAgain(): void;
  /** Sets how many unacknowledged chunks the peer accepts; 1 before that. */
  setWindow(chunks: number): void;
}

interface Deps {
  readonly link: Link;
  readonly clock: Clock;
  readonly limits: RelayLimits;
  /** Of all transfers that arrive at a server; absent: they never wait. */
  readonly memory?: TransferMemory;
}

type Sender = ReturnType<typeof newSender>;

function newSender(deps: Deps) {
  return {
    deps,
    /** Unacknowledged chunks that the peer accepts. */
    window: 1,
    last: 0n,
    /** The transfer that is being sent. */
    current: undefined as Sending | undefined,
  };
}

type Sending = ReturnType<typeof begin>;

function begin(sender: { last: bigint }, answered: boolean) {
  sender.last += 1n;
  return {
    number: sender.last,
    /** Chunks. */
    sent: 0,
    acknowledged: 0,
    complete: false,
    /** Resumes the sender after an acknowledgement. */
    wake: (): void => {},
    /** Waits anew for the answer. */
    heard: (): void => {},
    outcome: answered ? Promise.withResolvers<ExchangeOutcome>() : undefined,
  };
}

/**
 * The transfers of a stream; its owner passes every frame to `take`.
 *
 * @param open returns the assembler for a transfer from the peer, or throws if this transfer is not due
 */
export function createTransfers(
  deps: Deps,
  open: (subject: ReadSubject, answer: TransferAnswer) => Assembler,
): Transfers {
  const state = newSender(deps);
  const inTurn = createTurns();
  const receiver = createReceiver(deps, open);
  const receive = inOrder(deps, receiver);
  // Once, not at each wait: a promise keeps its callbacks, and a link lives for months.
  void deps.link.over.then(() => {
    state.current?.wake();
    state.current?.outcome?.resolve({ type: 'over' });
  });
  return {
    acknowledgeAgain: receiver.acknowledgeAgain,
    setWindow(chunks) {
      state.window = Math.max(1, chunks);
    },
    send: (subject, records) => inTurn(() => transmit(state, subject, records, begin(state, false))),
    exchange: (subject, records) => inTurn(() => exchange(state, subject, records)),
    take(frame) {
      switch (frame.case) {
        case 'begin':
        case 'chunk':
          receive(frame);
          return true;
        case 'chunkAck':
          noteChunkAck(state, frame.value);
          return true;
        case 'ack':
          noteAnswer(state, frame.value.transfer, { type: 'accepted' });
          return true;
        case 'nack': {
          const { transfer, reason, message } = frame.value;
          noteAnswer(state, transfer, { type: 'refused', reason: readReason(reason), message: readText(message) });
          return true;
        }
        default:
          return false;
      }
    },
  };
}

async function exchange(state: Sender, subject: Subject, records: Iterable<RecordInit>): Promise<ExchangeOutcome> {
  const { link, clock, limits } = state.deps;
  const transfer = begin(state, true);
  if (!(await transmit(state, subject, records, transfer)) || transfer.outcome === undefined) return { type: 'over' };
  let cancel = (): void => undefined;
  // An acknowledgement says that the answer is still to come.
  transfer.heard = () => {
    cancel();
    cancel = clock.schedule(limits.answerMs, () => {
      const message = `no answer to a transfer within ${limits.answerMs / 1000} s`;
      link.end({ code: 'lost', reason: 'NoAnswer', message });
    });
  };
  transfer.heard();
  const outcome = await transfer.outcome.promise;
  cancel();
  state.current = undefined;
  return outcome;
}

/** Sends Begin and Chunks: true when the transport has all of them. A transfer with an answer stays current. */
async function transmit(
  state: Sender,
  subject: Subject,
  records: Iterable<RecordInit>,
  transfer: Sending,
): Promise<boolean> {
  const { link } = state.deps;
  state.current = transfer;
  if (!(await link.send({ case: 'begin', value: { transfer: transfer.number, subject } }))) return false;
  for (const chunk of packChunks(records)) {
    if (!(await roomInWindow(state, transfer))) return false;
    const index = transfer.sent;
    transfer.sent += 1;
    transfer.complete = chunk.last;
    if (!(await link.send({ case: 'chunk', value: { transfer: transfer.number, index, ...chunk } }))) return false;
  }
  if (transfer.outcome === undefined) state.current = undefined;
  return true;
}

async function roomInWindow(state: Sender, transfer: Sending): Promise<boolean> {
  const { link, clock, limits } = state.deps;
  while (!link.isOver() && transfer.sent - transfer.acknowledged >= state.window) {
    const { promise, resolve } = Promise.withResolvers<void>();
    transfer.wake = resolve;
    const cancel = clock.schedule(limits.stallMs, () => {
      const message = `the peer has acknowledged nothing for ${limits.stallMs / 1000} s`;
      link.end({ code: 'lost', reason: 'PeerStalled', message });
    });
    await promise;
    cancel();
  }
  return !link.isOver();
}

function noteChunkAck({ current, last }: Sender, ack: ChunkAck): void {
  if (current === undefined || ack.transfer !== current.number) {
    // The acknowledgement of the last chunks of a transfer may cross with the Begin of the next one.
    if (ack.transfer > 0n && ack.transfer <= last) return;
    throw new ProtocolError('OutOfTurn', 'an acknowledgement of a transfer that does not exist');
  }
  if (ack.received > current.sent) throw new ProtocolError('OutOfTurn', 'an acknowledgement of unsent chunks');
  current.acknowledged = Math.max(current.acknowledged, ack.received);
  current.wake();
  if (current.complete) current.heard();
}

function noteAnswer({ current }: Sender, transfer: bigint, outcome: ExchangeOutcome): void {
  if (current?.outcome === undefined || transfer !== current.number || !current.complete) {
    throw new ProtocolError('OutOfTurn', 'an answer to no transfer');
  }
  current.acknowledged = current.sent;
  current.outcome.resolve(outcome);
}

/**
 * Reads the transfers of the peer. It acknowledges every chunk after it has read its records, and the last chunk before the
 * assembler finishes.
 */
function createReceiver(
  { link, limits }: Deps,
  open: (subject: ReadSubject, answer: TransferAnswer) => Assembler,
): Receiver {
  let last = 0n;
  let current: ({ readonly assembler: Assembler } & ReturnType<typeof noSizes>) | undefined;
  const beginTransfer = ({ transfer, subject }: Begin): void => {
    readCount(transfer, 'the number of a transfer');
    if (current !== undefined) throw new ProtocolError('OutOfTurn', 'a transfer begins inside another');
    if (transfer !== last + 1n) throw new ProtocolError('OutOfTurn', `transfer ${transfer} after ${last}`);
    if (subject.case === undefined) throw new ProtocolError('MalformedFrame', 'a transfer without a known subject');
    last = transfer;
    const assembler = open(subject, (refusal) => {
      if (refusal === undefined) return link.post({ case: 'ack', value: { transfer } });
      const texts = { reason: sendableReason(refusal.reason), message: clipText(refusal.message) };
      link.post({ case: 'nack', value: { transfer, ...texts } });
    });
    current = { assembler, ...noSizes() };
  };
  const takeChunk = (chunk: Chunk): void => {
    if (current === undefined || chunk.transfer !== last) {
      throw new ProtocolError('OutOfTurn', `a chunk of transfer ${chunk.transfer}, which is not open`);
    }
    if (chunk.index !== current.chunks) {
      throw new ProtocolError('OutOfTurn', `chunk ${chunk.index} instead of chunk ${current.chunks}`);
    }
    const { bytes, records, fields } = unpackChunk(chunk);
    link.spend({ bytes, records: records.length, fields });
    current.chunks += 1;
    current.bytes += bytes;
    current.records += records.length;
    for (const record of records) current.items += itemsOf(record);
    checkSize('bytes', current.bytes, limits.transferBytes);
    checkSize('records', current.records, limits.transferRecords);
    checkSize('origins, clusters and Namespaces', current.items, limits.transferItems);
    for (const record of records) current.assembler.take(record);
    link.post({ case: 'chunkAck', value: { transfer: last, received: current.chunks } });
    if (!chunk.last) return;
    const { assembler } = current;
    current = undefined;
    assembler.finish();
  };
  return {
    take: (frame) => (frame.case === 'begin' ? beginTransfer(frame.value) : takeChunk(frame.value)),
    bytes: () => (current === undefined || current.assembler.isDropped?.() === true ? 0 : bytesOf(current)),
    isOpen: () => current !== undefined,
    acknowledgeAgain: () => link.post({ case: 'chunkAck', value: { transfer: last, received: current?.chunks ?? 0 } }),
  };
}

/** A record or item in memory, beside its bytes. */
const ITEM_BYTES = 64;

function bytesOf({ bytes, records, items }: ReturnType<typeof noSizes>): number {
  return bytes + ITEM_BYTES * (records + items);
}

/** What has arrived of a transfer. */
function noSizes() {
  return { chunks: 0, bytes: 0, records: 0, items: 0 };
}

/** The items of a record: each costs the reader an object, and the sender as little as two bytes. */
function itemsOf({ case: kind, value }: WireRecord): number {
  const { origins, clusters, unlisted } = value as Partial<
    Record<'origins' | 'clusters' | 'unlisted', readonly unknown[]>
  >;
  const items = (origins ?? clusters ?? unlisted ?? []).length;
  if (items > RECORD_ITEMS) {
    const message = `a record "${kind}" of ${items} items, at most ${RECORD_ITEMS} are allowed`;
    throw new ProtocolError('TransferTooLarge', message, 'exhausted');
  }
  return items;
}

function checkSize(what: string, size: number, limit: number): void {
  if (size > limit) {
    throw new ProtocolError('TransferTooLarge', `a transfer of more than ${limit} ${what}`, 'exhausted');
  }
}

/** Compressing fewer bytes saves nothing worth its time. */
const COMPRESS_FROM = 1024;
/** A small frame may request a window of gigabytes; every decoder is expected to have 8 MiB. */
const MAX_WINDOW_LOG = 23;
/** Tag and length of a record in the field `records` of a Part. */
const RECORD_OVERHEAD = 8;

/**
 * Packs records into chunks as the caller asks for them, so at most two are in memory. Yields at least one chunk. A record
 * must be smaller than a chunk (a programming error otherwise).
 */
export function* packChunks(records: Iterable<RecordInit>): Generator<ReturnType<typeof pack>, void, void> {
  let waiting: Uint8Array<ArrayBuffer> | undefined;
  for (const part of packParts(records)) {
    if (waiting !== undefined) yield pack(waiting, false);
    waiting = part;
  }
  yield pack(waiting ?? new Uint8Array(0), true);
}

function* packParts(records: Iterable<RecordInit>): Generator<Uint8Array<ArrayBuffer>, void, void> {
  // The same for all parts: it keeps its buffer, which grows by doubling.
  const writer = new BinaryWriter();
  let size = 0;
  let count = 0;
  for (const record of records) {
    const bytes = toBinary(RecordSchema, create(RecordSchema, { record }));
    const more = bytes.length + RECORD_OVERHEAD;
    if (more > CHUNK_BYTES) throw new Error(`a record of ${bytes.length} bytes fits in no chunk`);
    if (size + more > CHUNK_BYTES || count === PART_RECORDS) {
      yield writer.finish();
      size = 0;
      count = 0;
    }
    writer.tag(PartSchema.field.records.number, WireType.LengthDelimited).bytes(bytes);
    size += more;
    count += 1;
  }
  if (size > 0) yield writer.finish();
}

function pack(part: Uint8Array<ArrayBuffer>, last: boolean) {
  if (part.length >= COMPRESS_FROM) {
    const params = { [constants.ZSTD_c_compressionLevel]: 1 };
    const data = zstdCompressSync(part, { params, chunkSize: pieceToCompress(part.length) });
    if (data.length < part.length) return { compressed: true, data, last };
  }
  return { compressed: false, data: part, last };
}

/**
 * The records of a chunk, the uncompressed size and the fields of all records. Throws a {@link ProtocolError} on a zip bomb or
 * malformed bytes, and before it builds more records than a part may have.
 */
export function unpackChunk({ compressed, data }: Pick<Chunk, 'compressed' | 'data'>): {
  readonly bytes: number;
  readonly records: readonly WireRecord[];
  readonly fields: number;
} {
  if (data.length > CHUNK_BYTES) throw new ProtocolError('ChunkTooLarge', `a chunk of ${data.length} bytes`);
  const part = compressed ? decompress(data) : data;
  const { fields, records } = decodePart(part);
  return {
    bytes: part.length,
    fields,
    records: records.map(({ record }) => {
      if (record.case === undefined) throw new ProtocolError('MalformedChunk', 'a record without a known field');
      return record;
    }),
  };
}

function decompress(data: Uint8Array): Uint8Array {
  try {
    const params = { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG };
    return zstdDecompressSync(data, {
      maxOutputLength: CHUNK_BYTES,
      chunkSize: pieceToDecompress(data.length),
      params,
    });
  } catch (error) {
    if (error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') {
      throw new ProtocolError('ChunkTooLarge', `a chunk of ${data.length} bytes unpacks to more than ${CHUNK_BYTES}`);
    }
    throw new ProtocolError('MalformedChunk', 'a chunk that cannot be decompressed');
  }
}
