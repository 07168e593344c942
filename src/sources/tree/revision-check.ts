import type { SourceName } from '../../model/ids.ts';
import { canonicalJson } from '../../model/json.ts';
import { counted } from '../../model/messages.ts';
import type { RevisionObservation, SourceCondition, SourceListener } from '../../ports/source.ts';
import { emptyTree, type ReadTree, type Tree } from './tree-reader.ts';

/** A revision that was read completely. */
export interface ReadRevision extends ReadTree {
  readonly revision: string;
  readonly description?: NonNullable<RevisionObservation['description']>;
}

/** Why a revision is not admitted without a person. */
export interface Refusal {
  readonly reason: string;
  /** A sentence without its full stop; the command that accepts the revision is added. */
  readonly message: string;
}

/** What a source has admitted and what waits for a person. */
export interface RevisionState {
  /** The revision that was admitted last, by this process or, as the ledger says, by an earlier one. */
  readonly admitted: string | undefined;
  /** The revision that this process observed last. */
  readonly observed: string | undefined;
  /** The tree of the observed revision; empty before the first one. */
  readonly tree: Tree;
  /** The refused revision. It waits until it is accepted, or another one is admitted or found. */
  readonly waiting: { readonly read: ReadRevision; readonly refusal: Refusal } | undefined;
}

/**
 * Decides which revisions of a source of files become desired state, and reports them and the condition of the source to
 * the listener. A look at the source reads a revision after {@link RevisionState.tree} and hands it over to `admit` or
 * `refuse`. These return false and change nothing if a person has accepted another revision meanwhile: then the tree has
 * changed, and the look must read its revision again.
 */
export interface RevisionCheck {
  start(listener: SourceListener, admitted: string | undefined): void;
  readonly state: RevisionState;
  /** Reports the condition if the revision is observed or waits already. Returns false if it must be read. */
  found(revision: string): boolean;
  /** Makes the revision the observed one. Reports no condition. */
  admit(read: ReadRevision): boolean;
  /** Keeps the revision out until a person accepts it. */
  refuse(read: ReadRevision, refusal: Refusal): boolean;
  /** Admits the waiting revision; false if this one does not wait. */
  accept(revision: string): boolean;
  /** Reports that the last look failed. The admitted revision stays in force. */
  failing(reason: string, message: string): void;
}

type State = { -readonly [Name in keyof RevisionState]: RevisionState[Name] };

/** Creates the check of one source. `describe` names a revision for people. */
export function createRevisionCheck(options: {
  readonly name: SourceName;
  readonly describe: (revision: string) => string;
}): RevisionCheck {
  const state: State = { admitted: undefined, observed: undefined, tree: emptyTree, waiting: undefined };
  let listener: SourceListener | undefined;
  let reported: string | undefined;
  const { name, describe } = options;

  function report(condition: Pick<SourceCondition, 'state' | 'reason' | 'message'>): true {
    const { admitted, waiting } = state;
    const full = {
      source: name,
      ...condition,
      ...(admitted === undefined ? {} : { revision: admitted }),
      ...(waiting === undefined ? {} : { refusedRevision: waiting.read.revision }),
    };
    const text = canonicalJson(full);
    if (text !== reported) listener?.condition(full);
    reported = text;
    return true;
  }

  const check: RevisionCheck = {
    state,
    start: (to, admitted) => {
      listener = to;
      state.admitted = admitted;
    },
    found: (revision) => {
      if (revision === state.observed) {
        state.waiting = undefined;
        return report({ state: 'synced', ...summaryOf(describe(revision), state.tree) });
      }
      if (revision !== state.waiting?.read.revision) return false;
      return report({ state: 'refused', ...refusalText(name, revision, state.waiting.refusal) });
    },
    admit: (read) => {
      if (read.before !== state.tree) return false;
      const { revision, tree } = read;
      Object.assign(state, { admitted: revision, observed: revision, tree, waiting: undefined });
      listener?.observe(observationOf(name, read));
      return true;
    },
    refuse: (read, refusal) => {
      if (read.before !== state.tree) return false;
      state.waiting = { read, refusal };
      return report({ state: 'refused', ...refusalText(name, read.revision, refusal) });
    },
    accept: (revision) =>
      state.waiting?.read.revision === revision && check.admit(state.waiting.read) && check.found(revision),
    failing: (reason, message) => void report({ state: 'failing', reason, message }),
  };
  return check;
}

function observationOf(source: SourceName, read: ReadRevision): RevisionObservation {
  const { revision, description, tree, changes } = read;
  return {
    source,
    revision,
    ...(description === undefined ? {} : { description }),
    state: tree.unreadable > 0 ? 'partial' : 'whole',
    changes,
    diagnostics: tree.diagnostics,
  };
}

function refusalText(source: SourceName, revision: string, { reason, message }: Refusal) {
  const command = `fleetrelay source accept ${source} ${revision}`;
  const advice = `Nothing changes until that is mended, or a person accepts it with: ${command}`;
  return { reason, message: `${message}. ${advice}` };
}

function summaryOf(revision: string, { manifests, unreadable }: Tree) {
  if (unreadable === 0) return { reason: 'Synced', message: `${revision}: ${counted(manifests, 'manifest')}` };
  const message = `${revision}: ${unreadable} of ${manifests} manifests cannot be read; what came from them is kept, and this source removes nothing until all can be read`;
  return { reason: 'Partial', message };
}
