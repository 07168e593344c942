import type { DecodedFile, FileReading } from '../model/fleet/desired.ts';
import type { Diagnostic } from '../model/fleet/diagnostic.ts';
import type { FileSignature, FileSignatures } from '../model/fleet/file-signature.ts';
import type { SourceName } from '../model/fleet/ids.ts';
import type { SourceRights } from '../model/fleet/source-rights.ts';
import type { RevisionLimits } from '../model/limits/revision-limits.ts';
import type { GitBlobOutcome, TreeChange, TreeEntry } from './git-repo.ts';

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
 * What merging another revision of a source into the admitted one would change. It is not read: who pushes a branch need not be trusted
 * with the time and memory of the server. `conflicts`: paths that both have changed since their common ancestor; of those `changes`
 * has the content of the other revision.
 */
export interface RefChanges {
  readonly type: 'found';
  readonly revision: string;
  /** The admitted revision that the changes start from. */
  readonly base: string;
  readonly changes: readonly TreeChange[];
  readonly conflicts: readonly string[];
  /** What reading needs to know. */
  readonly reading: {
    readonly limits: RevisionLimits;
    readonly maxFileBytes: number;
    /** Whether signatures of commits count for RemovalApprovals. */
    readonly judgesSignatures: boolean;
  };
  /** The admitted tree in parts, as the reading of the changes starts from it. */
  readonly tree: Iterable<TreePart>;
  /** Reads a blob of one of the two revisions. Rejects if the copy cannot be read. */
  readBlob(blob: string): Promise<GitBlobOutcome>;
  /** The verdicts on files of the revision, given as blobs by path. Rejects if the copy cannot be read. */
  signaturesOf(files: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, FileSignature>>;
  /** Returns the bytes of a file of it, or of the admitted revision, to find lines; undefined if they are not available. */
  read(path: string, side: 'before' | 'after'): Promise<Uint8Array | undefined>;
}

/** What the changes of a ref bring, after they were read. */
export interface RefReading {
  readonly changes: RevisionObservation['changes'];
  /** Why a person has to accept it after the merge, before it takes effect; absent: it takes effect at once. */
  readonly mustBeAccepted?: string;
  readonly signatures?: FileSignatures;
  /** The findings that it brings, in canonical order. */
  readonly findings: readonly Diagnostic[];
}

/** Some files of a tree that was read, as plain data for another process; the first part has what concerns all. */
export interface TreePart {
  readonly whole?: {
    readonly ignoreSteps: number;
    readonly placementTotal: number;
    readonly toolFiles: readonly string[];
    readonly toolPaths: readonly string[];
    readonly toolParts: ReadonlySet<string>;
  };
  readonly files: readonly TreePartFile[];
}

export interface TreePartFile {
  readonly path: string;
  readonly entry: TreeEntry;
  readonly ignoreSteps?: number;
  readonly isIgnored?: true;
  readonly placementSteps?: number;
  /** Of a manifest: with its Placements and KubernetesClusters only, or with all documents if another tool has a part of the file. */
  readonly file?: DecodedFile;
  readonly claim?: { readonly claimant: string; readonly isWanted: boolean };
  readonly because?: string;
  readonly warning?: Diagnostic;
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
  readRef?(ref: string, signal: AbortSignal): Promise<RefChanges | RefRefusal>;
  /** Returns the bytes of an observed file, to find lines; undefined if they are not available any more. */
  read(path: string, blob: string): Promise<Uint8Array | undefined>;
  stop(): Promise<void>;
}
