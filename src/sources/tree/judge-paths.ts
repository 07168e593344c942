import type { DecodedFile } from '../../model/fleet/desired.ts';
import type { RevisionLimits } from '../../model/limits/revision-limits.ts';
import type { TreeEntry } from '../../ports/git-repo.ts';
import { followsAll, IGNORE_FILE, type Membership, parseIgnoreFile } from './ignore-file.ts';
import type { Pace } from './pace.ts';
import { matchPaths, notMatched, type PathJudgement, type PathOfRevision } from './path-steps.ts';
import type { ReadTreeFile } from './tree-file.ts';
import { unreadableFile } from './unreadable-file.ts';

const MAX_IGNORE_BYTES = 256 * 1024;

interface Judging {
  readonly read: ReadTreeFile;
  readonly limits: RevisionLimits;
  readonly pace: Pace;
}

interface JudgedNode {
  readonly entry: TreeEntry;
  readonly ignoreSteps?: number;
  readonly isIgnored?: true;
}

/** The part of a tree that matters here. */
interface JudgedTree {
  readonly nodes: ReadonlyMap<string, JudgedNode>;
  readonly membership: Membership;
  readonly ignoreSteps: number;
}

/** The paths of a tree as its ignore rules judge them. */
export interface JudgedPaths {
  readonly membership: Membership;
  /** An ignore file that cannot be read. */
  readonly file?: DecodedFile;
  /** The steps of all paths of the tree. */
  readonly steps: number;
  /** What has changed, or all paths if the rules have: each may belong to the source now, or not any more. */
  readonly paths: ReadonlySet<string>;
  /** Whether the rules let a path of the tree belong to the source. */
  follows(path: string): boolean;
  /** What the node of the path keeps of it. */
  resultAt(path: string): Omit<JudgedNode, 'entry'>;
}

/** Judges the paths of a tree that differs from the one before by `entries`. Throws `BeyondLimit` above the limit of steps. */
export async function judgePaths(
  { read, limits, pace }: Judging,
  before: JudgedTree,
  entries: ReadonlyMap<string, TreeEntry | null>,
): Promise<JudgedPaths> {
  const ignore = entries.get(IGNORE_FILE);
  const isNew = ignore !== undefined;
  const rules = isNew ? await readRules(ignore, read) : { membership: before.membership };
  const { membership } = rules;
  const stepsBefore = (path: string): number => before.nodes.get(path)?.ignoreSteps ?? 0;
  const kinds = new Map<string, TreeEntry['kind']>();
  if (isNew) for (const [path, { entry }] of before.nodes) kinds.set(path, entry.kind);
  let kept = isNew ? 0 : before.ignoreSteps;
  for (const [path, entry] of entries) {
    if (!isNew) kept -= stepsBefore(path);
    if (entry === null) kinds.delete(path);
    else kinds.set(path, entry.kind);
  }
  const all = function* (): Generator<PathOfRevision> {
    yield* kinds;
    if (!isNew) for (const path of before.nodes.keys()) if (!entries.has(path)) yield [path, stepsBefore(path)];
  };
  const { judged, steps } = await matchPaths({ membership, limits, pace, kept }, kinds, all);
  const judgementOf = (path: string): PathJudgement => {
    const known = membership.rules.length === 0 ? notMatched : judged.get(path);
    // With the same rules as before, a path that is not matched now keeps the verdict in its node.
    return known ?? { steps: stepsBefore(path), follows: before.nodes.get(path)?.isIgnored !== true };
  };
  return {
    ...rules,
    steps,
    paths: isNew ? new Set(kinds.keys()).union(entries) : new Set(entries.keys()),
    follows: (path) => judgementOf(path).follows,
    resultAt: (path) => {
      const { steps: found, follows } = judgementOf(path);
      return { ...(found === 0 ? {} : { ignoreSteps: found }), ...(follows ? {} : { isIgnored: true }) };
    },
  };
}

/** Reads the ignore rules. An ignore file that cannot be read is an unreadable file of the source. */
export async function readRules(
  entry: TreeEntry | null,
  read: ReadTreeFile,
): Promise<{ readonly membership: Membership; readonly file?: DecodedFile }> {
  if (entry === null) return { membership: followsAll };
  const broken = (what: string, line?: number) => ({
    membership: followsAll,
    file: unreadableFile(IGNORE_FILE, entry.blob, 'IgnoreFile', what, undefined, line),
  });
  if (entry.kind !== 'file') return broken('is not a plain file');
  if (entry.size > MAX_IGNORE_BYTES) return broken(`is larger than ${MAX_IGNORE_BYTES} bytes`);
  const content = await read(IGNORE_FILE, entry);
  if ('reason' in content) return broken(content.reason);
  const parsed = parseIgnoreFile(new TextDecoder().decode(content.bytes));
  return parsed.ok ? { membership: parsed.membership } : broken(parsed.problem, parsed.line);
}
