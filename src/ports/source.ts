import type { FileReading } from '../model/desired.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { SourceName } from '../model/ids.ts';

/**
 * A revision that has entered: what changed since the observation before. The listener takes all of it in one commit of
 * the engine. The first observation of a process carries every file.
 */
export interface RevisionObservation {
  readonly source: SourceName;
  /** Commit id, or content digest of a folder. */
  readonly revision: string;
  /** For people: the commit's subject, author and time (milliseconds since 1970); absent for a folder. */
  readonly description?: { readonly subject: string; readonly author: string; readonly committedAt: number };
  /** `partial`: some file of it cannot be read (its {@link FileReading} is unreadable). */
  readonly state: 'whole' | 'partial';
  readonly changes: readonly {
    readonly path: string /** null: the file is gone. */;
    readonly file: FileReading | null;
  }[];
  /** Everything to be said about all files of the revision, not only the changed ones; canonical order. */
  readonly diagnostics: readonly Diagnostic[];
}

/** How a source is: what `fleetrelay source list` and readiness show. */
export interface SourceCondition {
  readonly source: SourceName;
  /**
   * `pending`: nothing tried to the end yet. `synced`: the last look succeeded. `failing`: it did not (message says why;
   * what was admitted before still holds). `refused`: it did, and the revision waits for a person (`accept`).
   */
  readonly state: 'pending' | 'synced' | 'failing' | 'refused';
  readonly reason: string;
  readonly message: string;
  /** The admitted revision, if any. */
  readonly revision?: string;
  /** A fetched revision that is not admitted (state `refused`). */
  readonly refusedRevision?: string;
}

/** What a source tells; calls come one at a time, in order, and must not throw. */
export interface SourceListener {
  observe(observation: RevisionObservation): void;
  /** Called on every change of the condition and at the first success or failure. */
  condition(condition: SourceCondition): void;
}

/** A place that desired state comes from, being followed. Trouble is a condition and a back-off, never an exit. */
export interface Source {
  readonly name: SourceName;
  /** Kind and address without credentials, for people. */
  readonly address: string;
  /**
   * Starts following. `admitted`: the revision that the ledger says was admitted last, for telling a rewritten history.
   * `remembered`: paths of the declarations that it remembers from this source.
   */
  start(listener: SourceListener, admitted: string | undefined, remembered: readonly string[]): void;
  /**
   * Begins to bring what `start` will look at, and tells nobody: it is there sooner. Absent: there is nothing to bring.
   */
  prefetch?(): void;
  /** Look now (a hook fired, a person asked). */
  trigger(): void;
  /**
   * Looks now, and resolves when a look that began after this call is over, whatever came of it (the condition tells).
   * Absent: what was observed is never older than what is followed.
   */
  look?(): Promise<void>;
  /** Admits a refused revision; false if that revision does not wait. */
  accept(revision: string): boolean;
  /** Bytes of a file as last observed, for finding lines; undefined if they are no longer to be had. */
  read(path: string, blob: string): Promise<Uint8Array | undefined>;
  stop(): Promise<void>;
}
