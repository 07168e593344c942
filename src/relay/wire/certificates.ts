import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { RegisterRequestSchema, RegisterResponseSchema } from '../../../generated/relay_pb.ts';
import type { Frame } from './frame.ts';
import { ProtocolError } from './protocol-error.ts';

/** Longest text of certificates that is taken, in characters: some dozens of them. */
const PEM_LENGTH = 128 * 1024;

/** What a server has issued. PEM texts. */
export interface IssuedCertificate {
  readonly certificate: string;
  /** Empty: nothing is said of roots. */
  readonly roots: string;
}

/** The question for a certificate, as it is sent. */
export function registerRequestBytes(request: MessageInitShape<typeof RegisterRequestSchema>): Uint8Array {
  return toBinary(RegisterRequestSchema, create(RegisterRequestSchema, request));
}

/** Reads the answer; throws a {@link ProtocolError} on anything else. Nothing of it is believed yet. */
export function readRegisterResponse(bytes: Uint8Array): IssuedCertificate {
  const { certificate, roots } = parse(bytes);
  return { certificate: readPem(certificate, 'the certificate'), roots: readPem(roots, 'the roots') };
}

/** Reads what a server says of roots (PEM). Nothing of it is believed yet. */
export function readServerRoots({ roots }: Extract<Frame, { case: 'roots' }>['value']): string {
  return readPem(roots, 'the roots');
}

function parse(bytes: Uint8Array): IssuedCertificate {
  try {
    return fromBinary(RegisterResponseSchema, bytes, { readUnknownFields: false });
  } catch {
    throw new ProtocolError('MalformedFrame', 'a message that is not an answer to a registration');
  }
}

function readPem(text: string, what: string): string {
  if (text.length > PEM_LENGTH) throw new ProtocolError('TextTooLong', `${what}: ${text.length} characters`);
  return text;
}
