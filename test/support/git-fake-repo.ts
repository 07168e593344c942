import { createHash } from 'node:crypto';
import type { FileSignature } from '../../src/model/fleet/file-signature.ts';
import { excessOf } from '../../src/model/limits/revision-limits.ts';
import type {
  GitCommitInfo,
  GitFailure,
  GitPublishOutcome,
  GitRepo,
  TreeChange,
  TreeEntry,
} from '../../src/ports/git-repo.ts';

/** A remote repository in memory, with the local copy that one {@link GitRepo} has of it. */
export interface FakeGitRemote {
  /** Writes files (null removes) as a commit on a branch, as another person would; returns the commit. */
  push(
    files: Readonly<Record<string, string | null>>,
    options?: { readonly branch?: string; readonly orphan?: boolean },
  ): string;
  /** Moves or (null) removes a branch. */
  setBranch(branch: string, commit: string | null): void;
  tip(branch: string): string | undefined;
  /** The files of a commit. */
  files(commit: string): Readonly<Record<string, string>>;
  message(commit: string): string;
  /** Commits from the tip of the branch to its root. */
  history(branch: string): readonly string[];
  /** Every fetch and publish fails with this until it is taken away. */
  failure: GitFailure | undefined;
  /** The next publishes end like this, before anything is written. */
  readonly nextPublish: (GitPublishOutcome | (() => void))[];
  /** Blobs that were read, in order, by the first path that held them. */
  readonly reads: string[];
  /** Judges the signature of a file at a commit; by default none has one. */
  signatureOf: (commit: string, path: string) => FileSignature;
  fetches: number;
  publishes: number;
  /** Makes a copy of one branch; a fresh one holds nothing. */
  repo(branch: string): GitRepo;
}

interface Commit {
  readonly id: string;
  readonly parent: string | undefined;
  readonly files: ReadonlyMap<string, TreeEntry>;
  readonly message: string;
  readonly at: number;
}

const idOf = (text: string): string => createHash('sha1').update(text).digest('hex');

/** Creates an empty remote. Content that starts with `link:` or `submodule:` becomes such an entry. */
export function createFakeGitRemote(): FakeGitRemote {
  const commits = new Map<string, Commit>();
  const branches = new Map<string, string>();
  const blobs = new Map<string, { readonly text: string; readonly path: string }>();
  const entry = (path: string, text: string): TreeEntry => {
    const blob = idOf(`blob ${text}`);
    if (!blobs.has(blob)) blobs.set(blob, { text, path });
    if (text.startsWith('link:')) return { kind: 'symlink', blob, size: 0 };
    if (text.startsWith('submodule:')) return { kind: 'submodule', blob, size: 0 };
    return { kind: 'file', blob, size: Buffer.byteLength(text) };
  };
  const commit = (
    parent: string | undefined,
    changes: Iterable<readonly [string, string | null]>,
    message: string,
    at: number,
  ): string => {
    const files = new Map(parent === undefined ? [] : commits.get(parent)?.files);
    for (const [path, text] of changes) {
      if (text === null)
        for (const known of [...files.keys()]) {
          if (known === path || known.startsWith(`${path}/`)) files.delete(known);
        }
      else files.set(path, entry(path, text));
    }
    const id = idOf(`commit ${commits.size} ${message}`);
    commits.set(id, { id, parent, files, message, at });
    return id;
  };
  const remote: FakeGitRemote = {
    push: (files, { branch = 'main', orphan = false } = {}) => {
      const id = commit(orphan ? undefined : branches.get(branch), Object.entries(files), 'Change', 1000);
      branches.set(branch, id);
      return id;
    },
    setBranch: (branch, id) => {
      if (id === null) branches.delete(branch);
      else branches.set(branch, id);
    },
    tip: (branch) => branches.get(branch),
    files: (id) =>
      Object.fromEntries(
        [...(commits.get(id)?.files ?? [])].map(([path, { blob }]) => [path, blobs.get(blob)?.text ?? '']),
      ),
    message: (id) => commits.get(id)?.message ?? '',
    history: (branch) => {
      const ids: string[] = [];
      for (let id = branches.get(branch); id !== undefined; id = commits.get(id)?.parent) ids.push(id);
      return ids;
    },
    failure: undefined,
    nextPublish: [],
    reads: [],
    signatureOf: () => ({ problem: 'it has no signature' }),
    fetches: 0,
    publishes: 0,
    repo: (branch) => fakeRepo(remote, { commits, branches, blobs, commit }, branch),
  };
  return remote;
}

