import { sha256 } from './digest.ts';

/** A file system takes names of 255 bytes; the name of a file has an ending, too. */
const MAX_LENGTH = 200;
const KEPT = 120;

/**
 * A name as one segment of a path on the status branch. Characters other than a–z, 0–9, `_`, `-` and inner dots are
 * percent-encoded, so that no name leaves its folder, and names that differ only in case are different files on every file
 * system. A longer name than a file can have is cut and ends in its digest. Other names give other segments.
 */
export function pathSegment(name: string): string {
  const encoded = Buffer.from(name, 'utf8')
    .toString('latin1')
    .replace(/[^a-z0-9._-]|^\.|\.$/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
  if (encoded === '') return '%';
  // The encoding of text that is not well-formed is not unique.
  if (encoded.length <= MAX_LENGTH && name.isWellFormed()) return encoded;
  return `${encoded.slice(0, KEPT)}~${sha256(JSON.stringify(name))}`;
}
