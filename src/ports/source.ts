import type { FileReading } from '../model/desired.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { FileSignatures } from '../model/file-signature.ts';
import type { SourceName } from '../model/ids.ts';
import type { SourceRights } from '../model/source-rights.ts';

/**
 * An admitted revision: its differences from the previous observation. The listener stages all of them in one commit of the
 * engine. The first observation of a process contains all files.
 */
export interface RevisionObservation {
  readonly source: SourceName;
  /** Commit id, or content digest of a folder. */
  readonly revision: string;
  /** For people: the commit's subject, author and time (milliseconds since 1970); absent for a folder. */
  readonly description?: { readonly subject: string; readonly author: string; readonly committedAt: number };
  /** `partial`: a file of it cannot be read (its {@link FileReading} is unreadable). */
  readonly state: 'complete' | 'partial';
  readonly changes: readonly {
    readonly path: string;
    /** null: the file was removed. */
    readonly file: FileReading | null;
  }[];
  /** The verdicts on its files with a RemovalApproval; absent: signatures do not count. */
  readonly signatures?: FileSignatures;
  /** The diagnostics of all files of the revision, not only of the changed ones, in canonical order. */
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Another revision of a source, read beside the admitted one: what would change if it were merged into it. `conflicts`: paths
 * that both have changed since their common ancestor; of those it has the content of the other revision.
 */
export interface RefReading {
  readonly type: 'read';
  readonly revision: string;
  /** The admitted revision that the changes start from. */
  readonly base: string;
  readonly changes: RevisionObservation['changes'];
  readonly conflicts: readonly string[];
  /** Why a person has to accept it after the merge, before it takes effect; absent: it takes effect at once. */
  readonly mustBeAccepted?: string;
  readonly signatures?: FileSignatures;
  /** The findings that it brings, in canonical order. */
  readonly findings: readonly Diagnostic[];
  /** Returns the bytes of a file of it, or of the admitted revision, to find lines; undefined if they are not available. */
  read(path: string, side: 'before' | 'after'): Promise<Uint8Array | undefined>;
}

/** Why a revision cannot be read; `reason` is a constant UpperCamelCase word, `message` a sentence for people. */
export interface RefRefusal {
  readonly type: 'refused';
  readonly reason: string;
  readonly message: string;
}

/** The condition of a source, for `fleetrelay source list` and for readiness. */
export interface SourceCondition {
  readonly source: SourceName;
  /**
   * `pending`: no look has ended yet. `synced`: the last look succeeded. `failing`: it failed, and the admitted revision stays
   * in force. `refused`: it succeeded, and its revision waits for a person (`accept`).
   */
  readonly state: 'pending' | 'synced' | 'failing' | 'refused';
  readonly reason: string;
  readonly message: string;
  /** The admitted revision, if any. */
  readonly revision?: string;
  /** A revision that was read and waits for a person. */
  readonly refusedRevision?: string;
}

/** Receives the reports of a source, one at a time and in order. The methods must not throw. */
export interface SourceListener {
  observe(observation: RevisionObservation): void;
  /** Called on every change of the condition and at the first success or failure. */
  condition(condition: SourceCondition): void;
}

/** Follows one place of desired state. A failure is a condition and is retried; it ends nothing. */
export interface Source {
  readonly name: SourceName;
  /** Kind and address without credentials, for people. */
  readonly address: string;
  /** What its documents may say; absent: everything. */
  readonly rights?: SourceRights;
  /**
   * Starts to follow. `admitted`: the last admitted revision in the ledger, to recognise a rewritten history. `remembered`: paths
   * of the declarations of this source in the ledger.
   */
  start(listener: SourceListener, admitted: string | undefined, remembered: readonly string[]): void;
  /**
   * Begins to fetch the content for the first look, so that it ends sooner; reports nothing. Absent: there is nothing to fetch.
   */
  prefetch?(): void;
  /** Causes a look now, because of a hook or a request. */
  trigger(): void;
  /**
   * Causes a look, and resolves at the end of a look that began after this call; the condition reports its outcome. Absent: the
   * observation is always current.
   */
  look?(): Promise<void>;
  /** Admits the waiting revision; false if this revision does not wait. */
  accept(revision: string): boolean;
  /**
   * Reads what merging a branch, or another ref of the repository, would change. Changes nothing of the source. The caller reads one
   * ref at a time.
   * Absent: the source has no refs.
   */
  readRef?(ref: string, signal: AbortSignal): Promise<RefReading | RefRefusal>;
  /** Returns the bytes of an observed file, to find lines; undefined if they are not available any more. */
  read(path: string, blob: string): Promise<Uint8Array | undefined>;
  stop(): Promise<void>;
}
