/** An entry of a tree object. */
export interface TreeObjectEntry {
  /** In octal digits, without zeros at its beginning. */
  readonly mode: string;
  readonly name: Buffer;
  readonly id: Buffer;
}

const SPACE = 32;
const ZERO = 48;

/** Parses a tree object: `mode SPACE name NUL id` for each entry; the id has `idBytes`. */
export function* entriesOf(content: Buffer, idBytes: number): Generator<TreeObjectEntry> {
  for (let at = 0; at < content.length; ) {
    while (content[at] === ZERO) at += 1;
    const space = content.indexOf(SPACE, at);
    const end = content.indexOf(0, space + 1);
    if (space < 0 || end < 0) return;
    const next = end + 1 + idBytes;
    yield {
      mode: content.toString('latin1', at, space),
      name: content.subarray(space + 1, end),
      id: content.subarray(end + 1, next),
    };
    at = next;
  }
}

/** True for the mode of a folder. */
export function isFolder(mode: string): boolean {
  return mode === '40000';
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
