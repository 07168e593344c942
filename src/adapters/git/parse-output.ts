import { writableTime } from '../../model/time.ts';
import type { GitCommitInfo, GitTreeEntry } from '../../ports/git-repo.ts';

/** An entry as git lists it: the size of a file may not be known yet. */
export interface ListedEntry {
  readonly path: string;
  /** null: removed. */
  readonly entry: {
    readonly kind: GitTreeEntry['kind'];
    readonly blob: string;
    readonly size: number | undefined;
  } | null;
}

const strictText = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Text of a path; bytes that are no UTF-8 are shown as `\xNN`, so that the path can still be named. */
export function pathText(bytes: Uint8Array): string {
  try {
    return strictText.decode(bytes);
  } catch {
    return [...bytes].map((byte) => (byte < 0x80 ? String.fromCharCode(byte) : `\\x${byte.toString(16)}`)).join('');
  }
}

function kindOfMode(mode: string): GitTreeEntry['kind'] | undefined {
  if (mode === '120000') return 'symlink';
  if (mode === '160000') return 'submodule';
  return mode.startsWith('100') ? 'file' : undefined;
}

/** Parses `ls-tree -r -l -z`: `mode type id size TAB path NUL`. */
export function parseTreeList(output: Buffer): readonly ListedEntry[] {
  const entries: ListedEntry[] = [];
  for (const record of records(output)) {
    const tab = record.indexOf(9);
    const [mode = '', , blob = '', sizeText = ''] = record.toString('latin1', 0, tab).split(/ +/);
    const kind = kindOfMode(mode);
    if (kind === undefined) continue;
    // `BAD` stands for an object that is not here; asking for it again says so.
    const size = kind !== 'file' ? 0 : /^\d+$/.test(sizeText) ? Number(sizeText) : undefined;
    entries.push({ path: pathText(record.subarray(tab + 1)), entry: { kind, blob, size } });
  }
  return entries;
}

/** Parses `diff-tree -r -z --raw --no-renames`: `:mode mode id id status NUL path NUL`. */
export function parseTreeDiff(output: Buffer): readonly ListedEntry[] {
  const parts = [...records(output)];
  const entries: ListedEntry[] = [];
  for (let index = 0; index + 1 < parts.length; index += 2) {
    const [, mode = '', , blob = ''] = parts[index]?.toString('latin1').split(' ') ?? [];
    const kind = kindOfMode(mode);
    const path = pathText(parts[index + 1] ?? Buffer.alloc(0));
    entries.push({
      path,
      entry: kind === undefined ? null : { kind, blob, size: kind === 'file' ? undefined : 0 },
    });
  }
  return entries;
}

function* records(output: Buffer): Generator<Buffer> {
  let start = 0;
  for (let end = output.indexOf(0, start); end >= 0; end = output.indexOf(0, start)) {
    yield output.subarray(start, end);
    start = end + 1;
  }
}

/** Keeps what lies below the folder and makes its paths relative to it. */
export function belowFolder(entries: readonly ListedEntry[], folder: string): readonly ListedEntry[] {
  if (folder === '') return entries;
  const prefix = `${folder}/`;
  return entries
    .filter(({ path }) => path.startsWith(prefix))
    .map(({ path, entry }) => ({ path: path.slice(prefix.length), entry }));
}

/** Reads author, committer time and first line from a raw commit object. */
export function parseCommit(raw: Uint8Array): GitCommitInfo {
  const text = Buffer.from(raw).toString('utf8');
  const headerEnd = text.indexOf('\n\n');
  const headers = (headerEnd < 0 ? text : text.slice(0, headerEnd)).split('\n');
  const author = headers.find((line) => line.startsWith('author '))?.slice('author '.length) ?? '';
  const committer = headers.find((line) => line.startsWith('committer ')) ?? '';
  const seconds = Number(/> (-?\d+) [+-]\d{4}$/.exec(committer)?.[1] ?? '0');
  const message = headerEnd < 0 ? '' : text.slice(headerEnd + 2).trimStart();
  return {
    subject: printable(message.split('\n', 1)[0] ?? ''),
    author: printable(/^(.*?) ?</.exec(author)?.[1] ?? author),
    committedAt: writableTime(seconds * 1000),
  };
}

function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a commit must not write to somebody's terminal.
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').slice(0, 300);
}
