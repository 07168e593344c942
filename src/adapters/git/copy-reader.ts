import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { writableTime } from '../../model/time.ts';
import type { Clock } from '../../ports/clock.ts';
import {
  type GitBlobOutcome,
  type GitCommitInfo,
  type GitRepo,
  gitCopyError,
  type TreeChange,
  type TreeEntry,
} from '../../ports/git-repo.ts';
import { cleanMessage } from './failures.ts';
import { type GitCommand, killGroup } from './git-command.ts';

export type CopyReader = ReturnType<typeof createCopyReader>;

const SILENCE_MS = 60_000;
const OBJECT_ID = /^[0-9a-f]{40}([0-9a-f]{24})?$/;
const LOCAL_DEADLINE_MS = 120_000;
const MAX_LISTING_BYTES = 256 * 1024 * 1024;
const MAX_COMMIT_BYTES = 1024 * 1024;
/** Git knows the empty tree without having it as an object; its id depends on the object format. */
const EMPTY_TREES = [
  '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321',
];

interface Context {
  readonly git: GitCommand;
  readonly repository: string;
  readonly objects: ObjectBatch;
  /** Answers type and size only. */
  readonly headers: ObjectBatch;
}

/** The part of a {@link GitRepo} that reads the local copy. Its long-lived processes start at the first use. */
export function createCopyReader(git: GitCommand, clock: Clock, repository: string) {
  const objects = createObjectBatch(clock, () => git.start(['cat-file', '--batch'], repository), true);
  const headers = createObjectBatch(clock, () => git.start(['cat-file', '--batch-check'], repository), false);
  const context = { git, repository, objects, headers };
  const stop = (): void => {
    objects.stop();
    headers.stop();
  };
  let damaged = false;
  const noticed = async <Value>(reading: Promise<Value>): Promise<Value> => {
    try {
      return await reading;
    } catch (error) {
      damaged = true;
      throw error;
    }
  };
  const reading: Pick<GitRepo, 'hasCommit' | 'isAncestor' | 'commitInfo' | 'diff' | 'readBlob'> = {
    hasCommit: (commit) => noticed(hasCommit(context, commit)),
    isAncestor: (ancestor, descendant) => noticed(isAncestor(context, ancestor, descendant)),
    commitInfo: (commit) => noticed(commitInfo(context, commit)),
    diff: (from, to, folder) => noticed(diff(context, from, to, folder)),
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
  throw gitCopyError(`walking the history failed: ${cleanMessage(outcome.errors, []) || outcome.end}`);
}

async function diff(context: Context, from: string | null, to: string, folder: string): Promise<readonly TreeChange[]> {
  if (!isObjectId(to) || (from !== null && !isObjectId(from))) throw new Error('not a commit id');
  const before = from ?? EMPTY_TREES.find((id) => id.length === to.length) ?? '';
  const below = folder === '' ? [] : [`--relative=${folder}/`];
  const paths = folder === '' ? [] : ['--', folder];
  const listing = await listed(context, [
    'diff-tree',
    '-r',
    '-z',
    '--raw',
    '--no-renames',
    ...below,
    before,
    to,
    ...paths,
  ]);
  const changes = parseTreeDiff(listing);
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

async function listed(context: Context, args: readonly string[]): Promise<Buffer> {
  const outcome = await runLocal(context, args);
  if (outcome.succeeded) return outcome.output;
  throw gitCopyError(`listing the local copy failed: ${cleanMessage(outcome.errors, []) || outcome.end}`);
}

function runLocal({ git, repository }: Context, args: readonly string[]) {
  return git.run({ args, repository, deadlineMs: LOCAL_DEADLINE_MS, maxOutputBytes: MAX_LISTING_BYTES });
}

async function readBlob({ objects }: Context, blob: string, maxBytes: number): Promise<GitBlobOutcome> {
  const object = await objects.read(blob, maxBytes);
  if (object?.type !== 'blob') return { type: 'missing' };
  if (object.bytes === undefined) return { type: 'oversized', size: object.size };
  return { type: 'read', bytes: object.bytes };
}

async function commitInfo({ objects }: Context, commit: string): Promise<GitCommitInfo> {
  const object = await objects.read(commit, MAX_COMMIT_BYTES);
  if (object?.bytes === undefined) throw gitCopyError(`the local copy lacks the commit ${commit}`);
  return parseCommit(object.bytes);
}

interface ListedChange {
  readonly path: string;
  readonly entry: Omit<TreeEntry, 'size'> | null;
}

/** Parses `diff-tree -r -z --raw --no-renames`: `:mode mode id id status NUL path NUL`. */
function parseTreeDiff(output: Buffer): readonly ListedChange[] {
  const changes: ListedChange[] = [];
  for (let at = 0; at < output.length; ) {
    const statusEnd = output.indexOf(0, at);
    const pathEnd = output.indexOf(0, statusEnd + 1);
    if (statusEnd < 0 || pathEnd < 0) break;
    const [, mode = '', , blob = ''] = output.toString('latin1', at, statusEnd).split(' ');
    const kind = kindOfMode(mode);
    const path = pathText(output.subarray(statusEnd + 1, pathEnd));
    changes.push({ path, entry: kind === undefined ? null : { kind, blob } });
    at = pathEnd + 1;
  }
  return changes;
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

/** Reads author, time of the committer and first line from a raw commit object. */
function parseCommit(raw: Uint8Array): GitCommitInfo {
  const text = Buffer.from(raw).toString('utf8');
  const [header = '', ...body] = text.split('\n\n');
  const author = /^author (.*)$/m.exec(header)?.[1] ?? '';
  const seconds = Number(/^committer .*> (-?\d+) [+-]\d{4}$/m.exec(header)?.[1] ?? '0');
  const message = body.join('\n\n').trimStart();
  return {
    subject: printable(message.split('\n', 1)[0] ?? ''),
    author: printable(/^(.*?) ?</.exec(author)?.[1] ?? author),
    committedAt: writableTime(seconds * 1000),
  };
}

function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a commit must not control the terminal of a person.
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').slice(0, 300);
}

/** One object; `bytes` is undefined if the object is larger than requested. */
interface BatchObject {
  readonly type: string;
  readonly size: number;
  readonly bytes: Buffer | undefined;
}

type ObjectBatch = ReturnType<typeof createObjectBatch>;

interface Request {
  readonly maxBytes: number;
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
    read: (object: string, maxBytes: number): Promise<BatchObject | undefined> => {
      if (!isObjectId(object)) return Promise.resolve(undefined);
      if (running === undefined || running.hasEnded()) running = runBatch(clock, start(), withContent);
      return running.read(object, maxBytes);
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
    maxBytes: () => waiting[0]?.maxBytes ?? 0,
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
    read: (object: string, maxBytes: number): Promise<BatchObject | undefined> =>
      new Promise((resolve, reject) => {
        waiting.push({ maxBytes, resolve, reject });
        child.stdin.write(`${object}\n`);
        if (waiting.length === 1) watchSilence();
      }),
  };
}

/** Splits the answers: a header line `id type size` or `id missing`; after a size that many bytes and a line end. */
function createBatchParser(sink: {
  readonly withContent: boolean;
  readonly maxBytes: () => number;
  readonly object: (object: BatchObject | undefined) => void;
  readonly broken: (why: string) => void;
}): (chunk: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0);
  let current: { type: string; size: number; left: number; parts: Buffer[] | undefined } | undefined;
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
    // One more for the line end after the content.
    else current = { type, size, left: size + 1, parts: size <= sink.maxBytes() ? [] : undefined };
    return true;
  };
  const takeContent = (content: NonNullable<typeof current>): void => {
    const part = pending.subarray(0, content.left);
    pending = pending.subarray(part.length);
    content.left -= part.length;
    content.parts?.push(part);
    if (content.left > 0) return;
    const { type, size, parts } = content;
    current = undefined;
    sink.object({ type, size, bytes: parts && Buffer.concat(parts).subarray(0, size) });
  };
  return (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    while (pending.length > 0) {
      if (current !== undefined) takeContent(current);
      else if (!takeHeader()) return;
    }
  };
}
