import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { create, fromBinary, type MessageInitShape, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { PartSchema, RecordSchema } from '../../../generated/relay_pb.ts';
import { CHUNK_BYTES } from '../limits.ts';
import { ProtocolError } from './protocol-error.ts';

/** A record as it is read. */
export type WireRecord = Exclude<MessageShape<typeof RecordSchema>['record'], { case: undefined }>;
/** A record as it is written. */
export type RecordInit = Exclude<NonNullable<MessageInitShape<typeof RecordSchema>['record']>, { case?: undefined }>;

/** One piece of a transfer, ready to be sent. */
export interface PackedChunk {
  readonly compressed: boolean;
  readonly data: Uint8Array<ArrayBuffer>;
  readonly last: boolean;
}

/** Below this size compressing saves nothing worth its time. */
const COMPRESS_FROM = 256;
/** A frame of a few bytes may ask for a window of gigabytes; 8 MiB is what every decoder should have. */
const MAX_WINDOW_LOG = 23;
/** Of the `records` field in Part, beside the record itself: its tag and length. */
const RECORD_OVERHEAD = 8;

/**
 * Packs records into chunks, one at a time as they are asked for, so that no more than two are in memory. At least one
 * chunk comes out. A record must be smaller than a chunk (a programming error otherwise).
 */
export function* packChunks(records: Iterable<RecordInit>): Generator<PackedChunk, void, void> {
  let waiting: Uint8Array<ArrayBuffer> | undefined;
  for (const part of packParts(records)) {
    if (waiting !== undefined) yield pack(waiting, false);
    waiting = part;
  }
  yield pack(waiting ?? new Uint8Array(0), true);
}

function* packParts(records: Iterable<RecordInit>): Generator<Uint8Array<ArrayBuffer>, void, void> {
  let writer = new BinaryWriter();
  let size = 0;
  for (const record of records) {
    const bytes = toBinary(RecordSchema, create(RecordSchema, { record }));
    if (bytes.length + RECORD_OVERHEAD > CHUNK_BYTES)
      throw new Error(`a record of ${bytes.length} bytes fits in no chunk`);
    if (size + bytes.length + RECORD_OVERHEAD > CHUNK_BYTES) {
      yield writer.finish();
      writer = new BinaryWriter();
      size = 0;
    }
    writer.tag(PartSchema.field.records.number, WireType.LengthDelimited).bytes(bytes);
    size += bytes.length + RECORD_OVERHEAD;
  }
  if (size > 0) yield writer.finish();
}

function pack(part: Uint8Array<ArrayBuffer>, last: boolean): PackedChunk {
  if (part.length >= COMPRESS_FROM) {
    const data = zstdCompressSync(part, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
    if (data.length < part.length) return { compressed: true, data, last };
  }
  return { compressed: false, data: part, last };
}

/** The records of a chunk and the size of its part. Throws a {@link ProtocolError} on a bomb or nonsense. */
export function unpackChunk(chunk: { readonly compressed: boolean; readonly data: Uint8Array }): {
  readonly bytes: number;
  readonly records: readonly WireRecord[];
} {
  if (chunk.data.length > CHUNK_BYTES)
    throw new ProtocolError('ChunkTooLarge', `a chunk of ${chunk.data.length} bytes`);
  const part = chunk.compressed ? decompress(chunk.data) : chunk.data;
  return { bytes: part.length, records: parseRecords(part) };
}

function decompress(data: Uint8Array): Uint8Array {
  try {
    const params = { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG };
    return zstdDecompressSync(data, { maxOutputLength: CHUNK_BYTES, params });
  } catch (error) {
    if (error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') {
      throw new ProtocolError('ChunkTooLarge', `a chunk of ${data.length} bytes unpacks to more than ${CHUNK_BYTES}`);
    }
    throw new ProtocolError('MalformedChunk', 'a chunk that cannot be decompressed');
  }
}

function parseRecords(part: Uint8Array): WireRecord[] {
  const { records } = parsePart(part);
  return records.map(({ record }) => {
    if (record.case === undefined) throw new ProtocolError('MalformedChunk', 'a record that says nothing known');
    return record;
  });
}

function parsePart(part: Uint8Array): MessageShape<typeof PartSchema> {
  try {
    return fromBinary(PartSchema, part, { readUnknownFields: false });
  } catch {
    throw new ProtocolError('MalformedChunk', 'a chunk that holds no records');
  }
}
