import { sha256 } from '../../model/digest.ts';
import { type Digest, type FleetName, quote } from '../../model/ids.ts';
import { compareText } from '../../model/json.ts';
import type { GitRepo, GitTreeChange } from '../../ports/git-repo.ts';

/** The file at the root of a status branch that says whose it is. */
export const FLEET_FILE = 'fleet.json';

/** The status branch as it was fetched. */
export interface StatusTree {
  /** null: the branch does not exist. */
  readonly commit: string | null;
  /** Of the texts of the managed files, by path. */
  readonly digests: ReadonlyMap<string, Digest>;
  readonly fleetText: string | undefined;
}

/** A text that the branch should hold. */
export interface WantedFile {
  readonly text: string;
  readonly digest: Digest;
}

/** A branch that this fleet must not write. */
export interface ForeignBranch {
  readonly reason: 'OtherFleet' | 'NotAStatusBranch';
  readonly message: string;
}

/** The branch that does not exist. */
export const noTree: StatusTree = { commit: null, digests: new Map(), fleetText: undefined };

const MAX_FILE_BYTES = 16 * 1024 * 1024;
const READ_AT_ONCE = 64;

/** The text of {@link FLEET_FILE}. */
export function fleetFileText(fleet: FleetName): string {
  return `${JSON.stringify({ fleet })}\n`;
}

/**
 * Does this path belong to the sink? All of the branch does, except what people and hosts put at its root: names that
 * start with a dot, and a README.
 */
export function isManaged(path: string): boolean {
  return !path.startsWith('.') && !/^README(\.[a-z]+)?$/i.test(path);
}

/** Reads what differs from a tree known before; `text` is called with each managed file that was read. */
export async function readStatusTree(
  repo: GitRepo,
  before: StatusTree,
  commit: string,
  text: (path: string, text: string) => void = () => undefined,
): Promise<StatusTree> {
  const changes = (await repo.diff(before.commit, commit, '')).filter(({ path }) => isManaged(path));
  const digests = new Map(before.digests);
  let { fleetText } = before;
  for (let index = 0; index < changes.length; index += READ_AT_ONCE) {
    await Promise.all(
      changes.slice(index, index + READ_AT_ONCE).map(async (change) => {
        const content = await textOf(repo, change);
        if (change.path === FLEET_FILE) fleetText = content;
        if (content === undefined) digests.delete(change.path);
        else {
          digests.set(change.path, sha256(content));
          text(change.path, content);
        }
      }),
    );
  }
  return { commit, digests, fleetText };
}

/** What is no plain file, or too large for one of ours, counts as other text: it will be replaced. */
async function textOf(repo: GitRepo, { path, entry }: GitTreeChange): Promise<string | undefined> {
  if (entry === null) return undefined;
  if (entry.kind !== 'file') return `(${entry.kind})`;
  const outcome = await repo.readBlob(entry.blob, MAX_FILE_BYTES);
  if (outcome.type === 'missing') throw new Error(`the local copy lacks the content of ${quote(path)}`);
  return outcome.type === 'read' ? new TextDecoder().decode(outcome.bytes) : '(oversized)';
}

/** May this fleet write the branch? Only if it is absent or empty, or names this fleet. */
export function judgeOwner(fleet: FleetName, branch: string, tree: StatusTree): ForeignBranch | undefined {
  if (tree.digests.size === 0) return undefined;
  const named = tree.fleetText === undefined ? undefined : fleetOf(tree.fleetText);
  if (named === fleet) return undefined;
  const advice = 'give this fleet a status branch of its own';
  return named === undefined
    ? {
        reason: 'NotAStatusBranch',
        message: `the branch ${branch} has content and no ${FLEET_FILE} that names a fleet; ${advice}`,
      }
    : {
        reason: 'OtherFleet',
        message: `the branch ${branch} belongs to the fleet ${quote(named)}, not to ${quote(fleet)}; ${advice}`,
      };
}

function fleetOf(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('fleet' in value)) return undefined;
    return typeof value.fleet === 'string' ? value.fleet : undefined;
  } catch {
    return undefined;
  }
}

/** What leads from the tree to exactly the wanted files; canonical order. */
export function changesTo(
  tree: StatusTree,
  wanted: ReadonlyMap<string, WantedFile>,
): ReadonlyMap<string, Uint8Array | null> {
  const changes: (readonly [string, Uint8Array | null])[] = [];
  for (const [path, { text, digest }] of wanted) {
    if (tree.digests.get(path) !== digest) changes.push([path, Buffer.from(text, 'utf8')]);
  }
  for (const path of tree.digests.keys()) if (!wanted.has(path)) changes.push([path, null]);
  return new Map(changes.sort((a, b) => compareText(a[0], b[0])));
}
