import { gitCopyError, type TreeEntry } from '../../ports/git-repo.ts';

/** An entry of a tree object. */
export interface TreeObjectEntry {
  /** In octal digits, without zeros at its beginning. */
  readonly mode: string;
  readonly name: Buffer;
  readonly id: Buffer;
}

const SPACE = 32;
const ZERO = 48;

/**
 * Parses a tree object: `mode SPACE name NUL id` for each entry; the id has `idBytes`. Throws a `GitCopyError` at an entry that is
 * cut off or has no name, as git ends there: the entries after it are not absent.
 */
export function* entriesOf(content: Buffer, idBytes: number): Generator<TreeObjectEntry> {
  for (let at = 0; at < content.length; ) {
    while (content[at] === ZERO) at += 1;
    const space = content.indexOf(SPACE, at);
    const end = content.indexOf(0, space + 1);
    const next = end + 1 + idBytes;
    if (space < 0 || end < 0 || end === space + 1 || next > content.length) {
      throw gitCopyError('the local copy has a tree object that is damaged');
    }
    yield {
      mode: content.toString('latin1', at, space),
      name: content.subarray(space + 1, end),
      id: content.subarray(end + 1, next),
    };
    at = next;
  }
}

/** The modes that git writes. */
const USUAL: Readonly<Record<string, TreeEntry['kind'] | 'folder'>> = {
  '100644': 'file',
  '100755': 'file',
  '40000': 'folder',
  '120000': 'symlink',
  '160000': 'submodule',
};

/** The type of a file in the upper bits of a mode, as in stat(2). */
const TYPE_BITS = 0o170000;
const KINDS = new Map<number, TreeEntry['kind'] | 'folder'>([
  [0o100000, 'file'],
  [0o040000, 'folder'],
  [0o120000, 'symlink'],
  [0o160000, 'submodule'],
]);

/**
 * What an entry with this mode is. Git looks at the type alone: with other permissions than git writes, as old tools have written
 * them (`100664`, `120664`, `40755`), the entry is the same.
 */
export function kindOfMode(mode: string): TreeEntry['kind'] | 'folder' {
  const usual = USUAL[mode];
  if (usual !== undefined) return usual;
  if (!/^[0-7]+$/.test(mode)) return 'unknown';
  let bits = 0;
  // Git keeps the lower 32 bits.
  for (const digit of mode) bits = (bits << 3) | Number(digit);
  return KINDS.get(bits & TYPE_BITS) ?? 'unknown';
}

/** True for the mode of a folder. */
export function isFolder(mode: string): boolean {
  return kindOfMode(mode) === 'folder';
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
