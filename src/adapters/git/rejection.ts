import { quote } from '../../model/fleet/ids.ts';
import { selfAndAncestors } from '../../model/text/glob.ts';
import type { GitPublishOutcome } from '../../ports/git-repo.ts';

/** A push of a branch that the remote has rejected. */
export interface Rejection {
  readonly branch: string;
  /** The commit that the push has built on; null: the branch did not exist. */
  readonly expected: string | null;
  /** The reason of the remote, clean of secrets. */
  readonly message: string;
}

/** The refs of the remote after the rejection, by full name: at least the refs that {@link namesNear} names. */
export type RemoteRefs = ReadonlyMap<string, string>;

/** How git begins its reason if a branch could not be updated. The words of a hook come later in the reason. */
const NOT_UPDATED = /^(?:cannot lock ref|failed to (?:update ref|lock)|unable to (?:create|lock))/i;
/** The reason names a fault of the server's disk: no other push has moved the branch. */
const OF_DISK = /permission denied|no space left|read-only file system|input\/output error|quota exceeded/i;

/**
 * Judges a rejection by the refs of the remote, since each server has its own texts: the branch has moved, another ref is in the way
 * of its name, or the server refuses the push.
 *
 * @param refs undefined: they could not be read
 */
export function outcomeOfRejection(
  { branch, expected, message }: Rejection,
  refs: RemoteRefs | undefined,
): GitPublishOutcome {
  const ref = `refs/heads/${branch}`;
  if (refs === undefined) return { type: 'refused', message };
  if ((refs.get(ref) ?? null) !== expected) return { type: 'race' };
  const inTheWay = expected === null ? refInTheWay(ref, refs) : undefined;
  if (inTheWay !== undefined) {
    const other = quote(inTheWay.replace(/^refs\/heads\//, ''));
    const advice = `rename or delete that branch, or give the status branch another name (statusGit.branch of the RelayConfig)`;
    return {
      type: 'refused',
      message: `the branch ${quote(branch)} cannot exist beside the branch ${other}; ${advice} (${message})`,
    };
  }
  const isLocked = NOT_UPDATED.test(message) && !OF_DISK.test(message);
  return isLocked ? { type: 'race', locked: message } : { type: 'refused', message };
}

/** The patterns of `git ls-remote` for a branch, for the folders that its name begins with, and for what lies below it. */
export function namesNear(branch: string): readonly string[] {
  const names = selfAndAncestors(branch).slice(0, -1);
  return [...names.map((name) => `refs/heads/${name}`), `refs/heads/${branch}/*`];
}

/** Git keeps refs as files: no ref can have the name of the folder of another ref. */
function refInTheWay(ref: string, refs: RemoteRefs): string | undefined {
  const names = [...refs.keys()].sort();
  return names.find((name) => ref.startsWith(`${name}/`) || name.startsWith(`${ref}/`));
}
