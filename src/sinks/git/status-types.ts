import type { FleetName } from '../../model/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { GitRepo } from '../../ports/git-repo.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { StatusTree, WantedFile } from './status-tree.ts';

export interface GitStatusSinkDeps {
  /** The status branch, with a local copy of its own; the sink closes it. */
  readonly repo: GitRepo;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface GitStatusSinkOptions {
  readonly fleet: FleetName;
  readonly author: { readonly name: string; readonly email: string };
  /** The least time between two commits. */
  readonly minIntervalSeconds: number;
  /** How long changes are collected before a commit; 250 ms unless set. */
  readonly collectMs?: number;
  /** The longest wait after failures; 300 s unless set. */
  readonly maxRetrySeconds?: number;
}

/** What a commit message says beside the texts. */
export interface StatusNote {
  /** One line. */
  readonly summary: string;
  /** Added as trailers, in this order. */
  readonly trailers?: readonly (readonly [name: string, value: string])[];
}

/** How the publishing of status is. */
export interface StatusCondition {
  /**
   * `pending`: nothing tried to the end yet. `synced`: the branch held all that was wanted at the last try. `failing`: it
   * could not be reached. `refused`: it must not be written, or the server does not let us; a person has to look.
   */
  readonly state: 'pending' | 'synced' | 'failing' | 'refused';
  readonly reason: string;
  readonly message: string;
  /** The commit that holds what was last published or found equal. */
  readonly commit?: string;
}

/** What the sink knows between two tries. Times are monotonic milliseconds. */
export interface PublishState {
  readonly wanted: Map<string, WantedFile>;
  note: StatusNote;
  /** Counts updates that changed something; `published`: the one that the branch is known to hold. */
  version: number;
  published: number;
  /** Who is told once the branch holds a version. */
  waiting: { readonly version: number; readonly published: () => void }[];
  /** The branch as last seen. */
  tree: StatusTree;
  /** False: it may have moved, fetch first. */
  treeIsFresh: boolean;
  lastCommitAt: number;
  retryAt: number;
  failures: number;
  minIntervalMs: number;
  condition: StatusCondition;
  readonly stopping: AbortController;
}
