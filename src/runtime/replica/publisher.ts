import type { FileReading } from '../../model/desired.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import type { WriteGroup, WriteGuard } from '../stored/group.ts';
import type { Journal } from '../stored/journal.ts';
import type { MapWriter } from '../stored/map-writer.ts';
import type { MapReading } from '../stored/stored-map.ts';
import type { AdmissionCounter } from './admission-counter.ts';
import {
  type AdmissionRecord,
  type AdmittedSource,
  admissionJson,
  isSameAdmission,
  positionJson,
} from './admission-record.ts';
import { type FollowedTrees, fileCodec, treeName } from './followed-trees.ts';
import type { OwnSource, OwnSources } from './own-sources.ts';
import { ADMISSION_KEY, readAdmission, readJson } from './records.ts';
import type { FileChanges, StagedSources } from './staged-sources.ts';

/** Admits what the sources of the leader have read: first into the store, for all replicas, then here. */
export interface Publisher {
  /** A turn begins: nothing is admitted in it before. */
  begin(guard: WriteGuard): void;
  end(): void;
  /** What the leader writes beside its admissions, on the same condition; undefined: it does not lead. */
  group(): WriteGroup | undefined;
  /** The store may be older than what this replica has admitted: all of it is admitted anew, above. */
  lost(): void;
  /** A source may be suspended now: what was proposed of it and is not admitted yet is taken back at once. */
  reconsider(): void;
  /** Admits what there is to admit. True: not all of it could be, it is to be tried again. */
  run(): Promise<boolean>;
}

