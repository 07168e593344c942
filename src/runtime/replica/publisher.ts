import type { FileReading } from '../../model/fleet/desired.ts';
import { signaturesJson } from '../../model/fleet/file-signature.ts';
import type { AdmissionPosition } from '../../model/fleet/output.ts';
import { rightsJson, type SourceRights } from '../../model/fleet/source-rights.ts';
import { jsonEquals } from '../../model/text/json.ts';
import { given } from '../../model/values/given.ts';
import type { ServerCore } from '../core.ts';
import type { WriteGroup, WriteGuard } from '../stored/group.ts';
import { readJson } from '../stored/json-record.ts';
import type { MapWriter } from '../stored/map-writer.ts';
import {
  ADMISSION_KEY,
  type AdmissionCounter,
  type AdmissionRecord,
  type AdmittedSource,
  admissionJson,
  isSamePosition,
  parsePosition,
  positionJson,
} from './admission.ts';
import {
  type FileChanges,
  type FollowedTrees,
  fileCodec,
  type OwnSource,
  type OwnSources,
  type StagedSources,
  treeName,
} from './sources.ts';

interface PublisherDeps extends Pick<ServerCore, 'store' | 'journal' | 'log'> {
  readonly counter: AdmissionCounter;
  readonly staged: StagedSources;
  readonly followed: FollowedTrees;
  readonly own: OwnSources;
  /** Every source has synced or failed once. */
  readonly allHaveSpoken: () => boolean;
  /** Another live replica has configured the source. */
  readonly knownElsewhere: (source: string) => boolean;
  /** By the clock of this process. */
  readonly leads: () => boolean;
  readonly isSuspended: (source: string) => boolean;
}

interface PublisherOptions {
  /** Generation of the engine. */
  readonly engine: number;
  /** Nothing is admitted that is not in the store: the next leader must find it there. */
  readonly needsStore: boolean;
}

/** An admission on its way to the store. */
interface Proposal {
  readonly record: AdmissionRecord;
  readonly changes: ReadonlyMap<string, FileChanges>;
  /** Sources for which it admits another revision. */
  readonly updated: readonly string[];
}

interface Turn {
  readonly group: WriteGroup;
  readonly writers: Map<string, MapWriter<FileReading>>;
  proposal: Proposal | undefined;
  /** The next admission is made also if nothing has changed. */
  isForced: boolean;
  /** The store may lack files that it had when the turn began. */
  wasLost: boolean;
}

const FLUSH_MS = 2_000;

export type Publisher = ReturnType<typeof createPublisher>;

/** Admits what the sources of the leader have read: writes it to the store for all replicas, then stages it. */
export function createPublisher(deps: PublisherDeps, options: PublisherOptions) {
  const { store, journal, counter, staged, own, log } = deps;
  let turn: Turn | undefined;

  const isWritten = async ({ record }: Proposal): Promise<boolean> => {
    if (!(await journal.flush(FLUSH_MS))) return false;
    return isSamePosition(parsePosition((await readJson(store, ADMISSION_KEY)).value), record.position);
  };
  const enter = (current: Turn, { record, changes }: Proposal): Promise<void> => {
    current.proposal = undefined;
    const sources = record.sources.map(({ name, revision }) => `${name}: ${revision?.revision ?? 'not read'}`);
    log.info('admitted', { ...record.position, sources });
    return staged.enter(record, changes);
  };

  return {
    /** A turn begins. */
    begin: (guard: WriteGuard): void => {
      turn = { group: journal.group(guard), writers: new Map(), proposal: undefined, isForced: false, wasLost: false };
      own.begin();
    },
    end: (): void => {
      turn?.group.close();
      turn = undefined;
      own.end();
    },
    /** Writes further records of the leader on the same condition; undefined: this replica does not lead. */
    group: () => turn?.group,
    /** The store may be older than what this replica has admitted: admits all of it again, in a higher epoch. */
    storeLost: (): void => {
      if (turn === undefined) return;
      counter.seen({ epoch: counter.current().epoch + 1, sequence: 0 });
      turn.isForced = true;
      turn.wasLost = true;
    },
    /** A source may be suspended now: takes its proposal back if it is not admitted yet. */
    reconsider: (): void => {
      if (turn?.proposal?.updated.some(deps.isSuspended) !== true) return;
      withdraw(deps, turn, turn.proposal);
      turn.proposal = propose(deps, options, turn);
    },
    /** Admits what is due. True: not all of it could be admitted, and it is to be tried again. */
    run: async (): Promise<boolean> => {
      const current = turn;
      while (current !== undefined) {
        current.proposal ??= propose(deps, options, current);
        const { proposal } = current;
        if (proposal === undefined) return false;
        const written = await isWritten(proposal).catch((error: unknown) => {
          if (options.needsStore) throw error;
          return false;
        });
        // The turn may have ended meanwhile: then the next leader decides what is admitted.
        if (turn !== current || !deps.leads()) return false;
        // The proposal was taken back meanwhile.
        if (current.proposal !== proposal) continue;
        if (!written && options.needsStore) return true;
        await enter(current, proposal);
        if (turn !== current || !deps.leads()) return false;
      }
      return false;
    },
  };
}

