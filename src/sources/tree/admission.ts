import { counted } from '../../model/counted.ts';
import type { SourceName } from '../../model/ids.ts';
import { canonicalJson } from '../../model/json.ts';
import type { RevisionObservation, SourceCondition, SourceListener } from '../../ports/source.ts';
import type { PreparedTree, TreeReader } from './tree-reader.ts';

/** A revision that was read and may enter. */
export interface Candidate {
  readonly revision: string;
  readonly description?: NonNullable<RevisionObservation['description']>;
  readonly prepared: PreparedTree;
}

/** Why a revision must not enter by itself. */
export interface Refusal {
  readonly reason: string;
  /** A sentence without its full stop; the command that accepts is added. */
  readonly message: string;
}

/**
 * What a source of files has admitted, what waits for a person, and how it is: the one place that tells the listener.
 * A condition is told only when it changes.
 */
export interface Admission {
  start(listener: SourceListener, admitted: string | undefined): void;
  /** The last revision that entered, in this process or (by the ledger) before. */
  admitted(): string | undefined;
  /** The revision that this process has told of. */
  observed(): string | undefined;
  /** The revision that waits, if any. It goes on waiting while looks fail. */
  waiting(): string | undefined;
  /** Lets a revision in, and says nothing of how the source is. */
  enter(candidate: Candidate): void;
  /** The last look succeeded and found what is admitted. */
  synced(): void;
  /** The last look failed; what was admitted holds. */
  failing(reason: string, message: string): void;
  /** Keeps a revision out until a person accepts it. */
  refuse(candidate: Candidate, refusal: Refusal): void;
  /** The last look found the revision that waits already. */
  stillRefused(): void;
  accept(revision: string): boolean;
}

interface State {
  listener: SourceListener | undefined;
  admitted: string | undefined;
  observed: string | undefined;
  /** Of the revision that was told of. */
  summary: { readonly reason: string; readonly message: string };
  waiting: { readonly candidate: Candidate; readonly refusal: Refusal } | undefined;
  told: string | undefined;
}

type TellCondition = (condition: Pick<SourceCondition, 'state' | 'reason' | 'message'>) => void;

/** Creates the admission of one source over its reader. `describe` names a revision for people. */
export function createAdmission(
  deps: { readonly reader: TreeReader },
  options: { readonly name: SourceName; readonly describe: (revision: string) => string },
): Admission {
  const state: State = {
    listener: undefined,
    admitted: undefined,
    observed: undefined,
    summary: { reason: 'Pending', message: 'nothing was read yet' },
    waiting: undefined,
    told: undefined,
  };
  const tell: TellCondition = (condition) => tellCondition(state, options.name, condition);
  const enter = (candidate: Candidate): void => enterRevision(state, deps.reader, options, candidate);
  const synced = (): void => {
    state.waiting = undefined;
    tell({ state: 'synced', ...state.summary });
  };
  return {
    start: (listener, admitted) => {
      state.listener = listener;
      state.admitted = admitted;
    },
    admitted: () => state.admitted,
    observed: () => state.observed,
    waiting: () => state.waiting?.candidate.revision,
    enter,
    synced,
    failing: (reason, message) => tell({ state: 'failing', reason, message }),
    refuse: (candidate, refusal) => {
      state.waiting = { candidate, refusal };
      tellRefusal(state, options.name, tell);
    },
    stillRefused: () => tellRefusal(state, options.name, tell),
    accept: (revision) => {
      const candidate = state.waiting?.candidate;
      if (candidate?.revision !== revision || !deps.reader.isCurrent(candidate.prepared)) return false;
      enter(candidate);
      synced();
      return true;
    },
  };
}

function tellCondition(
  state: State,
  source: SourceName,
  condition: Pick<SourceCondition, 'state' | 'reason' | 'message'>,
): void {
  const full = {
    source,
    ...condition,
    ...(state.admitted === undefined ? {} : { revision: state.admitted }),
    ...(state.waiting === undefined ? {} : { refusedRevision: state.waiting.candidate.revision }),
  };
  const text = canonicalJson(full);
  if (text === state.told) return;
  state.told = text;
  state.listener?.condition(full);
}

function tellRefusal(state: State, source: SourceName, tell: TellCondition): void {
  if (state.waiting === undefined) return;
  const { candidate, refusal } = state.waiting;
  const command = `fleetrelay source accept ${source} ${candidate.revision}`;
  const message = `${refusal.message}. Nothing changes until that is mended, or a person accepts it with: ${command}`;
  tell({ state: 'refused', reason: refusal.reason, message });
}

function enterRevision(
  state: State,
  reader: TreeReader,
  options: { readonly name: SourceName; readonly describe: (revision: string) => string },
  candidate: Candidate,
): void {
  const { revision, description, prepared } = candidate;
  reader.admit(prepared);
  state.waiting = undefined;
  state.admitted = revision;
  state.observed = revision;
  state.summary = summaryOf(options.describe(revision), prepared);
  state.listener?.observe({
    source: options.name,
    revision,
    ...(description === undefined ? {} : { description }),
    state: prepared.unreadable > 0 ? 'partial' : 'whole',
    changes: [...prepared.files].map(([path, file]) => ({ path, file: file === null ? null : file.reading })),
    diagnostics: prepared.diagnostics,
  });
}

function summaryOf(revision: string, { manifests, unreadable }: PreparedTree): State['summary'] {
  if (unreadable === 0) {
    return { reason: 'Synced', message: `${revision}: ${counted(manifests, 'manifest')}` };
  }
  const message = `${revision}: ${unreadable} of ${manifests} manifests cannot be read; what came from them is kept, and this source removes nothing until all can be read`;
  return { reason: 'Partial', message };
}
