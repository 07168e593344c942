/** Which deltas of a cluster to list. */
export interface HistoryRequest {
  readonly cluster: string;
  /** `KIND/[NAMESPACE/]NAME`: only deltas with it, and of them only this object; absent: all. */
  readonly object?: string;
  /** Most deltas that are listed, newest first. */
  readonly limit: number;
  /** Not older than that, in milliseconds since 1970; absent: as far as the log goes back. */
  readonly since?: number;
}

/** One delta that was sent to a cluster. Times are RFC 3339. */
export interface DeltaView {
  readonly epoch: number;
  readonly sequence: number;
  readonly at: string;
  /** What the cluster's output was computed from. */
  readonly revisions: readonly {
    readonly source: string;
    readonly revision: string;
    /** The delta before was computed from another one, or none is known. */
    readonly isNew: boolean;
  }[];
  /** The reasons of its listed objects, each once. */
  readonly reasons: readonly ChangeReason[];
  /** What became of it. */
  readonly answer: { readonly state: AnswerState; readonly at: string; readonly message: string };
  /** Numbers of objects, listed or not. */
  readonly counts: {
    readonly create: number;
    readonly change: number;
    readonly remove: number;
    readonly touch: number;
  };
  /** Objects that stay in the cluster as they are: their removal is held or not proven. */
  readonly keeps: number;
  readonly objects: readonly SentObjectView[];
  /** Objects of it that the log does not list. */
  readonly unlisted: number;
  /** Changes that had no room in it and waited for the next one. */
  readonly rest: number;
  /** The log has lost it and what was before it; only its position is known. */
  readonly unrecorded: boolean;
}

/** An object of a delta. */
export interface SentObjectView {
  /** For people: `Deployment.apps/web/frontend`. */
  readonly object: string;
  /** `touch`: only its origin or scope is another one. */
  readonly change: 'create' | 'change' | 'remove' | 'touch';
  readonly reason: ChangeReason;
  /** The file that it comes from; null: not known. */
  readonly from: { readonly source: string; readonly path: string } | null;
  /** By the agent's last result about what was sent; null: it has reported none. */
  readonly state: 'applied' | 'failed' | 'conflict' | 'paused' | 'removing' | 'removed' | null;
  /** When the server has heard that; null: with `state`. */
  readonly stateAt: string | null;
  readonly message: string;
}

/**
 * Why an object was sent: the cluster had nothing of the fleet (`firstContact`), an approval, a new revision of its file's source, a new
 * revision that has changed only where it goes (`placement`), what lives in other clusters (`live`), its loss in the cluster
 * (`restored`), or none of these (`other`). As far as the log goes back,
 * a revision is no reason if its files have not changed since the object was sent last.
 */
export type ChangeReason = 'firstContact' | 'approval' | 'revision' | 'placement' | 'live' | 'restored' | 'other';

/**
 * `sent`: not answered yet. `calledOff`: it has never left. `unknown`: the connection or the server has ended before the answer.
 * `lost`: it did not arrive.
 */
export type AnswerState = 'sent' | 'accepted' | 'rejected' | 'calledOff' | 'unknown' | 'lost';
