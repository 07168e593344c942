import { create, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { RegisterRequestSchema, RegisterResponseSchema } from '../../../generated/relay_pb.ts';
import { type ClusterId, parseClusterId } from '../../model/ids.ts';
import type { FrameInit } from './frame.ts';
import { readVersion } from './hello.ts';
import { ProtocolError } from './protocol-error.ts';
import { checked } from './scalars.ts';

/** Largest certificate request in bytes: an RSA key of 8192 bits fits five times. */
const MAX_REQUEST_BYTES = 8 * 1024;

/** A question for a client certificate, as an agent asks it. */
export interface RegisterQuestion {
  readonly cluster: string;
  readonly clusterId: ClusterId;
  readonly version: string;
  /** PKCS #10, DER. */
  readonly certificateRequest: Uint8Array;
}

/** Reads a question; throws a {@link ProtocolError} on anything else. */
export function readRegisterRequest(bytes: Uint8Array): RegisterQuestion {
  if (bytes.length > 2 * MAX_REQUEST_BYTES) throw tooLarge(bytes.length);
  const { cluster, clusterId, version, certificateRequest } = parse(bytes);
  if (certificateRequest.length > MAX_REQUEST_BYTES) throw tooLarge(certificateRequest.length);
  return {
    cluster,
    clusterId: checked(parseClusterId(clusterId), 'MalformedRequest'),
    version: readVersion(version),
    certificateRequest,
  };
}

/** The answer to a question, as it is sent. PEM texts. */
export function registerResponseBytes(answer: { readonly certificate: string; readonly roots: string }): Uint8Array {
  return toBinary(RegisterResponseSchema, create(RegisterResponseSchema, answer));
}

/** The frame that says the roots (PEM). */
export function rootsFrame(roots: string): FrameInit {
  return { case: 'roots', value: { roots } };
}

function parse(bytes: Uint8Array): MessageShape<typeof RegisterRequestSchema> {
  try {
    return fromBinary(RegisterRequestSchema, bytes, { readUnknownFields: false });
  } catch {
    throw new ProtocolError('MalformedRequest', 'a message that is not a registration');
  }
}

function tooLarge(bytes: number): ProtocolError {
  return new ProtocolError(
    'RequestTooLarge',
    `a certificate request of ${bytes} bytes, at most ${MAX_REQUEST_BYTES} are allowed`,
  );
}
