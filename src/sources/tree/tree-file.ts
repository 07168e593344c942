import type { DecodedFile } from '../../model/fleet/desired.ts';
import type { TreeEntry } from '../../ports/git-repo.ts';

/** Reads and checks one manifest. */
export type DecodeFile = (path: string, bytes: Uint8Array, blob: string) => DecodedFile | Promise<DecodedFile>;

/** Returns the bytes of a file of the tree, or the reason why it has none, as the end of a sentence. */
export type ReadTreeFile = (
  path: string,
  entry: TreeEntry,
) => Promise<{ readonly bytes: Uint8Array } | { readonly reason: string }>;

/** The rejection of a decoder that was ended by the outside and says nothing about the file: the look fails, and is repeated. */
export class DecodingEnded extends Error {}
