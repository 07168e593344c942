import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Excess, RevisionLimits } from '../../model/revision-limits.ts';
import type { Clock } from '../../ports/clock.ts';
import {
  type GitBlobOutcome,
  type GitCommitInfo,
  type GitRepo,
  gitCopyError,
  type TreeChange,
  type TreeEntry,
} from '../../ports/git-repo.ts';
import { parseCommit } from './commit-text.ts';
import { copyFailure, DeadlinePassed } from './failures.ts';
import { createSignatureReader, type GitSigners } from './file-signature.ts';
import { type GitCommand, killGroup } from './git-command.ts';
import { createTreeMeter } from './measure-tree.ts';

export type CopyReader = ReturnType<typeof createCopyReader>;

const SILENCE_MS = 60_000;
const OBJECT_ID = /^[0-9a-f]{40}([0-9a-f]{24})?$/;
const LOCAL_DEADLINE_MS = 120_000;
/** Of a commit: its message can be of any size. */
const COMMIT_START_BYTES = 64 * 1024;
/** Git knows the empty tree without having it as an object; its id depends on the object format. */
const EMPTY_TREES = [
  '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321',
];

export interface CopyReaderOptions {
  readonly signers?: GitSigners | undefined;
  /** A folder of objects that are read too, relative to the working directory of git. */
  readonly otherObjects?: string;
}

interface Context {
  readonly git: GitCommand;
  readonly repository: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly objects: ObjectBatch;
  /** Answers type and size only. */
  readonly headers: ObjectBatch;
  readonly meter: ReturnType<typeof createTreeMeter>;
}

/** The part of a {@link GitRepo} that reads the local copy. Its long-lived processes start at the first use. */
export function createCopyReader(
  git: GitCommand,
  clock: Clock,
  repository: string,
  { signers = {}, otherObjects }: CopyReaderOptions = {},
) {
  const environment = otherObjects === undefined ? {} : { GIT_ALTERNATE_OBJECT_DIRECTORIES: otherObjects };
  const start = (kind: string) => git.start(['cat-file', kind], repository, environment);
  const objects = createObjectBatch(clock, () => start('--batch'), true);
  const headers = createObjectBatch(clock, () => start('--batch-check'), false);
  const meter = createTreeMeter(async (tree, maxBytes) => {
    const object = await objects.read(tree, maxBytes);
    return object?.type === 'tree' ? (object.bytes ?? 'oversized') : undefined;
  });
  const context = { git, repository, environment, objects, headers, meter };
  const signaturesOf = createSignatureReader(git, repository, environment, signers);
  const stop = (): void => {
    objects.stop();
    headers.stop();
  };
  let damaged = false;
  const noticed = async <Value>(reading: Promise<Value>): Promise<Value> => {
    try {
      return await reading;
    } catch (error) {
      if (!(error instanceof DeadlinePassed)) damaged = true;
      throw error;
    }
  };
  const reading: Omit<GitRepo, 'address' | 'branch' | 'fetch' | 'fetchRef' | 'publish' | 'close'> = {
    hasCommit: (commit) => noticed(hasCommit(context, commit)),
    isAncestor: (ancestor, descendant) => noticed(isAncestor(context, ancestor, descendant)),
    mergeBase: (a, b) => noticed(mergeBase(context, a, b)),
    commitInfo: (commit) => noticed(commitInfo(context, commit)),
    diff: (from, to, folder) => noticed(diff(context, from, to, folder)),
    measure: (commit, folder, limits) => noticed(measure(context, commit, folder, limits)),
    signaturesOf: (commit, files) => noticed(signaturesOf(commit, files)),
    readBlob: (blob, maxBytes) => noticed(readBlob(context, blob, maxBytes)),
  };
  return {
    reading,
    /** True if a read has failed since the last call of `restart`. */
    damaged: () => damaged,
    /** Ends the processes that read the copy, because it was replaced. */
    restart: () => {
      damaged = false;
      stop();
    },
    stop,
  };
}

async function hasCommit({ headers }: Context, commit: string): Promise<boolean> {
  const object = await headers.read(commit, 0);
  return object?.type === 'commit';
}

async function isAncestor(context: Context, ancestor: string, descendant: string): Promise<boolean> {
  const areHere = (await hasCommit(context, ancestor)) && (await hasCommit(context, descendant));
  if (!areHere || ancestor === descendant) return areHere;
  const outcome = await runLocal(context, ['merge-base', '--is-ancestor', ancestor, descendant]);
  if (outcome.code === 0 || outcome.code === 1) return outcome.code === 0;
  throw copyFailure('walking the history', outcome);
}

async function mergeBase(context: Context, a: string, b: string): Promise<string | undefined> {
  if (!(await hasCommit(context, a)) || !(await hasCommit(context, b))) return undefined;
  const outcome = await runLocal(context, ['merge-base', a, b]);
  if (outcome.code !== 0 && outcome.code !== 1) throw copyFailure('walking the history', outcome);
  const commit = outcome.output.toString('latin1').trim();
  return isObjectId(commit) ? commit : undefined;
}

