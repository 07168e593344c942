import type { OutputHead, Position } from '../../../generated/relay_pb.ts';
import { type ClusterName, type Digest, parseClusterName, parseSourceName, quote } from '../../model/fleet/ids.ts';
import type { Origin, OutputPosition, RevisionRef } from '../../model/fleet/output.ts';
import { type ObjectKey, parseObjectKey, parseOutputKey } from '../../model/objects/object-key.ts';
import type { Result } from '../../model/values/result.ts';
import type { EndCode } from '../../ports/transport.ts';
import { TAG_PART_BYTES } from '../trust/step-tags.ts';

/** Longest text for people (a message, the reason of a keep) in UTF-16 units; the sender clips longer ones. */
const TEXT_LENGTH = 4096;
const REASON = /^[A-Z][A-Za-z0-9]{0,63}$/;
const PATH_LENGTH = 4096;

/**
 * The peer has broken the protocol. The reading loop of a link catches it and ends the stream with this reason; a
 * registration catches it and refuses.
 */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  /** Constant UpperCamelCase word. */
  readonly reason: string;
  readonly code: EndCode;

  constructor(reason: string, message: string, code: EndCode = 'invalid') {
    super(message);
    this.reason = reason;
    this.code = code;
  }
}

/** The 32 bytes of a digest. */
export function digestBytes(digest: Digest): Uint8Array<ArrayBuffer> {
  return Buffer.from(digest, 'hex');
}

/** Reads a digest. */
export function readDigest(bytes: Uint8Array): Digest {
  if (bytes.length !== 32) throw new ProtocolError('BadDigest', `a digest of ${bytes.length} bytes instead of 32`);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex') as Digest;
}

/** Reads a tag of a step; empty: absent. */
export function readTag(bytes: Uint8Array): { readonly tag?: string } {
  if (bytes.length === 0) return {};
  if (bytes.length !== TAG_PART_BYTES && bytes.length !== 2 * TAG_PART_BYTES) {
    throw new ProtocolError('BadTag', `a tag of ${bytes.length} bytes`);
  }
  return { tag: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex') };
}

/** The wire form of a tag. */
export function tagInit({ tag }: { readonly tag?: string }): { readonly tag?: Uint8Array<ArrayBuffer> } {
  return tag === undefined ? {} : { tag: Buffer.from(tag, 'hex') };
}

/** Unwraps the result of a parser of the model; a problem throws a {@link ProtocolError} with this reason. */
export function checked<Value>(result: Result<Value>, reason: string): Value {
  if (!result.ok) throw new ProtocolError(reason, result.problem);
  return result.value;
}

/** Reads the key of an object. */
export function readKey(text: string): ObjectKey {
  return checked(parseObjectKey(text), 'BadKey');
}

/** Reads the key of an output. */
export function readOutputKey(text: string): ObjectKey {
  return checked(parseOutputKey(text), 'BadKey');
}

/** Reads a 64-bit count that must be an exact JavaScript number. */
export function readCount(value: bigint, what: string): number {
  const count = Number(value);
  if (!Number.isSafeInteger(count)) throw new ProtocolError('BadNumber', `${what} is out of range`);
  return count;
}

/** The position of an output, and the admission that it was computed from, if its server named one. */
interface Positions {
  readonly position: OutputPosition;
  readonly admitted?: OutputPosition;
}

/** Reads the positions in a head; a missing position throws. */
export function readPositions({ position, admitted }: Pick<OutputHead, 'position' | 'admitted'>): Positions {
  if (position === undefined) throw new ProtocolError('MalformedFrame', 'the position is missing');
  return { position: readPosition(position), ...(admitted === undefined ? {} : { admitted: readPosition(admitted) }) };
}

function readPosition({ epoch, sequence }: Position): OutputPosition {
  return { epoch: readCount(epoch, 'the epoch'), sequence: readCount(sequence, 'the sequence') };
}

/** The wire form of the positions in a head. */
export function positionsInit({ position, admitted }: Positions) {
  const init = ({ epoch, sequence }: OutputPosition) => ({ epoch: BigInt(epoch), sequence: BigInt(sequence) });
  return { position: init(position), ...(admitted === undefined ? {} : { admitted: init(admitted) }) };
}

/** Reads a list of origins. */
export function readOrigins(origins: readonly { readonly source: string; readonly path: string }[]): Origin[] {
  return origins.map(({ source, path }) => {
    if (path.length > PATH_LENGTH) throw new ProtocolError('BadOrigin', `a path of ${path.length} characters`);
    return { source: checked(parseSourceName(source), 'BadOrigin'), path };
  });
}

/** Reads a revision. */
export function readRevision(revision: { readonly source: string; readonly revision: string }): RevisionRef {
  if (revision.revision.length > 256) throw new ProtocolError('BadRevision', 'a revision of more than 256 characters');
  return { source: checked(parseSourceName(revision.source), 'BadRevision'), revision: revision.revision };
}

/** Reads cluster names. */
export function readClusters(names: readonly string[]): ClusterName[] {
  return names.map((name) => checked(parseClusterName(name), 'BadCluster'));
}

/** Reads a constant word. */
export function readReason(text: string): string {
  if (!REASON.test(text)) throw new ProtocolError('BadReason', `${quote(text)} is not an UpperCamelCase word`);
  return text;
}

/** The reason itself, or `Unknown` for one that {@link readReason} at the peer would refuse. */
export function sendableReason(reason: string): string {
  return REASON.test(reason) ? reason : 'Unknown';
}

/** Reads one of a fixed set of words. */
export function readWord<Word extends string>(text: string, words: readonly Word[]): Word {
  const word = words.find((candidate) => candidate === text);
  if (word === undefined) throw new ProtocolError('BadWord', `${quote(text)} is not one of ${words.join(', ')}`);
  return word;
}

/** Reads text for people, bounded. */
export function readText(text: string): string {
  if (text.length > TEXT_LENGTH) throw new ProtocolError('TextTooLong', `a text of ${text.length} characters`);
  return text;
}

/** Cuts text for people to the length that {@link readText} accepts, never in the middle of a character. */
export function clipText(text: string): string {
  return text.length <= TEXT_LENGTH ? text.toWellFormed() : `${text.slice(0, TEXT_LENGTH - 4)}...`.toWellFormed();
}
