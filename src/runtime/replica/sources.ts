import type { Engine } from '../../engine/graph.ts';
import type { FileValue, SourceValue } from '../../engine/inputs.ts';
import type { FileReading } from '../../model/fleet/desired.ts';
import type { FileSignatures } from '../../model/fleet/file-signature.ts';
import type { SourceRights } from '../../model/fleet/source-rights.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { RevisionObservation, Source } from '../../ports/source.ts';
import type { ServerCore } from '../core.ts';
import type { ServerBus } from '../events.ts';
import { readJson } from '../stored/json-record.ts';
import { readMap } from '../stored/read-map.ts';
import { jsonCodec, type MapReading, type StoredMap, type ValueCodec } from '../stored/stored-map.ts';
import {
  ADMISSION_KEY,
  type AdmissionCounter,
  type AdmissionRecord,
  type AdmittedRevision,
  type AdmittedSource,
  isSamePosition,
  parseAdmission,
  parsePosition,
} from './admission.ts';

/** Takes what the sources of this process observe. */
export interface Intake {
  observed(observation: RevisionObservation): void;
  /** The condition of a source has changed; `hasSynced`: its last look has succeeded. */
  conditionChanged?(source: string, hasSynced: boolean): void;
  /** The admitted revision of a source; undefined: none yet. */
  admitted(source: string): AdmittedRevision | undefined;
  /** An observation is staged that the engine has not committed yet. */
  isStaging?(): boolean;
}

/** Changes of one source's files by path; null: the file is removed. */
export type FileChanges = ReadonlyMap<string, FileReading | null>;

/** Stages one file of a source; null: it is removed. */
export function stageFile(
  engine: Pick<Engine, 'inputs'>,
  source: string,
  path: string,
  file: FileReading | null,
): void {
  if (file === null) engine.inputs.files.delete(source, path);
  else {
    const { findings, blob, notRead } = file;
    const about = notRead === undefined ? { findings } : { findings, notRead };
    const value: FileValue = file.readable
      ? { readable: true, ...about, documents: file.documents.map(({ identity, content }) => ({ identity, content })) }
      : { readable: false, ...about };
    engine.inputs.files.set(source, path, value, { blob });
  }
}

/** What the documents of a source are judged by, as a part of its input. */
export function judgedBy(
  rights: SourceRights | undefined,
  signatures: FileSignatures | undefined,
): Pick<SourceValue, 'rights' | 'signatures'> {
  return { ...(rights && { rights }), ...(signatures && { signatures }) };
}

interface StagedDeps extends Pick<ServerCore, 'engine' | 'loop'> {
  readonly counter: AdmissionCounter;
}

export type StagedSources = ReturnType<typeof createStagedSources>;

/** The sources as they are staged in this process: always one complete admission. */
export function createStagedSources({ engine, loop, counter }: StagedDeps) {
  /** By source and path. */
  const staged = new Map<string, Map<string, FileReading>>();
  /** As staged. */
  let current: AdmissionRecord | undefined;
  /** As of the last commit, published or not. */
  let committed: AdmissionRecord | undefined;
  /** As of the last commit that is published. */
  let published: AdmissionRecord | undefined;

  const remember = (name: string, changes: FileChanges): void => {
    const files = staged.get(name) ?? new Map<string, FileReading>();
    staged.set(name, files);
    for (const [path, file] of changes) setOrDelete(files, path, file);
  };
  /** The staged files of a source, by path. */
  const files = (name: string): ReadonlyMap<string, FileReading> => staged.get(name) ?? new Map();
  return {
    files,
    /** The last admission that is staged, which the next one starts from; undefined: none yet. */
    record: (): AdmissionRecord | undefined => current,
    source: (wanted: string): AdmittedSource | undefined => sourceOf(current, wanted),
    committedSource: (wanted: string): AdmittedSource | undefined => sourceOf(committed, wanted),
    /** The admission that what others see was computed from; undefined: none yet. */
    published: (): AdmissionRecord | undefined => published,
    publishedSource: (wanted: string): AdmittedSource | undefined => sourceOf(published, wanted),
    /** The changes from the staged files of a source to these files. */
    difference: (name: string, wanted: ReadonlyMap<string, FileReading>): FileChanges => {
      const before = files(name);
      const changes = new Map<string, FileReading | null>();
      for (const path of before.keys()) if (!wanted.has(path)) changes.set(path, null);
      for (const [path, file] of wanted) {
        const known = before.get(path);
        if (known === undefined || !isSameReading(known, file)) changes.set(path, file);
      }
      return changes;
    },
    /**
     * Stages an admission with the changed files of its sources; `also` stages more in the same transaction. Resolves when it
     * is committed and the sinks were notified.
     */
    enter: (record: AdmissionRecord, changes: ReadonlyMap<string, FileChanges>, also?: () => void): Promise<void> => {
      const names = new Set(record.sources.map(({ name }) => name));
      const gone = (current?.sources ?? []).flatMap(({ name }) => (names.has(name) ? [] : [name]));
      const stageAll = function* (): Generator<undefined> {
        for (const name of gone) {
          engine.inputs.files.drop(name);
          engine.inputs.sources.delete('', name);
        }
        for (const [order, { name, revision, rights }] of record.sources.entries()) {
          const read = revision !== undefined;
          engine.inputs.sources.set('', name, { order, read, ...judgedBy(rights, revision?.signatures) });
        }
        for (const [name, changed] of changes) {
          for (const [path, file] of changed) {
            stageFile(engine, name, path, file);
            yield;
          }
        }
        also?.();
      };
      for (const name of gone) staged.delete(name);
      for (const [name, changed] of changes) remember(name, changed);
      current = record;
      loop.transact(() => undefined, {
        staging: stageAll(),
        committed: () => {
          committed = record;
          counter.set(record.position);
        },
        published: () => {
          published = record;
        },
      });
      return loop.settled();
    },
  };
}