async function diff(context: Context, from: string | null, to: string, folder: string): Promise<readonly TreeChange[]> {
  if (!isObjectId(to) || (from !== null && !isObjectId(from))) throw new Error('not a commit id');
  const before = from ?? EMPTY_TREES.find((id) => id.length === to.length) ?? '';
  const below = folder === '' ? [] : [`--relative=${folder}/`];
  const paths = folder === '' ? [] : ['--', folder];
  const changes: ListedChange[] = [];
  const parse = createDiffParser((change) => changes.push(change));
  await listed(context, parse, ['diff-tree', '-r', '-z', '--raw', '--no-renames', ...below, before, to, ...paths]);
  const files = changes.flatMap(({ entry }) => (entry?.kind === 'file' ? [entry.blob] : []));
  const sizes = await sizesOf(context, [...new Set(files)]);
  return changes.map(({ path, entry }) => ({
    path,
    entry: entry === null ? null : { ...entry, size: (entry.kind === 'file' && sizes.get(entry.blob)) || 0 },
  }));
}

async function sizesOf({ headers }: Context, blobs: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const sizes = blobs.map(async (blob) => {
    const header = await headers.read(blob, 0);
    if (header === undefined) throw gitCopyError(`the local copy lacks the object ${blob}`);
    return [blob, header.size] as const;
  });
  return new Map(await Promise.all(sizes));
}

async function measure(
  context: Context,
  commit: string,
  folder: string,
  limits: RevisionLimits,
): Promise<Excess | undefined> {
  if (!isObjectId(commit)) throw new Error('not a commit id');
  const outcome = await runLocal(context, ['rev-parse', '--verify', '--quiet', `${commit}:${folder}`]);
  if (outcome.code !== 0 && outcome.code !== 1) throw copyFailure('finding a folder', outcome);
  const tree = outcome.output.toString('latin1').trim();
  const found = isObjectId(tree) ? await context.headers.read(tree, 0) : undefined;
  return found?.type === 'tree' ? context.meter.measure(tree, limits) : undefined;
}

async function listed(context: Context, takeOutput: (chunk: Buffer) => void, args: readonly string[]): Promise<void> {
  const outcome = await runLocal(context, args, takeOutput);
  if (!outcome.succeeded) throw copyFailure('listing the local copy', outcome);
}

function runLocal(
  { git, repository, environment }: Context,
  args: readonly string[],
  takeOutput?: (chunk: Buffer) => void,
) {
  return git.run({ args, repository, environment, deadlineMs: LOCAL_DEADLINE_MS, ...(takeOutput && { takeOutput }) });
}

async function readBlob({ objects }: Context, blob: string, maxBytes: number): Promise<GitBlobOutcome> {
  const object = await objects.read(blob, maxBytes);
  if (object?.type !== 'blob') return { type: 'missing' };
  if (object.bytes === undefined) return { type: 'oversized', size: object.size };
  return { type: 'read', bytes: object.bytes };
}

async function commitInfo({ objects }: Context, commit: string): Promise<GitCommitInfo> {
  const object = await objects.read(commit, COMMIT_START_BYTES, true);
  if (object?.bytes === undefined) throw gitCopyError(`the local copy lacks the commit ${commit}`);
  return parseCommit(object.bytes);
}

interface ListedChange {
  readonly path: string;
  readonly entry: Omit<TreeEntry, 'size'> | null;
}

/** Parses `diff-tree -r -z --raw --no-renames` as it comes: `:mode mode id id status NUL path NUL`. */
function createDiffParser(found: (change: ListedChange) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    const output = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (at < output.length) {
      const statusEnd = output.indexOf(0, at);
      const pathEnd = statusEnd < 0 ? -1 : output.indexOf(0, statusEnd + 1);
      if (pathEnd < 0) break;
      const [, mode = '', , blob = ''] = output.toString('latin1', at, statusEnd).split(' ');
      const kind = kindOfMode(mode);
      const path = pathText(output.subarray(statusEnd + 1, pathEnd));
      found({ path, entry: kind === undefined ? null : { kind, blob } });
      at = pathEnd + 1;
    }
    rest = output.subarray(at);
  };
}

function kindOfMode(mode: string): TreeEntry['kind'] | undefined {
  if (mode === '120000') return 'symlink';
  if (mode === '160000') return 'submodule';
  return mode.startsWith('100') ? 'file' : undefined;
}

const strictText = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Decodes a path. Bytes that are not UTF-8 become `\xNN`, so that the path still has a name. */
export function pathText(bytes: Uint8Array): string {
  try {
    return strictText.decode(bytes);
  } catch {
    return [...bytes].map((byte) => (byte < 0x80 ? String.fromCharCode(byte) : `\\x${byte.toString(16)}`)).join('');
  }
}

/** One object; `bytes` is undefined if the object is larger than requested and its start was not asked for. */
interface BatchObject {
  readonly type: string;
  readonly size: number;
  readonly bytes: Buffer | undefined;
}

