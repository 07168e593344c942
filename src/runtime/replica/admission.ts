import { parseSignatures } from '../../model/fleet/file-signature.ts';
import { type AdmissionPosition, comparePositions, positionAfter } from '../../model/fleet/output.ts';
import { parseRights, rightsJson, type SourceRights } from '../../model/fleet/source-rights.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../../model/text/json.ts';
import { given } from '../../model/values/given.ts';
import type { RevisionObservation } from '../../ports/source.ts';

/**
 * Raised whenever the engine may compute other outputs from equal inputs. Replicas of different generations do not send
 * at the same time: otherwise outputs would alternate during an upgrade.
 */
export const ENGINE_GENERATION = 5;

/** The record of the admission: written by the leader, or by the only server. */
export const ADMISSION_KEY = 'admission';

/** A revision that the fleet's outputs are computed from. */
export type AdmittedRevision = Omit<RevisionObservation, 'changes'>;

/** What the leader has admitted, of all sources. */
export interface AdmissionRecord {
  readonly position: AdmissionPosition;
  /** Generation of the leader's engine: replicas of another generation send nothing meanwhile. */
  readonly engine: number;
  /** Every source has synced or failed once: agents may connect. */
  readonly open: boolean;
  /** In the order of the leader's configuration: earlier ones win conflicts. */
  readonly sources: readonly AdmittedSource[];
}

/** One source of an admission. */
export interface AdmittedSource {
  readonly name: string;
  /** Absent: no revision was admitted yet. */
  readonly revision?: Omit<AdmittedRevision, 'source' | 'diagnostics'>;
  /** What the configuration of the leader lets its documents say; absent: everything. */
  readonly rights?: SourceRights;
  /** The admission that changed this source last; the stored files of the source carry the same position. */
  readonly at?: AdmissionPosition;
  /** Generation of the engine that has read the files: another one may decode the same files differently. */
  readonly engine?: number;
}

/** The JSON of an admission in the store. */
export function admissionJson({ position, ...record }: AdmissionRecord) {
  const sources = record.sources.map(({ rights, ...source }) => ({
    ...source,
    ...(rights === undefined ? {} : { rights: rightsJson(rights) }),
  }));
  return { ...position, ...record, sources };
}

/** Undefined: the value is not an admission. */
export function parseAdmission(value: JsonValue | undefined): AdmissionRecord | undefined {
  const position = parsePosition(value);
  const { engine, open, sources } = objectOf(value);
  if (position === undefined || typeof engine !== 'number' || !Array.isArray(sources)) return undefined;
  return { position, engine, open: open === true, sources: sources.filter(isJsonObject).map(parseSource) };
}

function parseSource({ rights: written, ...source }: JsonObject): AdmittedSource {
  const rights = parseRights(written);
  return { ...parseAdmitted(source), ...given({ rights }) };
}

function parseAdmitted({ name, revision, at, engine }: JsonObject): AdmittedSource {
  const position = parsePosition(at);
  const { revision: id, state, description, signatures } = objectOf(revision);
  const verdicts = parseSignatures(signatures);
  if (position === undefined || typeof id !== 'string') return { name: textOf(name) };
  const { subject, author, committedAt } = objectOf(description);
  const commit = {
    subject: textOf(subject),
    author: textOf(author),
    committedAt: typeof committedAt === 'number' ? committedAt : 0,
  };
  return {
    name: textOf(name),
    at: position,
    ...(typeof engine === 'number' ? { engine } : {}),
    revision: {
      revision: id,
      state: state === 'complete' ? 'complete' : 'partial',
      ...(isJsonObject(description) ? { description: commit } : {}),
      ...given({ signatures: verdicts }),
    },
  };
}

export function positionJson({ epoch, sequence }: AdmissionPosition): JsonObject {
  return { epoch, sequence };
}

/** Undefined: the value is not a position. */
export function parsePosition(value: JsonValue | undefined): AdmissionPosition | undefined {
  const { epoch, sequence } = objectOf(value);
  return isCount(epoch) && isCount(sequence) ? { epoch, sequence } : undefined;
}

function isCount(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

export function isSamePosition(a: AdmissionPosition | undefined, b: AdmissionPosition | undefined): boolean {
  return a === undefined || b === undefined ? a === b : comparePositions(a, b) === 0;
}

export type AdmissionCounter = ReturnType<typeof createAdmissionCounter>;

/**
 * Numbers the admissions of a fleet, so that an agent can tell a later one from an earlier one, whichever replica sends it.
 * `stored`: as last written; undefined: nothing was admitted in this epoch.
 */
export function createAdmissionCounter(epoch: number, stored: AdmissionPosition | undefined) {
  let current = later(stored ?? { epoch: 0, sequence: 0 }, { epoch, sequence: 0 });
  let highest = current;
  /** Once every source was read anew, admissions come after this one. */
  let goal = current;
  /** The highest that another process has proven. */
  let proven = current;
  return {
    /** Of what is admitted now; never becomes lower. */
    current: (): AdmissionPosition => current,
    /** Of the next admission. */
    next: (): AdmissionPosition => positionAfter(highest),
    /** It is admitted. */
    set: (position: AdmissionPosition): void => {
      current = later(current, position);
      highest = later(highest, position);
    },
    /** Another replica or the store knows this one: the next admission comes after it. */
    seen: (position: AdmissionPosition): void => {
      highest = later(highest, position);
    },
    /**
     * The store may be older than the last admission: a new epoch begins once every source was read anew. `now`:
     * milliseconds since 1970.
     */
    planEpoch: (now: number): void => {
      goal = later(goal, { epoch: Math.max(now, highest.epoch + 1), sequence: 0 });
    },
    /** A server has made this one: the tag of an agent proves it (`provenAdmission`). See `catchUp`. Undefined: none is proven. */
    stated: (position: AdmissionPosition | undefined): void => {
      if (position === undefined) return;
      goal = later(goal, position);
      proven = later(proven, position);
    },
    /** A proven admission that is later than all that the store and this process know: the store is an older copy. */
    provenLoss: (): AdmissionPosition | undefined => (comparePositions(highest, proven) < 0 ? proven : undefined),
    /** Admissions are to be raised once every source was read anew. */
    isBehind: (): boolean => comparePositions(current, later(highest, goal)) < 0,
    /** Every source was read anew: the next admission comes after all that was planned and stated. */
    catchUp: (): void => {
      highest = later(highest, goal);
    },
  };
}

function later(a: AdmissionPosition, b: AdmissionPosition): AdmissionPosition {
  return comparePositions(a, b) < 0 ? b : a;
}
