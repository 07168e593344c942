import type { Dirent } from 'node:fs';
import type { FileTreeEntry, FolderMembers } from '../../ports/file-tree.ts';

/** Why a file of a sparse checkout cannot be read; the end of a sentence. */
export const LEFT_OUT = 'is not in the work tree, because the checkout is sparse; check it out';

/** How a folder is walked. */
interface Walk {
  /** What git would commit of it; undefined: everything counts. */
  readonly members: FolderMembers | undefined;
  readonly wanted: (path: string) => boolean;
}

/** What a walk makes of a child of a folder. */
export interface ChildOfWalk {
  /** It counts towards the entries: git would not leave it out. */
  readonly isCounted: boolean;
  /** Undefined: it is passed over. */
  readonly kind: FileTreeEntry['kind'] | 'folder' | undefined;
}

/**
 * Judges a child of a folder of desired state. What begins with a dot is passed over, except a file or a link that is wanted by its name,
 * as the ignore file is. In a work tree links are links, and repositories are submodules.
 */
export function childOfWalk({ members, wanted }: Walk, path: string, child: Dirent): ChildOfWalk {
  const isFolder = child.isDirectory();
  const member = members?.kindOf(path);
  const isCounted = members === undefined || member !== undefined || (isFolder && members.reaches(path));
  const none = { isCounted, kind: undefined };
  if (!isCounted || (child.name.startsWith('.') && (isFolder || !wanted(path)))) return none;
  if (isFolder) return { isCounted, kind: member === 'submodule' ? member : 'folder' };
  const isLink = child.isSymbolicLink();
  if (!(child.isFile() || isLink)) return none;
  // A reader of manifests is told of every link in a work tree: it may lead to a folder of them.
  if (!wanted(path) && !(isLink && members !== undefined)) return none;
  return { isCounted, kind: isLink ? 'symlink' : 'file' };
}