type ObjectBatch = ReturnType<typeof createObjectBatch>;

interface Request {
  readonly maxBytes: number;
  readonly wantsStart: boolean;
  readonly resolve: (object: BatchObject | undefined) => void;
  readonly reject: (error: Error) => void;
}

/** True for a full object id. Nothing else is passed to a command line or a batch. */
export function isObjectId(text: string): boolean {
  return OBJECT_ID.test(text);
}

/**
 * A long-lived `git cat-file --batch` or, without contents, `--batch-check`, which answers many requests in order. The process
 * starts at the first request, and again after it has ended.
 */
function createObjectBatch(clock: Clock, start: () => ChildProcessWithoutNullStreams, withContent: boolean) {
  let running: ReturnType<typeof runBatch> | undefined;
  return {
    /** Undefined: the object does not exist. Rejects with a `GitCopyError` if the process fails or gives no answer. */
    read: (object: string, maxBytes: number, wantsStart = false): Promise<BatchObject | undefined> => {
      if (!isObjectId(object)) return Promise.resolve(undefined);
      if (running === undefined || running.hasEnded()) running = runBatch(clock, start(), withContent);
      return running.read(object, maxBytes, wantsStart);
    },
    stop: (): void => {
      running?.fail('the reading was stopped');
      running = undefined;
    },
  };
}

function runBatch(clock: Clock, child: ChildProcessWithoutNullStreams, withContent: boolean) {
  const waiting: Request[] = [];
  let hasEnded = false;
  let cancelSilence = (): void => undefined;
  const fail = (why: string): void => {
    if (hasEnded) return;
    hasEnded = true;
    cancelSilence();
    killGroup(child);
    for (const request of waiting.splice(0)) request.reject(gitCopyError(`reading the local copy failed: ${why}`));
  };
  const watchSilence = (): void => {
    cancelSilence();
    if (waiting.length > 0) cancelSilence = clock.schedule(SILENCE_MS, () => fail('git gave no answer'));
  };
  const parse = createBatchParser({
    withContent,
    request: () => waiting[0],
    object: (object) => waiting.shift()?.resolve(object),
    broken: fail,
  });
  child.stdout.on('data', (chunk: Buffer) => {
    parse(chunk);
    if (!hasEnded) watchSilence();
  });
  child.stderr.resume();
  child.stdin.on('error', () => undefined);
  child.once('error', (error) => fail(error.message));
  child.once('close', () => fail('git ended'));
  return {
    hasEnded: () => hasEnded,
    fail,
    read: (object: string, maxBytes: number, wantsStart: boolean): Promise<BatchObject | undefined> =>
      new Promise((resolve, reject) => {
        waiting.push({ maxBytes, wantsStart, resolve, reject });
        child.stdin.write(`${object}\n`);
        if (waiting.length === 1) watchSilence();
      }),
  };
}

/** Splits the answers: a header line `id type size` or `id missing`; after a size that many bytes and a line end. */
function createBatchParser(sink: {
  readonly withContent: boolean;
  readonly request: () => Pick<Request, 'maxBytes' | 'wantsStart'> | undefined;
  readonly object: (object: BatchObject | undefined) => void;
  readonly broken: (why: string) => void;
}): (chunk: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0);
  /** `room`: bytes that are still kept of the object. */
  let current: { type: string; size: number; left: number; room: number; parts: Buffer[] | undefined } | undefined;
  const takeHeader = (): boolean => {
    const lineEnd = pending.indexOf(10);
    if (lineEnd < 0) return false;
    const [, type, sizeText] = pending.toString('latin1', 0, lineEnd).split(' ');
    pending = pending.subarray(lineEnd + 1);
    const size = Number(sizeText);
    if (type === 'missing') sink.object(undefined);
    else if (type === undefined || !Number.isSafeInteger(size)) {
      sink.broken('git gave an answer that cannot be understood');
      return false;
    } else if (!sink.withContent) sink.object({ type, size, bytes: undefined });
    else {
      const { maxBytes = 0, wantsStart = false } = sink.request() ?? {};
      const parts = size <= maxBytes || wantsStart ? [] : undefined;
      // One more for the line end after the content.
      current = { type, size, left: size + 1, room: Math.min(size, maxBytes), parts };
    }
    return true;
  };
  const takeContent = (content: NonNullable<typeof current>): void => {
    const part = pending.subarray(0, content.left);
    pending = pending.subarray(part.length);
    content.left -= part.length;
    if (content.room > 0) content.parts?.push(part.subarray(0, content.room));
    content.room -= Math.min(content.room, part.length);
    if (content.left > 0) return;
    const { type, size, parts } = content;
    current = undefined;
    sink.object({ type, size, bytes: parts && Buffer.concat(parts) });
  };
  return (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    while (pending.length > 0) {
      if (current !== undefined) takeContent(current);
      else if (!takeHeader()) return;
    }
  };
}
