import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../../model/json.ts';
import { type AdmissionPosition, comparePositions } from '../../model/output.ts';
import type { AdmittedRevision } from './intake.ts';
import { readAdmission } from './records.ts';

/** What the leader has admitted, of all sources. */
export interface AdmissionRecord {
  readonly position: AdmissionPosition;
  /** The leader's: whoever computes otherwise does not send meanwhile. */
  readonly engine: number;
  /** Every source has synced or failed once: agents may come. */
  readonly open: boolean;
  /** In the order of the leader's configuration: earlier ones win conflicts. */
  readonly sources: readonly AdmittedSource[];
}

/** One source of it. */
export interface AdmittedSource {
  readonly name: string;
  /** What was admitted; absent: nothing yet. */
  readonly revision?: Omit<AdmittedRevision, 'source' | 'diagnostics'>;
  /** The admission that changed it last: its files in the store are those of that one. */
  readonly at?: AdmissionPosition;
  /** Of the leader that has read its files: another one may make something else of the same. */
  readonly engine?: number;
}

/** As it lies in the store. */
export function admissionJson({ position, engine, open, sources }: AdmissionRecord): JsonObject {
  return {
    ...positionJson(position),
    engine,
    open,
    sources: sources.map(({ name, revision, at, engine: readBy }) => ({
      name,
      ...(revision === undefined ? {} : { revision: revision as unknown as JsonValue }),
      ...(at === undefined ? {} : { at: positionJson(at) }),
      ...(readBy === undefined ? {} : { engine: readBy }),
    })),
  };
}

/** Undefined: that is no such record. */
export function parseAdmissionRecord(value: JsonValue | undefined): AdmissionRecord | undefined {
  const position = readAdmission(value);
  const { engine, open, sources } = objectOf(value);
  if (position === undefined || typeof engine !== 'number' || !Array.isArray(sources)) return undefined;
  return { position, engine, open: open === true, sources: sources.filter(isJsonObject).map(parseSource) };
}

function parseSource({ name, revision, at, engine }: JsonObject): AdmittedSource {
  const position = readAdmission(at);
  const { revision: id, state, description } = objectOf(revision);
  if (position === undefined || typeof id !== 'string') return { name: textOf(name) };
  const said = objectOf(description);
  return {
    name: textOf(name),
    at: position,
    ...(typeof engine === 'number' ? { engine } : {}),
    revision: {
      revision: id,
      state: state === 'whole' ? 'whole' : 'partial',
      ...(isJsonObject(description)
        ? {
            description: {
              subject: textOf(said.subject),
              author: textOf(said.author),
              committedAt: typeof said.committedAt === 'number' ? said.committedAt : 0,
            },
          }
        : {}),
    },
  };
}

/** The JSON of a position. */
export function positionJson({ epoch, sequence }: AdmissionPosition): JsonObject {
  return { epoch, sequence };
}

/** Are these the same admission? */
export function isSameAdmission(a: AdmissionPosition | undefined, b: AdmissionPosition | undefined): boolean {
  return a === undefined || b === undefined ? a === b : comparePositions(a, b) === 0;
}
