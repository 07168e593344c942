import { fchmodSync, fchownSync, lstatSync } from 'node:fs';
import process from 'node:process';
import { replaceFile } from '../../adapters/disk/files.ts';
import type { Diagnostic } from '../../model/fleet/diagnostic.ts';
import { quote } from '../../model/fleet/ids.ts';
import { sha256 } from '../../model/text/digest.ts';
import { compareText } from '../../model/text/json.ts';
import { applyFixes } from '../../validation/fixes.ts';
import type { CheckedFile } from './check-file.ts';
import { createBytesReader, problemOf } from './file-bytes.ts';
import { bytesOf, type InputFile } from './inputs.ts';
import type { FixedFile } from './report.ts';

/** Files after the fixes of their findings were applied. */
export interface Mended {
  /** In canonical order. */
  readonly fixed: readonly FixedFile[];
  /** The inputs, standard input with its mended text. */
  readonly files: readonly InputFile[];
}

/**
 * Applies the fixes of the findings that are reported to the files of the inputs, and changes nothing else. A file is replaced
 * as a whole, with its mode and owner; a symbolic link stays, and what it refers to is not changed. A file that has changed
 * since it was checked is left for another run. Rejects with a text for people if a file cannot be written.
 *
 * @param checked of the files, in their order
 */
export function mendFiles(
  files: readonly InputFile[],
  checked: readonly CheckedFile[],
  diagnostics: readonly Diagnostic[],
): Mended {
  const read = createBytesReader();
  const byName = Map.groupBy(
    diagnostics.filter(({ fix }) => fix !== undefined),
    ({ at }) => at?.path ?? '',
  );
  const fixed: FixedFile[] = [];
  const after = files.map((file, index) => {
    const found = byName.get(file.name) ?? [];
    const content = found.length === 0 || isLink(file) ? undefined : bytesOf(file, read);
    if (content?.ok !== true || sha256(content.bytes) !== checked[index]?.digest) return file;
    const { text, mended } = applyFixes(TEXT.decode(content.bytes), found);
    if (mended.length === 0) return file;
    fixed.push({ path: file.name, findings: mended.length });
    const bytes = new TextEncoder().encode(text);
    if (file.bytes !== undefined) return { ...file, bytes };
    replace(file, bytes);
    return file;
  });
  return { fixed: fixed.sort((a, b) => compareText(a.path, b.path)), files: after };
}

const TEXT = new TextDecoder('utf-8', { ignoreBOM: true });

function isLink({ location, bytes }: InputFile): boolean {
  return bytes === undefined && lstatSync(location, { throwIfNoEntry: false })?.isFile() !== true;
}

/** Replaces the file; it keeps its mode, and its owner where this process may set it. */
function replace({ name, location }: InputFile, bytes: Uint8Array): void {
  try {
    const { mode, uid, gid } = lstatSync(location);
    replaceFile(location, bytes, {
      mode: 0o600,
      prepare: (file) => {
        if (uid !== process.getuid?.() || gid !== process.getgid?.()) attempt(() => fchownSync(file, uid, gid));
        fchmodSync(file, mode & 0o7777);
      },
    });
  } catch (error) {
    throw new Error(`${quote(name)} cannot be changed: ${problemOf(error)}`);
  }
}

function attempt(change: () => void): void {
  try {
    change();
  } catch {
    // The file belongs to this user then.
  }
}
