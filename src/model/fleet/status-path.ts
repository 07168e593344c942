import { builtInKindScope, isBuiltInGroup } from '../objects/kinds.ts';
import { sha256 } from '../text/digest.ts';

/** A file system takes names of 255 bytes; the name of a file has an ending, too. */
const MAX_LENGTH = 200;
const KEPT = 120;

/** Stands for the namespace of an object that has none; {@link pathSegment} gives it to no name. */
const NO_NAMESPACE = '_cluster';

/** What programs on Windows take for a device, with any ending. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/;

/**
 * A name as one segment of a path on the status branch. Characters other than a–z, 0–9, `_`, `-` and inner dots are
 * percent-encoded, and so are a `_` at the beginning and the first letter of the name of a device (`con`): so no name leaves its
 * folder, names that differ only in case are different files on every file system, and every system can check them out. A longer
 * name than a file can have is cut and ends in its digest. Other names give other segments.
 */
export function pathSegment(name: string): string {
  const encoded = percentAll(name, /[^a-z0-9._-]|^[._]|\.$/g);
  return fitted(
    name,
    encoded.replace(DEVICE, (device) => `${percent(device.charAt(0))}${device.slice(1)}`),
  );
}

/**
 * A kind as a segment: `KIND.GROUP`, or `KIND` in the core group. A kind that is not built in is encoded as far as another one in its
 * group may differ from it in case alone: its inner capitals, and its first letter if it is none or the group has built-in kinds.
 */
export function kindSegment(group: string, kind: string): string {
  const name = group === '' ? kind : `${kind}.${group}`;
  if (builtInKindScope(group, kind) !== undefined) return name;
  const isPlain = /^[A-Z]/.test(kind) && !isBuiltInGroup(group) && !DEVICE.test(kind.toLowerCase());
  return fitted(name, `${isPlain ? name.charAt(0) : percentAll(name.slice(0, 1))}${percentAll(name.slice(1), OTHERS)}`);
}

const OTHERS = /[^a-z0-9.-]/g;

/** A namespace as a segment; empty: the object has none. */
export function namespaceSegment(namespace: string): string {
  return namespace === '' ? NO_NAMESPACE : pathSegment(namespace);
}

/** The path of the file for a name in these folders. Each folder is a segment. */
export function statusFile(folders: readonly string[], name: string): string {
  return [...folders, `${pathSegment(name)}.yaml`].join('/');
}

/** The segment for a name, cut if it is too long. */
function fitted(name: string, encoded: string): string {
  if (encoded === '') return '%';
  // The encoding of text that is not well-formed is not unique.
  if (encoded.length <= MAX_LENGTH && name.isWellFormed()) return encoded;
  return `${encoded.slice(0, KEPT)}~${sha256(JSON.stringify(name))}`;
}

function percentAll(text: string, characters = /./gs): string {
  return Buffer.from(text, 'utf8').toString('latin1').replace(characters, percent);
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
}