function sourceOf(record: AdmissionRecord | undefined, wanted: string): AdmittedSource | undefined {
  return record?.sources.find(({ name }) => name === wanted);
}

/**
 * True if two readings of one path are the same. The same content is judged differently beside other files: a kustomization claims
 * it, or a Placement wants it.
 */
function isSameReading(a: FileReading, b: FileReading): boolean {
  return a.blob === b.blob && a.readable === b.readable && a.notRead === b.notRead;
}

function setOrDelete(files: Map<string, FileReading>, path: string, file: FileReading | null): void {
  if (file === null) files.delete(path);
  else files.set(path, file);
}

/** Name of the stored map of a source's files, as the leader has read them. */
export const treeName = (source: string): string => `trees/${source}`;

export const fileCodec: ValueCodec<FileReading> = { ...jsonCodec(), equals: isSameReading };

export type FollowedTrees = ReturnType<typeof createFollowedTrees>;

/** Reads the leader's admissions from the store. Each call that reads rejects when the store does not answer. */
export function createFollowedTrees(store: SnapshotStore, staged: StagedSources) {
  const readings = new Map<string, MapReading<FileReading>>();
  const before = (source: string): StoredMap<FileReading> | undefined => {
    const reading = readings.get(source);
    return reading?.type === 'complete' ? reading.map : undefined;
  };
  return {
    /** The stored files of a source as read last; undefined: the store did not answer. */
    last: (source: string): MapReading<FileReading> | undefined => readings.get(source),
    /** Reads the stored files of these sources, for a new leader that will write them. */
    reread: async (sources: readonly string[]): Promise<void> => {
      const known = new Map(sources.map((name) => [name, before(name)]));
      readings.clear();
      for (const [name, map] of known) readings.set(name, await readMap(store, treeName(name), fileCodec, map));
    },
    /** The record without the files; undefined: there is none. */
    peek: async () => parseAdmission((await readJson(store, ADMISSION_KEY)).value),
    /** The changes by source from what is staged to the admission; undefined: some files of it are missing at the moment. */
    read: async (record: AdmissionRecord): Promise<ReadonlyMap<string, FileChanges> | undefined> => {
      const changes = new Map<string, FileChanges>();
      for (const { name, at, engine } of record.sources) {
        const known = staged.source(name);
        if (at === undefined || isSamePosition(known?.at, at)) continue;
        const reading = await readMap(store, treeName(name), fileCodec, before(name));
        readings.set(name, reading);
        // The files of another admission may be in the store already, before its record.
        if (reading.type !== 'complete' || !isSamePosition(parsePosition(reading.map.meta), at)) return undefined;
        // Another generation of the engine may have decoded the same files differently.
        const files = known?.engine === engine ? [] : reading.map.values;
        changes.set(name, new Map([...staged.difference(name, reading.map.values), ...files]));
      }
      return changes;
    },
  };
}

