import type { FileSignatures } from '../../model/fleet/file-signature.ts';
import type { SourceName } from '../../model/fleet/ids.ts';
import { type Excess, excessAdvice, excessText } from '../../model/limits/revision-limits.ts';
import { canonicalJson } from '../../model/text/json.ts';
import { counted, errorText } from '../../model/text/messages.ts';
import { given } from '../../model/values/given.ts';
import type { Log } from '../../ports/log.ts';
import type { RevisionObservation, SourceCondition, SourceListener } from '../../ports/source.ts';
import { emptyTree, type ReadTree, type Tree } from './tree-reader.ts';

/** A revision that was read completely. */
export interface ReadRevision extends ReadTree {
  readonly revision: string;
  readonly description?: NonNullable<RevisionObservation['description']>;
  readonly signatures?: FileSignatures | undefined;
}

/** Why a revision is not admitted without a person. */
export interface Refusal {
  readonly reason: string;
  /** A sentence without its full stop; the command that accepts the revision is added. */
  readonly message: string;
}

/** A revision above a limit, which no person can accept. */
export interface ExceedingRevision {
  /** Undefined: the revision was not read far enough to have a name. */
  readonly revision: string | undefined;
  readonly excess: Excess;
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
  /** The revision that was read last, if it exceeds a limit. It waits until another one is found, or the limit is raised. */
  readonly exceeding: ExceedingRevision | undefined;
}

export type RevisionCheck = ReturnType<typeof createRevisionCheck>;

const nothingWaits = { waiting: undefined, exceeding: undefined };

type State = { -readonly [Name in keyof RevisionState]: RevisionState[Name] };

/**
 * Decides which revisions of a source of files become desired state, and reports them and the condition of the source to
 * the listener. A look at the source reads a revision after {@link RevisionState.tree} and hands it over to `admit` or
 * `refuse`. These return false and change nothing if a person has accepted another revision meanwhile: then the tree has
 * changed, and the look must read its revision again. `describe` names a revision for people.
 */
export function createRevisionCheck(log: Log, name: SourceName, describe: (revision: string) => string) {
  const state: State = { admitted: undefined, observed: undefined, tree: emptyTree, ...nothingWaits };
  let listener: SourceListener | undefined;
  let reported: string | undefined;

  function report(condition: Pick<SourceCondition, 'state' | 'reason' | 'message'>): true {
    const { admitted, waiting, exceeding } = state;
    const refused = waiting?.read.revision ?? exceeding?.revision;
    const full = { source: name, ...condition, ...given({ revision: admitted, refusedRevision: refused }) };
    const text = canonicalJson(full);
    if (text !== reported) listener?.condition(full);
    reported = text;
    return true;
  }

  return {
    state: state as RevisionState,
    start: (to: SourceListener, admitted: string | undefined): void => {
      listener = to;
      state.admitted = admitted;
    },
    found,
    admit,
    /** Keeps the revision out until a person accepts it. */
    refuse: (read: ReadRevision, refusal: Refusal): boolean => {
      if (read.before !== state.tree) return false;
      Object.assign(state, { ...nothingWaits, waiting: { read, refusal } });
      return found(read.revision);
    },
    /** Keeps the revision out, and reports the limit that it exceeds. */
    exceed: (exceeding: ExceedingRevision): true => {
      Object.assign(state, { ...nothingWaits, exceeding });
      return reportExcess(exceeding);
    },
    /** Admits the waiting revision; false if this one does not wait. */
    accept: (revision: string): boolean =>
      state.waiting?.read.revision === revision && admit(state.waiting.read) && found(revision),
    failing,
    /** Reports the error of the last look. */
    failed: (error: unknown): void => {
      log.error('a source could not be read', { detail: errorText(error) });
      failing('ReadFailed', errorText(error));
    },
  };

  /** Reports that the last look failed. The admitted revision stays in force. */
  function failing(reason: string, message: string): void {
    report({ state: 'failing', reason, message });
  }

  function reportExcess({ revision, excess }: ExceedingRevision): true {
    const subject = revision === undefined ? 'the source' : describe(revision);
    const message = `${subject} ${excessText(excess)}. What was admitted before stays in force. ${excessAdvice(excess)}`;
    return report({ state: 'refused', reason: 'TooLarge', message });
  }

  /** Reports the condition if the revision waits or is observed. Returns false if it must be read. */
  function found(revision: string): boolean {
    if (revision === state.waiting?.read.revision) {
      return report({ state: 'refused', ...refusalText(name, revision, state.waiting.refusal) });
    }
    if (revision === state.exceeding?.revision) return reportExcess(state.exceeding);
    if (revision !== state.observed) return false;
    Object.assign(state, nothingWaits);
    return report({ state: 'synced', ...summaryOf(describe(revision), state.tree) });
  }

  /** Makes the revision the observed one. Reports no condition. */
  function admit(read: ReadRevision): boolean {
    if (read.before !== state.tree) return false;
    const { revision, tree } = read;
    Object.assign(state, { admitted: revision, observed: revision, tree, ...nothingWaits });
    listener?.observe(observationOf(name, read));
    return true;
  }
}

function observationOf(source: SourceName, read: ReadRevision): RevisionObservation {
  const { revision, description, signatures, tree, changes } = read;
  return {
    source,
    revision,
    ...given({ description, signatures }),
    state: tree.unreadable > 0 ? 'partial' : 'complete',
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