export interface PublisherDeps {
  readonly store: SnapshotStore;
  readonly journal: Journal;
  readonly counter: AdmissionCounter;
  readonly staged: StagedSources;
  readonly followed: FollowedTrees;
  readonly own: OwnSources;
  /** Every source has synced or failed once. */
  readonly allHaveSpoken: () => boolean;
  /** Sources that a live replica has configured. */
  readonly knownElsewhere: (source: string) => boolean;
  /** By the clock, also if nobody was told yet that the turn is over. */
  readonly leads: () => boolean;
  /** A person wants nothing new of it to be admitted for now. */
  readonly isSuspended: (source: string) => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

export interface PublisherOptions {
  readonly engine: number;
  /** Nothing is admitted that is not in the store: whoever leads next must find it there. */
  readonly needsStore: boolean;
}

interface Proposal {
  readonly record: AdmissionRecord;
  readonly changes: ReadonlyMap<string, FileChanges>;
  /** Sources of which it admits another revision. */
  readonly news: readonly string[];
}

interface Turn {
  readonly group: WriteGroup;
  readonly writers: Map<string, MapWriter<FileReading>>;
  proposal: Proposal | undefined;
  isForced: boolean;
  /** The store may lack what it had of the sources' files when the turn began. */
  wasLost: boolean;
}

const FLUSH_MS = 2_000;

export function createPublisher(deps: PublisherDeps, options: PublisherOptions): Publisher {
  const { store, journal, counter, staged, own, log } = deps;
  let turn: Turn | undefined;

  const isWritten = async ({ record }: Proposal): Promise<boolean> => {
    if (!(await journal.flush(FLUSH_MS))) return false;
    return isSameAdmission(readAdmission((await readJson(store, ADMISSION_KEY)).value), record.position);
  };
  const enter = (of: Turn, { record, changes }: Proposal): void => {
    of.proposal = undefined;
    const sources = record.sources.map(({ name, revision }) => `${name}: ${revision?.revision ?? 'not read'}`);
    log.info('admitted', { ...record.position, sources });
    staged.enter(record, changes);
  };

  return {
    begin: (guard) => {
      turn = { group: journal.group(guard), writers: new Map(), proposal: undefined, isForced: false, wasLost: false };
      own.begin();
    },
    end: () => {
      turn?.group.close();
      turn = undefined;
      own.end();
    },
    group: () => turn?.group,
    lost: () => {
      if (turn === undefined) return;
      const { epoch } = counter.current();
      counter.seen({ epoch: epoch + 1, sequence: 0 });
      turn.isForced = true;
      turn.wasLost = true;
    },
    reconsider: () => {
      if (turn?.proposal?.news.some(deps.isSuspended) !== true) return;
      withdraw(deps, turn, turn.proposal);
      turn.proposal = propose(deps, options, turn);
    },
    run: async () => {
      const of = turn;
      while (of !== undefined) {
        of.proposal ??= propose(deps, options, of);
        const { proposal } = of;
        if (proposal === undefined) return false;
        const written = await isWritten(proposal).catch((error: unknown) => {
          if (options.needsStore) throw error;
          return false;
        });
        // The turn may have ended meanwhile: then the one who leads now says what is admitted.
        if (turn !== of || !deps.leads()) return false;
        // It was taken back meanwhile.
        if (of.proposal !== proposal) continue;
        if (!written && options.needsStore) return true;
        enter(of, proposal);
      }
      return false;
    },
  };
}

/** What is to be admitted next; undefined: nothing. */
function propose(deps: PublisherDeps, options: PublisherOptions, turn: Turn): Proposal | undefined {
  const { counter, staged, own } = deps;
  const before = staged.record();
  const all = own.all();
  const isOthers = (name: string): boolean => staged.source(name)?.engine !== options.engine;
  const news = all.filter(
    (state) => !deps.isSuspended(state.source.name) && isNews(state, staged, isOthers(state.source.name)),
  );
  const written = all.filter((state) => news.includes(state) || isLacking(state, deps, turn));
  const raises = counter.isBehind() && all.every(({ isFresh, reading }) => isFresh && reading !== undefined);
  const sources: readonly string[] = all.map(({ source }) => source.name);
  const gone = (before?.sources ?? []).filter(({ name }) => !sources.includes(name));
  const kept = gone.filter(({ name }) => deps.knownElsewhere(name));
  const open = before?.open === true || deps.allHaveSpoken();
  const isSame =
    before !== undefined &&
    before.engine === options.engine &&
    before.open === open &&
    JSON.stringify(before.sources.map(({ name }) => name)) ===
      JSON.stringify([...sources, ...kept.map(({ name }) => name)]);
  if (written.length === 0 && !raises && isSame && !turn.isForced) return undefined;
  // Before every source has spoken once, and nothing was ever admitted, there is nothing that anybody could use.
  if (before === undefined && written.length === 0 && !open) return undefined;
  if (raises) counter.catchUp();
  const position = counter.next();
  const record: AdmissionRecord = {
    position,
    engine: options.engine,
    open,
    // What another replica has still stays until all agree that it is gone.
    sources: [
      ...all.map((state) =>
        written.includes(state) ? admittedAnew(state, options, position) : admittedBefore(state, staged),
      ),
      ...kept,
    ],
  };
  turn.isForced = false;
  counter.seen(position);
  const changes = new Map(written.map(({ source: { name } }) => [name, own.take(name, isOthers(name))]));
  write(deps, turn, record, changes, isOthers);
  return { record, changes, news: news.map(({ source: { name } }) => name) };
}

/**
 * Takes a proposal back: the store is to have the files that are admitted. It may have the proposal by now, and so the next
 * one is made in any case, above it.
 */
function withdraw({ own, staged }: PublisherDeps, turn: Turn, { changes }: Proposal): void {
  turn.isForced = true;
  for (const name of changes.keys()) {
    own.putBack(name);
    const writer = turn.writers.get(name);
    const at = staged.source(name)?.at;
    if (at === undefined) writer?.drop();
    else {
      writer?.replaceAll(staged.files(name));
      writer?.setMeta(positionJson(at));
    }
  }
}

/** It was read since the turn began, and is not what is admitted. */
function isNews({ source, reading, changes, isFresh }: OwnSource, staged: StagedSources, isOthers: boolean): boolean {
  if (reading === undefined || !isFresh) return false;
  if (isOthers) return true;
  const admitted = staged.source(source.name)?.revision;
  return changes.size > 0 || admitted?.revision !== reading.revision || admitted.state !== reading.state;
}

/** It was read as it is admitted, and the store lacks its files: another replica could not start from it. */
function isLacking(
  { source: { name }, reading, changes, isFresh }: OwnSource,
  { staged, followed }: PublisherDeps,
  { writers, wasLost }: Turn,
): boolean {
  const admitted = staged.source(name)?.revision;
  const isAdmitted = reading !== undefined && changes.size === 0 && reading.revision === admitted?.revision;
  if (!isAdmitted || writers.has(name)) return false;
  return wasLost || (isFresh && !isThere(followed.last(name), staged.source(name)?.at));
}

/** Are these the files of that admission? */
function isThere(reading: MapReading<FileReading> | undefined, at: AdmissionRecord['position'] | undefined): boolean {
  return reading?.type === 'complete' && isSameAdmission(readAdmission(reading.map.meta), at);
}

function admittedBefore({ source: { name } }: OwnSource, staged: StagedSources): AdmittedSource {
  return staged.source(name) ?? { name };
}

function admittedAnew(
  { source: { name }, reading }: OwnSource,
  { engine }: PublisherOptions,
  at: AdmissionRecord['position'],
): AdmittedSource {
  if (reading === undefined) return { name };
  const { source: _, diagnostics: __, ...revision } = reading;
  return { name, revision, at, engine };
}

/**
 * Everything of one admission goes into the store in one moment. `isOthers`: another generation of the engine has written
 * what is there of a source, which may say something else of the same files.
 */
function write(
  { followed, own }: PublisherDeps,
  { group, writers, wasLost }: Turn,
  record: AdmissionRecord,
  changes: ReadonlyMap<string, FileChanges>,
  isOthers: (source: string) => boolean,
): void {
  for (const [name, files] of changes) {
    const known = writers.get(name);
    const writer =
      known ?? group.map(treeName(name), fileCodec, isOthers(name) || wasLost ? undefined : followed.last(name));
    writers.set(name, writer);
    if (known === undefined) writer.replaceAll(own.files(name));
    else for (const [path, file] of files) writer.set(path, file);
    writer.setMeta(positionJson(record.position));
  }
  group.put(ADMISSION_KEY, admissionJson(record));
}
