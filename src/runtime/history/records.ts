import type { AnswerState, ChangeReason } from '../../api/history-api.ts';
import type { ObjectResult } from '../../model/agent/agent.ts';
import type { Registration } from '../../model/fleet/ledger.ts';
import { comparePositions, type Origin, type OutputPosition, type RevisionRef } from '../../model/fleet/output.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { isJsonObject, type JsonValue, objectOf, parseJsonBytes } from '../../model/text/json.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import { recordKey } from '../ledger/records.ts';

/** Bounds of the log of one cluster: the oldest deltas are dropped. */
export const MOST_DELTAS = 100;
export const MOST_BYTES = 64 << 10;
/** Bounds of one delta: the objects after that are counted, and not listed. */
export const MOST_OBJECTS = 100;
export const MOST_OBJECT_BYTES = 16 << 10;
/** Length of a message. */
export const MOST_MESSAGE = 200;
/** Most bytes of a delta with what became of it: later messages are left out. So it fits into the bound of the log. */
export const MOST_DELTA_BYTES = 48 << 10;

/** How far an object has got, by the agent's results. */
export interface ObjectOutcome {
  readonly state: ObjectResult['state'];
  /** In milliseconds since 1970: when the server has heard it. */
  readonly at: number;
  /** Absent: none. */
  readonly message?: string;
}

/** One object of a delta. */
export interface ChangedObject {
  readonly key: ObjectKey;
  /** `touch`: its content stays, and its origin or scope changes. */
  readonly change: 'create' | 'change' | 'remove' | 'touch';
  readonly why: ChangeReason;
  /** Beginning of the digest of what was sent, to find its results; never shown. Absent: nothing was sent. */
  readonly digest?: string;
  /** Its first origin. */
  readonly origin?: Origin;
  /** Beginning of a digest of the files of all its origins, to tell whether they have changed; never shown. */
  readonly files?: string;
  readonly outcome?: ObjectOutcome;
}

/** One delta of a cluster, as the log has it. */
export interface DeltaRecord {
  readonly position: OutputPosition;
  /** When it was made, in milliseconds since 1970. */
  readonly at: number;
  /** The revisions that it was computed from, of all sources. */
  readonly revisions: readonly RevisionRef[];
  /** Sources with another revision than in the delta before. */
  readonly moved: readonly string[];
  readonly answer: { readonly state: AnswerState; readonly at: number; readonly message?: string };
  readonly counts: Readonly<Record<ChangedObject['change'], number>>;
  /** Objects that stay as they are in the cluster. */
  readonly keeps: number;
  /** In the order of keys; the first ones of a large delta. */
  readonly objects: readonly ChangedObject[];
  /** The output was too large for one delta. Absent: nothing waited for the next one. */
  readonly cut?: {
    /** Number of changes that waited for the next one. */
    readonly rest: number;
    /** The cluster had nothing of the fleet before the first of these deltas. */
    readonly isFirst: boolean;
    /** Sources with another revision than before the first of these deltas. */
    readonly moved: readonly string[];
  };
  /** The server that sent it has ended before it was noted: nothing but its position is known. */
  readonly unrecorded?: true;
}

/** A delta in the store. */
interface StoredDelta extends DeltaRecord {
  /** Number of registrations of the cluster's name that had ended when it was sent. */
  readonly predecessors: number;
}

/** The records of the log of a cluster in the store, by slot. */
export interface StoredLog {
  readonly deltas: ReadonlyMap<number, DeltaRecord>;
  /** Deltas of an earlier registration of the name: their deletion was not written. */
  readonly outdated: readonly number[];
}

/** The record of a delta in the store. `registration`: of the cluster. */
export function storedDelta(record: DeltaRecord, { predecessors }: Pick<Registration, 'predecessors'>): StoredDelta {
  return { ...record, predecessors };
}

/** Rejects if the store does not answer. `registration`: of the cluster, as it is when the store has answered. */
export async function readLog(
  store: SnapshotStore,
  cluster: string,
  registration: () => Pick<Registration, 'predecessors'> | undefined,
): Promise<StoredLog> {
  const prefix = recordKey.historyOf(cluster);
  const found: (readonly [slot: number, StoredDelta])[] = [];
  for await (const { key, value } of store.list(prefix)) {
    const slot = Number(key.slice(prefix.length));
    const json = parseJsonBytes(value);
    if (Number.isInteger(slot) && isStoredDelta(json)) found.push([slot, json as unknown as StoredDelta]);
  }
  const now = registration()?.predecessors;
  const ofNow = found.filter(([, { predecessors }]) => predecessors === now);
  const ofEarlier = found.filter(([, { predecessors }]) => predecessors !== now);
  return {
    deltas: new Map(ofNow.map(([slot, { predecessors: _, ...record }]) => [slot, record])),
    outdated: ofEarlier.map(([slot]) => slot),
  };
}

/** The keys of all slots, used or not. */
export function logKeysOf(cluster: string): readonly string[] {
  return Array.from({ length: MOST_DELTAS }, (_, slot) => recordKey.history(cluster, slot));
}

/** A damaged record is missing. */
function isStoredDelta(json: JsonValue | undefined): boolean {
  const { position, at, revisions, moved, answer, counts, objects, predecessors } = objectOf(json);
  const { epoch, sequence } = objectOf(position);
  return (
    [epoch, sequence, at, predecessors].every((each) => typeof each === 'number') &&
    [revisions, moved, objects].every(Array.isArray) &&
    [answer, counts].every(isJsonObject)
  );
}

export function inOrder(a: DeltaRecord, b: DeltaRecord): number {
  return comparePositions(a.position, b.position);
}

/** Number of its objects, listed or not. */
export function totalOf({ counts: { create, change, remove, touch } }: DeltaRecord): number {
  return create + change + remove + touch;
}

/** The bytes of a record in the store. */
export function sizeOf({ objects, ...head }: DeltaRecord): number {
  return bytesOf({ ...head, objects: [] }) + objects.reduce((sum, object) => sum + sizeOfObject(object), 0);
}

/** With the comma that follows it. Texts of an agent may take six bytes a character. */
export function sizeOfObject(object: Partial<ChangedObject>): number {
  return bytesOf(object) + 1;
}

function bytesOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
}