/** The next admission, put into the turn's group; undefined: there is nothing to admit. */
function propose(deps: PublisherDeps, options: PublisherOptions, turn: Turn): Proposal | undefined {
  const { counter, staged, own, isSuspended } = deps;
  const { engine } = options;
  const before = staged.record();
  const all = own.all();
  /** Its files in the store were decoded by another generation of the engine. */
  const isOtherGeneration = (name: string): boolean => staged.source(name)?.engine !== engine;
  const updated = all.filter((state) => !isSuspended(state.source.name) && isUpdated(state, staged, isOtherGeneration));
  const written = all.filter((state) => updated.includes(state) || isLacking(state, deps, turn));
  const raises = counter.isBehind() && all.every(({ isFresh, reading }) => isFresh && reading !== undefined);
  const names: readonly string[] = all.map(({ source }) => source.name);
  const gone = (before?.sources ?? []).filter(({ name }) => !names.includes(name));
  // A source that another replica has configured stays until no live replica has it.
  const kept = gone.filter(({ name }) => deps.knownElsewhere(name));
  const open = before?.open === true || deps.allHaveSpoken();
  const next = [...names, ...kept.map(({ name }) => name)];
  const isSame =
    before?.engine === engine &&
    before.open === open &&
    JSON.stringify(before.sources.map(({ name }) => name)) === JSON.stringify(next) &&
    all.every(({ source: { name, rights } }) => isSameRights(staged.source(name)?.rights, rights));
  if (written.length === 0 && !raises && isSame && !turn.isForced) return undefined;
  // Before every source has synced or failed once, an empty first admission is of no use.
  if (before === undefined && written.length === 0 && !open) return undefined;
  if (raises) counter.catchUp();
  const position = counter.next();
  const record: AdmissionRecord = {
    position,
    engine,
    open,
    sources: [
      ...all.map((state): AdmittedSource => {
        const { name, rights } = state.source;
        const { rights: _, ...source } = written.includes(state)
          ? admittedAnew(state, engine, position)
          : (staged.source(name) ?? { name });
        return { ...source, ...given({ rights }) };
      }),
      ...kept,
    ],
  };
  turn.isForced = false;
  counter.seen(position);
  const changes = new Map(written.map(({ source: { name } }) => [name, own.take(name, isOtherGeneration(name))]));
  write(deps, turn, record, changes, isOtherGeneration);
  return { record, changes, updated: updated.map(({ source: { name } }) => name) };
}

function isSameRights(a: SourceRights | undefined, b: SourceRights | undefined): boolean {
  return jsonEquals(a && rightsJson(a), b && rightsJson(b));
}

/**
 * Writes the admitted files instead of the proposed ones. The store may have the proposal by now, so another admission is
 * made in any case, above it.
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

/** The source was read in this turn, and the reading differs from what is admitted. */
function isUpdated(
  { source: { name }, reading, changes, isFresh }: OwnSource,
  staged: StagedSources,
  isOtherGeneration: (source: string) => boolean,
): boolean {
  if (reading === undefined || !isFresh) return false;
  if (isOtherGeneration(name) || changes.size > 0) return true;
  const admitted = staged.source(name)?.revision;
  const { revision, state, signatures } = reading;
  if (admitted?.revision !== revision || admitted.state !== state) return true;
  // Other signers may be configured.
  return !jsonEquals(
    admitted.signatures && signaturesJson(admitted.signatures),
    signatures && signaturesJson(signatures),
  );
}

/** The reading is admitted, and the store lacks its files: another replica could not start from it. */
function isLacking(
  { source: { name }, reading, changes, isFresh }: OwnSource,
  { staged, followed }: PublisherDeps,
  { writers, wasLost }: Turn,
): boolean {
  const admitted = staged.source(name);
  const isAdmitted = reading !== undefined && changes.size === 0 && reading.revision === admitted?.revision?.revision;
  if (!isAdmitted || writers.has(name)) return false;
  const stored = followed.last(name);
  const isStored = stored?.type === 'complete' && isSamePosition(parsePosition(stored.map.meta), admitted?.at);
  return wasLost || (isFresh && !isStored);
}

function admittedAnew({ source: { name }, reading }: OwnSource, engine: number, at: AdmissionPosition): AdmittedSource {
  if (reading === undefined) return { name };
  const { source: _, diagnostics: __, ...revision } = reading;
  return { name, revision, at, engine };
}

/** Puts everything of one admission into the group, which writes it in one batch. */
function write(
  { followed, own }: PublisherDeps,
  { group, writers, wasLost }: Turn,
  record: AdmissionRecord,
  changes: ReadonlyMap<string, FileChanges>,
  isOtherGeneration: (source: string) => boolean,
): void {
  for (const [name, changed] of changes) {
    const known = writers.get(name);
    const stored = isOtherGeneration(name) || wasLost ? undefined : followed.last(name);
    const writer = known ?? group.map(treeName(name), fileCodec, stored);
    writers.set(name, writer);
    if (known === undefined) writer.replaceAll(own.all().find(({ source }) => source.name === name)?.files ?? []);
    else for (const [path, file] of changed) writer.set(path, file);
    writer.setMeta(positionJson(record.position));
  }
  group.put(ADMISSION_KEY, admissionJson(record));
}
