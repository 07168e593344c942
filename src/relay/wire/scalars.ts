import { type ClusterName, type Digest, parseClusterName, parseSourceName, quote } from '../../model/ids.ts';
import { type ObjectKey, parseObjectKey } from '../../model/object-key.ts';
import type { Origin, OutputPosition, RevisionRef } from '../../model/output.ts';
import type { Result } from '../../model/result.ts';
import { ProtocolError } from './protocol-error.ts';

/** Longest text for a person (a message, the reason of a keep) in UTF-16 units; longer ones are clipped when sent. */
export const TEXT_LENGTH = 4096;
const REASON = /^[A-Z][A-Za-z0-9]{0,63}$/;
const PATH_LENGTH = 4096;

/** The 32 bytes of a digest. */
export function digestBytes(digest: Digest): Uint8Array<ArrayBuffer> {
  return Buffer.from(digest, 'hex');
}

/** Reads a digest. */
export function readDigest(bytes: Uint8Array): Digest {
  if (bytes.length !== 32) throw new ProtocolError('BadDigest', `a digest of ${bytes.length} bytes instead of 32`);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex') as Digest;
}

/** Unwraps what a parser of the model said about a part of a message. */
export function checked<Value>(result: Result<Value>, reason: string): Value {
  if (!result.ok) throw new ProtocolError(reason, result.problem);
  return result.value;
}

/** Reads an object key. */
export function readKey(text: string): ObjectKey {
  return checked(parseObjectKey(text), 'BadKey');
}

/** Reads a 64-bit count that must be an exact JavaScript number. */
export function readCount(value: bigint, what: string): number {
  const count = Number(value);
  if (!Number.isSafeInteger(count)) throw new ProtocolError('BadNumber', `${what} is out of range`);
  return count;
}

/** Reads a position; an absent one is wrong. */
export function readPosition(
  position: { readonly epoch: bigint; readonly sequence: bigint } | undefined,
): OutputPosition {
  if (position === undefined) throw new ProtocolError('MalformedFrame', 'the position is missing');
  return { epoch: readCount(position.epoch, 'the epoch'), sequence: readCount(position.sequence, 'the sequence') };
}

/** Reads a position that need not be there, as a part to be spread: absent or wholly there. */
export function readAdmitted(position: { readonly epoch: bigint; readonly sequence: bigint } | undefined): {
  readonly admitted?: OutputPosition;
} {
  return position === undefined ? {} : { admitted: readPosition(position) };
}

/** The wire form of the admission of an output, where there is one. */
export function admittedInit(admitted: OutputPosition | undefined): {
  readonly admitted?: ReturnType<typeof positionInit>;
} {
  return admitted === undefined ? {} : { admitted: positionInit(admitted) };
}

/** The wire form of a position. */
export function positionInit(position: OutputPosition): { readonly epoch: bigint; readonly sequence: bigint } {
  return { epoch: BigInt(position.epoch), sequence: BigInt(position.sequence) };
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

/** The reason itself, or `Unknown` for one that the peer would refuse together with everything beside it. */
export function sendableReason(reason: string): string {
  return REASON.test(reason) ? reason : 'Unknown';
}

/** Reads one of a fixed set of words. */
export function readWord<Word extends string>(text: string, words: readonly Word[]): Word {
  const word = words.find((candidate) => candidate === text);
  if (word === undefined) throw new ProtocolError('BadWord', `${quote(text)} is not one of ${words.join(', ')}`);
  return word;
}

/** Reads text for a person, bounded. */
export function readText(text: string): string {
  if (text.length > TEXT_LENGTH) throw new ProtocolError('TextTooLong', `a text of ${text.length} characters`);
  return text;
}

/** Cuts text for a person to what {@link readText} takes, never in the middle of a character. */
export function clipText(text: string): string {
  return text.length <= TEXT_LENGTH ? text.toWellFormed() : `${text.slice(0, TEXT_LENGTH - 4)}...`.toWellFormed();
}
