import type { DecodedFile } from '../../model/fleet/desired.ts';
import { type Diagnostic, diagnosticOf, type FindingReason } from '../../model/fleet/diagnostic.ts';
import { quote } from '../../model/fleet/ids.ts';
import { pathProblem } from '../../model/text/path-pattern.ts';
import type { TreeEntry } from '../../ports/git-repo.ts';
import { IGNORE_FILE, isManifestName } from './ignore-file.ts';
import { isMatched } from './path-steps.ts';
import { unreadableFile } from './unreadable-file.ts';

/** A manifest to decode, or one that is refused unread. */
export interface Wanted {
  readonly path: string;
  readonly entry: TreeEntry;
  readonly refused?: DecodedFile;
}

/** The entry as a manifest; undefined if it is none. */
export function wantedAs(path: string, entry: TreeEntry, part: ReturnType<typeof partOf>): Wanted | undefined {
  if (part === 'manifest') return { path, entry };
  return part !== 'none' && 'file' in part ? { path, entry, refused: part.file } : undefined;
}

/**
 * The part that an entry has in a source: a manifest to decode, a manifest that cannot be read (`file`), no manifest, or that
 * with a warning.
 */
export function partOf(
  path: string,
  { kind, size, blob }: TreeEntry,
  follows: (path: string) => boolean,
  maxFileBytes: number,
): 'manifest' | 'none' | { readonly file: DecodedFile } | { readonly warning: Diagnostic } {
  const problem = pathProblem(path);
  // No rule has a say where the path decides.
  const isFollowed = problem === undefined && isMatched(path, kind) && follows(path);
  if (kind === 'unknown' && isFollowed) {
    // It may be a folder with manifests, or a manifest.
    const hint = `write its entry again with \`git rm --cached\` and \`git add\`, or list it in ${IGNORE_FILE}`;
    return { file: unreadableFile(path, blob, 'FileUnreadable', 'has a mode in git that is of no known kind', hint) };
  }
  // Rules do not apply to a path that is too long: a manifest there is unreadable, not removed.
  if (!(isFollowed || problem !== undefined) || kind === 'submodule' || !isManifestName(path)) {
    const warning = isFollowed ? warningOn(path, kind) : undefined;
    return warning === undefined ? 'none' : { warning };
  }
  if (problem !== undefined) {
    const shown = path.length > 200 ? `${path.slice(0, 200)}...` : path;
    return { file: unreadableFile(shown, blob, 'PathTooLong', problem, 'give it a shorter one') };
  }
  if (kind === 'symlink') {
    const hint = `put the file itself there, or list it in ${IGNORE_FILE}`;
    return { file: unreadableFile(path, blob, 'SymbolicLink', 'is a symbolic link, which is not followed', hint) };
  }
  if (size > maxFileBytes) {
    const what = `is ${size} bytes large; at most ${maxFileBytes} are read`;
    return { file: unreadableFile(path, blob, 'FileTooLarge', what, `split it, or list it in ${IGNORE_FILE}`) };
  }
  return 'manifest';
}

function warningOn(path: string, kind: TreeEntry['kind']): Diagnostic | undefined {
  if (kind === 'file') return undefined;
  const [reason, what]: [FindingReason, string] =
    kind === 'submodule' ? ['SubmoduleIgnored', 'a submodule'] : ['SymbolicLinkIgnored', 'a symbolic link'];
  const message = `${quote(path)} is ${what}, which is not followed`;
  return diagnosticOf({ severity: 'warning', reason, message, at: { path } });
}
