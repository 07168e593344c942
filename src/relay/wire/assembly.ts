import type { ClusterName, Digest } from '../../model/ids.ts';
import { quote } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { Origin } from '../../model/output.ts';
import type { RelayLimits } from '../limits.ts';
import type { WireRecord } from './chunks.ts';
import { readContent } from './content.ts';
import { ProtocolError } from './protocol-error.ts';
import { readClusters, readCount, readDigest, readKey, readOrigins } from './scalars.ts';

/** Takes the records of one transfer in order. Both throw a {@link ProtocolError}. */
export interface Assembler {
  take(record: WireRecord): void;
  /** Nothing follows: checks the whole and hands it over. */
  finish(): void;
}

/** The record that an assembler of this subject has no place for. */
export function misplaced(record: WireRecord, subject: string): never {
  throw new ProtocolError('OutOfTurn', `a record "${record.case}" in a transfer of ${subject}`);
}

/** Refuses a key that does not come after the one before it. */
export function createOrderCheck(what: string): (key: string) => void {
  let last: string | undefined;
  return (key) => {
    if (last !== undefined && key <= last) {
      throw new ProtocolError('OutOfTurn', `${what} ${quote(key)} does not come after ${quote(last)}`);
    }
    last = key;
  };
}

/** The sets of clusters that a transfer has defined. */
export interface ScopeTable {
  define(record: { readonly number: number; readonly clusters: readonly string[] }): void;
  get(number: number): readonly ClusterName[];
}

/** Starts with the empty set. */
export function createScopeTable(): ScopeTable {
  const scopes: ClusterName[][] = [[]];
  return {
    define({ number, clusters }) {
      if (number === scopes.length) scopes.push([]);
      const scope = number > 0 && number === scopes.length - 1 ? scopes[number] : undefined;
      if (scope === undefined) throw new ProtocolError('OutOfTurn', `scope ${number} after ${scopes.length - 1}`);
      for (const cluster of readClusters(clusters)) scope.push(cluster);
    },
    get(number) {
      const scope = scopes[number];
      if (scope === undefined) throw new ProtocolError('UnknownScope', `scope ${number} was not defined`);
      return scope;
    },
  };
}

/** The object, touch or entry whose records are being read; closed when something else begins. */
export interface Drafts {
  /** Begins one; `close` is called when all its records are here. */
  open(
    origins: readonly { readonly source: string; readonly path: string }[],
    close: (origins: Origin[]) => void,
  ): void;
  /** Begins an object with content. */
  object(record: ObjectHead, close: (object: ReadObject) => void): void;
  more(record: { readonly origins: readonly { source: string; path: string }[]; readonly content: Uint8Array }): void;
  /** Closes what is open, if anything is. */
  close(): void;
}

/** What the first record of an object says. */
export interface ObjectHead {
  readonly key: string;
  readonly digest: Uint8Array;
  readonly size: bigint;
  readonly origins: readonly { readonly source: string; readonly path: string }[];
  readonly content: Uint8Array;
}

/** An object whose content has been checked. */
export interface ReadObject {
  readonly key: ObjectKey;
  readonly digest: Digest;
  readonly value: JsonObject;
  readonly origins: Origin[];
}

interface OpenDraft {
  readonly origins: Origin[];
  /** Bytes of content still to come. */
  missing: number;
  readonly pieces: Uint8Array[];
  readonly close: () => void;
}

/** Starts with nothing open. */
export function createDrafts(limits: Pick<RelayLimits, 'objectBytes'>): Drafts {
  let current: OpenDraft | undefined;
  const close = (): void => {
    const draft = current;
    current = undefined;
    if (draft === undefined) return;
    if (draft.missing > 0)
      throw new ProtocolError('OutOfTurn', `an object lacks ${draft.missing} bytes of its content`);
    draft.close();
  };
  return {
    close,
    open(originRecords, done) {
      close();
      const origins = readOrigins(originRecords);
      current = { origins, missing: 0, pieces: [], close: () => done(origins) };
    },
    object(record, done) {
      close();
      current = openObject(record, limits, done);
    },
    more(record) {
      if (current === undefined) throw new ProtocolError('OutOfTurn', 'a continuation of nothing');
      for (const origin of readOrigins(record.origins)) current.origins.push(origin);
      if (record.content.length > 0) addPiece(current, record.content);
    },
  };
}

function openObject(
  record: ObjectHead,
  limits: Pick<RelayLimits, 'objectBytes'>,
  done: (object: ReadObject) => void,
): OpenDraft {
  const key = readKey(record.key);
  const digest = readDigest(record.digest);
  const origins = readOrigins(record.origins);
  const missing = readCount(record.size, 'the size of an object');
  if (missing > limits.objectBytes) {
    throw new ProtocolError(
      'ObjectTooLarge',
      `${quote(key)} has ${missing} bytes, at most ${limits.objectBytes} are allowed`,
      'exhausted',
    );
  }
  const pieces: Uint8Array[] = [];
  const close = (): void => done({ key, digest, value: readContent(key, digest, pieces), origins });
  const draft: OpenDraft = { origins, missing, pieces, close };
  addPiece(draft, record.content);
  return draft;
}

function addPiece(draft: OpenDraft, content: Uint8Array): void {
  if (content.length > draft.missing) throw new ProtocolError('OutOfTurn', 'more content than was announced');
  draft.missing -= content.length;
  draft.pieces.push(content);
}
