import { isToolFileName } from '../../manifest/tool-files.ts';
import type { DecodedFile } from '../../model/fleet/desired.ts';
import type { TreeEntry } from '../../ports/git-repo.ts';
import { type DecodeFile, DecodingEnded, type ReadTreeFile } from './tree-file.ts';

/** What came of a file: its decoding, a reason why it cannot be read, or the error that decoding threw. */
export type Decoding = { readonly file: DecodedFile } | { readonly reason: string } | { readonly defect: unknown };

/**
 * Returns a function that reads and decodes a file. Content is decoded once, however many paths have it: a decoded file
 * depends on its path in the places of its diagnostics only, in whether it is JSON, and for the files of Helm and kustomize.
 * Rejects if `read` does, or with a {@link DecodingEnded}.
 */
export function createSharedDecoding(decode: DecodeFile, read: ReadTreeFile) {
  const known = new Map<string, Promise<{ readonly path: string; readonly decoding: Decoding }>>();

  async function decodeAt(path: string, entry: TreeEntry) {
    const content = await read(path, entry);
    if ('reason' in content) return { path, decoding: content };
    try {
      return { path, decoding: { file: await decode(path, content.bytes, entry.blob) } };
    } catch (defect) {
      if (defect instanceof DecodingEnded) throw defect;
      return { path, decoding: { defect } };
    }
  }
  return async (path: string, entry: TreeEntry): Promise<Decoding> => {
    if (isToolFileName(path)) return (await decodeAt(path, entry)).decoding;
    const key = `${entry.blob} ${path.toLowerCase().endsWith('.json')}`;
    const first = known.get(key);
    if (first === undefined) {
      const own = decodeAt(path, entry);
      known.set(key, own);
      return (await own).decoding;
    }
    const { path: other, decoding } = await first;
    return 'file' in decoding ? { file: atPath(decoding.file, other, path) } : (await decodeAt(path, entry)).decoding;
  };
}

/** The decoded file at another path. */
function atPath(file: DecodedFile, from: string, to: string): DecodedFile {
  const diagnostics = file.diagnostics.map((diagnostic) =>
    diagnostic.at?.path === from ? { ...diagnostic, at: { ...diagnostic.at, path: to } } : diagnostic,
  );
  return { ...file, diagnostics };
}
