import { create, fromBinary, type MessageInitShape, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { FrameSchema } from '../../../generated/relay_pb.ts';
import { FRAME_BYTES } from '../limits.ts';
import { ProtocolError } from './protocol-error.ts';

/** A frame as it is read: one of the cases, each with its value. */
export type Frame = Exclude<MessageShape<typeof FrameSchema>['frame'], { case: undefined }>;
/** A frame as it is written. */
export type FrameInit = Exclude<NonNullable<MessageInitShape<typeof FrameSchema>['frame']>, { case?: undefined }>;

/** The bytes of a frame. */
export function encodeFrame(frame: FrameInit): Uint8Array {
  return toBinary(FrameSchema, create(FrameSchema, { frame }));
}

/** Reads a frame; throws a {@link ProtocolError} on anything else. */
export function decodeFrame(bytes: Uint8Array): Frame {
  if (bytes.length > FRAME_BYTES) {
    throw new ProtocolError('FrameTooLarge', `a frame of ${bytes.length} bytes, at most ${FRAME_BYTES} are allowed`);
  }
  const frame = parse(bytes);
  if (frame.case === undefined) throw new ProtocolError('MalformedFrame', 'a frame that says nothing known');
  return frame;
}

function parse(bytes: Uint8Array): MessageShape<typeof FrameSchema>['frame'] {
  try {
    return fromBinary(FrameSchema, bytes, { readUnknownFields: false }).frame;
  } catch {
    throw new ProtocolError('MalformedFrame', 'a message that is not a frame');
  }
}
