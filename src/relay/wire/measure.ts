import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';
import { PartSchema } from '../../../generated/relay_pb.ts';
import { ProtocolError } from './scalars.ts';

/** What a part of a transfer becomes when it is decoded. */
interface PartMeasure {
  /** The fields of the records: texts, bytes, numbers, origins and so on. */
  readonly fields: number;
}

/** Most records of a part: a sender begins the next one. Receivers refuse more before they decode them. */
export const PART_RECORDS = 8_192;
/** Most fields of the records of a part. Four bytes for each are less than a name and its length. */
const PART_FIELDS = 65_536;
/** Most fields of any other message, with the messages in it. A hello has up to a hundred. */
const MESSAGE_FIELDS = 2_048;

/**
 * Decodes a message after its fields were counted: a repeated one costs the sender as little as two bytes, and the reader an object.
 * Bytes that do not decode throw a {@link ProtocolError} with this reason and text.
 */
export function decodeMessage<Schema extends DescMessage>(
  schema: Schema,
  bytes: Uint8Array,
  reason: string,
  text: string,
  measure: (bytes: Uint8Array) => void = (message) => void countFields(schema, createCursor(message), 0),
): MessageShape<Schema> {
  try {
    measure(bytes);
    return fromBinary(schema, bytes, { readUnknownFields: false });
  } catch (error) {
    throw error instanceof ProtocolError ? error : new ProtocolError(reason, text);
  }
}

/**
 * Decodes a part of a transfer after what it holds was counted by its tags and lengths. Throws a {@link ProtocolError} for more than
 * is allowed, and for a record without content.
 */
export function decodePart(part: Uint8Array): PartMeasure & Pick<MessageShape<typeof PartSchema>, 'records'> {
  let measured: PartMeasure = { fields: 0 };
  const { records } = decodeMessage(
    PartSchema,
    part,
    'MalformedChunk',
    'a chunk that is no list of records',
    (bytes) => {
      measured = measurePart(bytes);
    },
  );
  return { ...measured, records };
}

function measurePart(part: Uint8Array): PartMeasure {
  let records = 0;
  let fields = 0;
  const outer = createCursor(part);
  const record = createCursor(part);
  const content = createCursor(part);
  while (outer.next()) {
    if (outer.number !== PartSchema.field.records.number || outer.type !== WireType.LengthDelimited) {
      fields = counted(fields + 1);
      continue;
    }
    record.enter(outer);
    if (!record.next()) throw new ProtocolError('MalformedChunk', 'a record without content');
    do {
      // A record has one kind. If there are several, the last one counts, and each is decoded.
      records += 1;
      if (records > PART_RECORDS) throw tooLarge(`a chunk of more than ${PART_RECORDS} records`);
      if (record.type !== WireType.LengthDelimited) continue;
      content.enter(record);
      while (content.next()) fields = counted(fields + 1);
    } while (record.next());
  }
  return { fields };
}

function counted(fields: number): number {
  if (fields > PART_FIELDS) throw tooLarge(`a chunk whose records have more than ${PART_FIELDS} fields`);
  return fields;
}

function tooLarge(message: string): ProtocolError {
  return new ProtocolError('TransferTooLarge', message, 'exhausted');
}

function countFields(schema: DescMessage, cursor: Cursor, before: number): number {
  let count = before;
  while (cursor.next()) {
    count += 1;
    if (count > MESSAGE_FIELDS) {
      throw new ProtocolError('MalformedFrame', `a message with more than ${MESSAGE_FIELDS} fields`);
    }
    if (cursor.type !== WireType.LengthDelimited) continue;
    const field = schema.fields.find(({ number }) => number === cursor.number);
    if (field?.message !== undefined) count = countFields(field.message, cursor.inside(), count);
  }
  return count;
}

interface Cursor {
  /** Of the field. */
  readonly number: number;
  readonly type: WireType;
  /** Where the content of a length-delimited field begins and ends. */
  readonly start: number;
  readonly stop: number;
  /** Moves to the next field; false at the end of the message. */
  next(): boolean;
  /** Continues inside the field where another cursor of the same bytes is. */
  enter(outer: Cursor): void;
  /** A cursor for the message in the field. */
  inside(): Cursor;
}

/** Goes from field to field of a message by tags and lengths. Throws where they are wrong; groups are, too. */
function createCursor(bytes: Uint8Array, from = 0, to = bytes.length): Cursor {
  let at = from;
  let end = to;
  const cursor = {
    number: 0,
    type: WireType.Varint as WireType,
    start: 0,
    stop: 0,
    next(): boolean {
      if (at >= end) return false;
      const tag = varint();
      cursor.number = tag >>> 3;
      cursor.type = tag & 7;
      switch (cursor.type) {
        case WireType.Varint:
          skipVarint();
          break;
        case WireType.Bit64:
          at += 8;
          break;
        case WireType.Bit32:
          at += 4;
          break;
        case WireType.LengthDelimited:
          cursor.stop = varint();
          cursor.start = at;
          cursor.stop += at;
          at = cursor.stop;
          break;
        default:
          throw malformed();
      }
      if (at > end) throw malformed();
      return true;
    },
    enter(outer: Cursor): void {
      at = outer.start;
      end = outer.stop;
    },
    inside: (): Cursor => createCursor(bytes, cursor.start, cursor.stop),
  };
  /** A tag or length, which has 32 bits. */
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = bytes[at] ?? 0x80;
      at += 1;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw malformed();
  };
  const skipVarint = (): void => {
    for (let read = 0; read < 10; read += 1) {
      const byte = bytes[at] ?? 0x80;
      at += 1;
      if (byte < 0x80) return;
    }
    throw malformed();
  };
  return cursor;
}

function malformed(): Error {
  return new Error('bytes that are no message');
}
