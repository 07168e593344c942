import type { FileReading } from '../../model/desired.ts';
import type { RevisionObservation, Source } from '../../ports/source.ts';
import type { AdmittedRevision, Intake } from './intake.ts';
import type { FileChanges, StagedSources } from './staged-sources.ts';

/** What one source of this process has read, whether it is admitted or not. */
export interface OwnSource {
  readonly source: Source;
  readonly reading: AdmittedRevision | undefined;
  /** What leads from what is admitted to it. */
  readonly changes: FileChanges;
  /** It was read, or found unchanged, since this turn began: it is not older than what an earlier leader has admitted. */
  readonly isFresh: boolean;
}

/**
 * The sources of one of several replicas. All of them follow, so that another one can go on at once; what they read is
 * kept aside, and the leader's is admitted.
 */
export interface OwnSources extends Intake {
  all(): readonly OwnSource[];
  /** A turn as leader begins: everything is compared with what is staged, and looked at anew. */
  begin(): void;
  /** A turn is over: only what is read is remembered. */
  end(): void;
  /** These changes are being admitted: what is read from now on comes after them. `whole`: every file is among them. */
  take(source: string, whole: boolean): FileChanges;
  /** What was taken of it last is not admitted: it is to be admitted with what was read since. */
  putBack(source: string): void;
  /** Everything that was read of it. */
  files(source: string): ReadonlyMap<string, FileReading>;
  /** How a source is has changed. */
  conditionChanged(source: string): void;
}

interface State {
  readonly source: Source;
  readonly files: Map<string, FileReading>;
  reading: AdmittedRevision | undefined;
  changes: Map<string, FileReading | null>;
  isFresh: boolean;
}

/** `changed`: there may be something to admit. `hasSynced`: the last look of a source has succeeded. */
export function createOwnSources(deps: {
  readonly sources: readonly Source[];
  readonly staged: StagedSources;
  readonly hasSynced: (source: string) => boolean;
  readonly changed: () => void;
}): OwnSources {
  const { staged, hasSynced, changed } = deps;
  const states = new Map<string, State>(
    deps.sources.map((source) => [
      source.name,
      { source, files: new Map(), reading: undefined, changes: new Map(), isFresh: false },
    ]),
  );
  let turn: object | undefined;

  const compare = (state: State): void => {
    state.changes = new Map(staged.difference(state.source.name, state.files));
  };
  const lookAnew = async (state: State): Promise<void> => {
    const begun = turn;
    await state.source.look?.();
    if (turn !== begun || !hasSynced(state.source.name)) return;
    state.isFresh = true;
    changed();
  };

  return {
    observed: (observation) => {
      const state = states.get(observation.source);
      if (state === undefined) return;
      take(state, observation);
      state.isFresh = true;
      if (turn !== undefined) for (const { path, file } of observation.changes) state.changes.set(path, file);
      changed();
    },
    admitted: (name) => admittedOf(staged, states.get(name)),
    all: () => [...states.values()],
    begin: () => {
      turn = {};
      for (const state of states.values()) {
        compare(state);
        state.isFresh = false;
        void lookAnew(state);
      }
    },
    end: () => {
      turn = undefined;
      for (const state of states.values()) state.changes = new Map();
    },
    take: (name, whole) => {
      const state = states.get(name);
      const taken = new Map([...(state?.changes ?? []), ...(whole ? (state?.files ?? []) : [])]);
      if (state !== undefined) state.changes = new Map();
      return taken;
    },
    putBack: (name) => {
      const state = states.get(name);
      if (state !== undefined) compare(state);
    },
    files: (name) => states.get(name)?.files ?? new Map(),
    conditionChanged: (name) => {
      const state = states.get(name);
      if (turn !== undefined && state !== undefined && !state.isFresh && hasSynced(name)) state.isFresh = true;
      changed();
    },
  };
}

function take(state: State, { changes, ...said }: RevisionObservation): void {
  state.reading = said;
  for (const { path, file } of changes) {
    if (file === null) state.files.delete(path);
    else state.files.set(path, file);
  }
}

/** Of a revision that this process has not read, nothing is known to be said about its files. */
function admittedOf(staged: StagedSources, state: State | undefined): AdmittedRevision | undefined {
  const revision = state === undefined ? undefined : staged.source(state.source.name)?.revision;
  if (state === undefined || revision === undefined) return undefined;
  const diagnostics = state.reading?.revision === revision.revision ? state.reading.diagnostics : [];
  return { source: state.source.name, ...revision, diagnostics };
}