/** What one source of this process has read, whether it is admitted or not. */
export interface OwnSource {
  readonly source: Source;
  readonly reading: AdmittedRevision | undefined;
  /** All files of the reading, by path. */
  readonly files: ReadonlyMap<string, FileReading>;
  /** The changes from the admitted files to the reading. */
  readonly changes: FileChanges;
  /** It was read, or found unchanged, in the current turn: it is not older than what an earlier leader has admitted. */
  readonly isFresh: boolean;
}

interface State extends OwnSource {
  readonly files: Map<string, FileReading>;
  reading: AdmittedRevision | undefined;
  changes: Map<string, FileReading | null>;
  isFresh: boolean;
  hasSynced: boolean;
}

export type OwnSources = ReturnType<typeof createOwnSources>;

/**
 * The sources of one of several replicas. Each replica follows all of its sources, so that it can lead at any time; what it
 * reads is not staged before the leader has admitted it.
 */
export function createOwnSources(sources: readonly Source[], staged: StagedSources, events: Pick<ServerBus, 'emit'>) {
  const states = new Map<string, State>(
    sources.map((source) => [
      source.name,
      { source, files: new Map(), reading: undefined, changes: new Map(), isFresh: false, hasSynced: false },
    ]),
  );
  let turn: object | undefined;

  const compare = (state: State): void => {
    state.changes = new Map(staged.difference(state.source.name, state.files));
  };
  const lookAgain = async (state: State): Promise<void> => {
    const begun = turn;
    await state.source.look?.();
    if (turn !== begun || !state.hasSynced) return;
    state.isFresh = true;
    events.emit('sourceRead');
  };
  return {
    observed: ({ changes, ...reading }: RevisionObservation): void => {
      const state = states.get(reading.source);
      if (state === undefined) return;
      state.reading = reading;
      state.isFresh = true;
      for (const { path, file } of changes) {
        setOrDelete(state.files, path, file);
        if (turn !== undefined) state.changes.set(path, file);
      }
      events.emit('sourceRead');
    },
    /** Whether the reading of a source is of the current turn, and committed; undefined: another replica has the source. */
    hasCommitted: (name: string): boolean | undefined => {
      const state = states.get(name);
      if (state === undefined) return undefined;
      const { isFresh, reading, changes } = state;
      if (!isFresh || reading === undefined || changes.size > 0) return false;
      return staged.committedSource(name)?.revision?.revision === reading.revision;
    },
    admitted: (name: string) => admittedOf(staged, states.get(name)),
    all: (): readonly OwnSource[] => [...states.values()],
    /** A turn as leader begins: compares everything with what is staged, and lets each source look again. */
    begin: (): void => {
      turn = {};
      for (const state of states.values()) {
        compare(state);
        state.isFresh = false;
        void lookAgain(state);
      }
    },
    /** The turn is over: only the readings are kept. */
    end: (): void => {
      turn = undefined;
      for (const state of states.values()) state.changes = new Map();
    },
    /** The changes of the source, which are being admitted; later changes start from them. `complete`: with every file. */
    take: (name: string, complete: boolean): FileChanges => {
      const state = states.get(name);
      if (state === undefined) return new Map();
      const taken = new Map([...state.changes, ...(complete ? state.files : [])]);
      state.changes = new Map();
      return taken;
    },
    /** The changes that were taken last are not admitted: they are due again, with what was read since. */
    putBack: (name: string): void => {
      const state = states.get(name);
      if (state !== undefined) compare(state);
    },
    conditionChanged: (name: string, hasSynced: boolean): void => {
      const state = states.get(name);
      if (state !== undefined) state.hasSynced = hasSynced;
      if (turn !== undefined && state !== undefined) state.isFresh ||= hasSynced;
      events.emit('sourceRead');
    },
  };
}

/** Diagnostics are known only of a revision that this process has read. */
function admittedOf(staged: StagedSources, state: State | undefined): AdmittedRevision | undefined {
  const revision = state === undefined ? undefined : staged.publishedSource(state.source.name)?.revision;
  if (state === undefined || revision === undefined) return undefined;
  const diagnostics = state.reading?.revision === revision.revision ? state.reading.diagnostics : [];
  return { source: state.source.name, ...revision, diagnostics };
}
