import { type Digest, type FleetName, quote } from '../../model/fleet/ids.ts';
import { sha256 } from '../../model/text/digest.ts';
import { createTextPacker, PackedText } from '../../model/values/packed-texts.ts';
import type { GitRepo, TreeChange } from '../../ports/git-repo.ts';

/** The file at the root of a status branch that names its fleet. */
export const FLEET_FILE = 'fleet.json';

/** The status branch at one commit. */
export interface StatusTree {
  /** null: the branch does not exist. */
  readonly commit: string | null;
  /** Digests of the managed files, by path. */
  readonly digests: ReadonlyMap<string, Digest>;
  /** The fleet that {@link FLEET_FILE} names; undefined if it names none. */
  readonly fleet: string | undefined;
}

/** A text that the branch should contain. */
export interface WantedFile {
  /** Packed after the branch has it: then it is needed again if the branch loses it, and to compare it with the next one. */
  text: string | PackedText;
  /** Of the text; undefined until it is needed. An update can have very many texts, and is taken in one turn. */
  digest: Digest | undefined;
}

/** The file of that text, which is not on the branch. */
export function wantedFile(text: string): WantedFile {
  return { text, digest: undefined };
}

/** True if the file has this text. */
export function hasText({ text: known, digest }: WantedFile, text: string): boolean {
  if (typeof known === 'string') return known === text;
  if (known.bytes !== Buffer.byteLength(text)) return false;
  // Unpacking costs many times as much as a digest, and an update has very many texts of the same length.
  return digest === undefined ? known.text === text : digest === sha256(text);
}

/** Why the branch cannot be used. `refused`: this fleet must not write it. */
export interface BranchProblem {
  readonly state: 'failing' | 'refused';
  readonly reason: string;
  readonly message: string;
}

/** The branch that does not exist. */
export const noTree: StatusTree = { commit: null, digests: new Map(), fleet: undefined };

const MAX_FILE_BYTES = 16 * 1024 * 1024;
const READ_AT_ONCE = 64;

/** The text of {@link FLEET_FILE}. */
export function fleetFileText(fleet: FleetName): string {
  return `${JSON.stringify({ fleet })}\n`;
}

/**
 * True for the paths that the sink writes and removes: all, except the files of people and hosts at the root, whose names
 * start with a dot or with README.
 */
export function isManaged(path: string): boolean {
  return !path.startsWith('.') && !/^README(\.[a-z]+)?$/i.test(path);
}

/**
 * Fetches the branch and reads the files that differ from `before`. Calls `onText` with each managed file that was read.
 * The result is a problem if the branch cannot be fetched or does not belong to this fleet.
 */
export async function fetchStatusTree(
  repo: GitRepo,
  fleet: FleetName,
  before: StatusTree,
  options: { readonly signal?: AbortSignal; readonly onText?: (path: string, text: string) => void },
): Promise<StatusTree | BranchProblem> {
  const fetched = await repo.fetch(options.signal);
  if (fetched.type === 'absent') return noTree;
  if (fetched.type === 'failed') return { state: 'failing', reason: fetched.reason, message: fetched.message };
  const tree = await readTree(repo, before, fetched.commit, options.onText);
  return ownerProblem(fleet, repo.branch, tree) ?? tree;
}

async function readTree(
  repo: GitRepo,
  before: StatusTree,
  commit: string,
  onText?: (path: string, text: string) => void,
): Promise<StatusTree> {
  const changes = (await repo.diff(before.commit, commit, '')).filter(({ path }) => isManaged(path));
  const digests = new Map(before.digests);
  let { fleet } = before;
  for (let index = 0; index < changes.length; index += READ_AT_ONCE) {
    await Promise.all(
      changes.slice(index, index + READ_AT_ONCE).map(async (change) => {
        const { path } = change;
        const text = await textOf(repo, change);
        if (path === FLEET_FILE) fleet = text === undefined ? undefined : fleetOf(text);
        if (text === undefined) digests.delete(path);
        else {
          digests.set(path, sha256(text));
          onText?.(path, text);
        }
      }),
    );
  }
  return { commit, digests, fleet };
}

/** An entry that is no plain file, or is too large, counts as another text, so that it is replaced. */
async function textOf(repo: GitRepo, { path, entry }: TreeChange): Promise<string | undefined> {
  if (entry === null) return undefined;
  if (entry.kind !== 'file') return `(${entry.kind})`;
  const outcome = await repo.readBlob(entry.blob, MAX_FILE_BYTES);
  if (outcome.type === 'missing') throw new Error(`the local copy lacks the content of ${quote(path)}`);
  return outcome.type === 'read' ? new TextDecoder().decode(outcome.bytes) : '(oversized)';
}

/** A fleet may write a branch that is empty or names this fleet. */
function ownerProblem(owner: FleetName, branch: string, { digests, fleet }: StatusTree): BranchProblem | undefined {
  if (digests.size === 0 || fleet === owner) return undefined;
  const advice = 'give this fleet a status branch of its own';
  const [reason, message] =
    fleet === undefined
      ? ['NotAStatusBranch', `the branch ${branch} has content and no ${FLEET_FILE} that names a fleet; ${advice}`]
      : ['OtherFleet', `the branch ${branch} belongs to the fleet ${quote(fleet)}, not to ${quote(owner)}; ${advice}`];
  return { state: 'refused', reason, message };
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

/**
 * Finds the changes from the tree to the files that are wanted when it begins, and the digests of the files after them. Yields after
 * each file. A file that is not wanted any more at the end is removed.
 */
export function* changesTo(
  tree: StatusTree,
  wanted: ReadonlyMap<string, WantedFile>,
): Generator<
  undefined,
  { readonly changes: ReadonlyMap<string, string | null>; readonly digests: ReadonlyMap<string, Digest> }
> {
  const changes = new Map<string, string | null>();
  const digests = new Map<string, Digest>();
  const published = createPublishedTexts((path, file) => wanted.get(path) === file);
  for (const [path, file] of [...wanted]) {
    yield;
    const digest = file.digest ?? sha256(textIn(file));
    file.digest = digest;
    const known = tree.digests.get(path);
    digests.set(path, digest);
    if (known === digest) published.add(path, file);
    // A fleet file that names this fleet in other bytes stays.
    else if (path !== FLEET_FILE || known === undefined) changes.set(path, textIn(file));
  }
  for (const path of tree.digests.keys()) {
    yield;
    if (wanted.has(path)) continue;
    digests.delete(path);
    changes.set(path, null);
  }
  return { changes, digests };
}

function textIn({ text }: WantedFile): string {
  return typeof text === 'string' ? text : text.text;
}

/** Texts wait until they have this number of characters together, and are packed then. A smaller rest stays unpacked. */
const PACKED_AT_ONCE = 32 * 1024;

/** Packs the texts that the branch has. `isWanted`: the file was not replaced meanwhile. */
function createPublishedTexts(isWanted: (path: string, file: WantedFile) => boolean) {
  let waiting: (readonly [string, WantedFile])[] = [];
  let length = 0;
  return {
    add: (path: string, file: WantedFile): void => {
      if (typeof file.text !== 'string') return;
      waiting.push([path, file]);
      length += file.text.length;
      if (length < PACKED_AT_ONCE) return;
      const packer = createTextPacker();
      for (const [at, each] of waiting) {
        if (isWanted(at, each)) each.text = new PackedText(packer.place(Buffer.from(textIn(each))));
      }
      packer.finish();
      [waiting, length] = [[], 0];
    },
  };
}