function fakeRepo(
  remote: FakeGitRemote,
  world: {
    readonly commits: ReadonlyMap<string, Commit>;
    readonly branches: Map<string, string>;
    readonly blobs: ReadonlyMap<string, { readonly text: string; readonly path: string }>;
    readonly commit: (
      parent: string | undefined,
      changes: Iterable<readonly [string, string | null]>,
      message: string,
      at: number,
    ) => string;
  },
  branch: string,
): GitRepo {
  const local = new Set<string>();
  const take = (tip: string | undefined): void => {
    for (let id = tip; id !== undefined && !local.has(id); id = world.commits.get(id)?.parent) local.add(id);
  };
  const commitHere = (id: string): Commit => {
    const found = local.has(id) ? world.commits.get(id) : undefined;
    if (found === undefined) throw new Error(`no commit ${id} here`);
    return found;
  };
  const historyOf = (tip: string): readonly string[] => {
    const ids: string[] = [];
    for (let id: string | undefined = tip; id !== undefined && local.has(id); id = world.commits.get(id)?.parent)
      ids.push(id);
    return ids;
  };
  return {
    address: 'https://git.example.com/fleet.git',
    branch,
    fetch: async () => {
      remote.fetches += 1;
      if (remote.failure !== undefined) return remote.failure;
      const tip = world.branches.get(branch);
      take(tip);
      return tip === undefined ? { type: 'absent' } : { type: 'fetched', commit: tip };
    },
    fetchRef: async (ref) => {
      remote.fetches += 1;
      if (remote.failure !== undefined) return remote.failure;
      const tip = world.commits.has(ref) ? ref : world.branches.get(ref.replace(/^refs\/heads\//, ''));
      take(tip);
      return tip === undefined ? { type: 'absent' } : { type: 'fetched', commit: tip };
    },
    mergeBase: async (a, b) => {
      const ofA = historyOf(a);
      return historyOf(b).find((id) => ofA.includes(id));
    },
    hasCommit: async (id) => local.has(id),
    isAncestor: async (ancestor, descendant) => {
      if (!local.has(descendant)) return false;
      for (let id: string | undefined = descendant; id !== undefined; id = world.commits.get(id)?.parent) {
        if (id === ancestor) return true;
      }
      return false;
    },
    commitInfo: async (id): Promise<GitCommitInfo> => {
      const { message, at } = commitHere(id);
      return { subject: message.split('\n', 1)[0] ?? '', author: 'Ada', committedAt: at };
    },
    diff: async (from, to, folder) => {
      const before = from === null ? new Map<string, TreeEntry>() : commitHere(from).files;
      return diffOf(before, commitHere(to).files, folder);
    },
    signaturesOf: async (commit, files) =>
      new Map([...files.keys()].map((path) => [path, remote.signatureOf(commit, path)])),
    measure: async (id, folder, limits) => {
      const prefix = folder === '' ? '' : `${folder}/`;
      const paths = [...commitHere(id).files.keys()].filter((path) => path.startsWith(prefix));
      return excessOf(limits, 'entries', paths.length);
    },
    readBlob: async (blob, maxBytes) => {
      const found = world.blobs.get(blob);
      if (found === undefined) return { type: 'missing' };
      remote.reads.push(found.path);
      const bytes = Buffer.from(found.text);
      return bytes.length > maxBytes ? { type: 'oversized', size: bytes.length } : { type: 'read', bytes };
    },
    publish: async (request) => {
      remote.publishes += 1;
      if (remote.failure !== undefined) return remote.failure;
      const planned = remote.nextPublish.shift();
      if (typeof planned === 'function') planned();
      else if (planned !== undefined) return planned;
      if ((world.branches.get(branch) ?? null) !== request.expected) return { type: 'race' };
      const id = world.commit(request.expected ?? undefined, [...request.changes], request.message, request.at);
      world.branches.set(branch, id);
      take(id);
      return { type: 'published', commit: id };
    },
    close: async () => undefined,
  };
}

function diffOf(
  before: ReadonlyMap<string, TreeEntry>,
  after: ReadonlyMap<string, TreeEntry>,
  folder: string,
): readonly TreeChange[] {
  const prefix = folder === '' ? '' : `${folder}/`;
  const paths = [...new Set([...before.keys(), ...after.keys()])].filter((path) => path.startsWith(prefix));
  return paths
    .filter((path) => before.get(path)?.blob !== after.get(path)?.blob)
    .map((path) => ({ path: path.slice(prefix.length), entry: after.get(path) ?? null }));
}
