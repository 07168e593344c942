import { Buffer, isUtf8 } from 'node:buffer';

// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u0080-\u0084\u0086-\u009f\ufffe\uffff]/;

const UTF_8 = new TextDecoder('utf-8');

/** Decodes UTF-8, with or without a byte order mark; refuses anything else, and control characters that YAML forbids. */
export function readText(bytes: Uint8Array) {
  const wide = wideEncoding(bytes);
  if (wide === undefined && bytes.subarray(0, LOOKED_AT).includes(0) && !isUtf8(bytes)) return BINARY;
  if (wide !== undefined) {
    return {
      ok: false as const,
      reason: 'NotUtf8' as const,
      message: `the file is ${wide} text, and must be UTF-8`,
      hint: `save it as UTF-8, for example with: iconv -f ${wide} -t UTF-8`,
      line: 1,
      column: 1,
    };
  }
  if (!isUtf8(bytes)) {
    return {
      ok: false as const,
      reason: 'NotUtf8' as const,
      message: 'the file is not UTF-8 text',
      hint: 'save it as UTF-8 (from Windows-1252: iconv -f WINDOWS-1252 -t UTF-8), or list it in .fleetrelayignore if it is no manifest',
      ...firstInvalid(bytes),
    };
  }
  const text = UTF_8.decode(bytes);
  const control = CONTROL.exec(text);
  if (control === null) return { ok: true as const, text };
  const before = text.slice(0, control.index);
  const code = control[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  return {
    ok: false as const,
    reason: 'ControlCharacter' as const,
    message: `the file holds the control character U+${code}`,
    hint: 'write it as an escape in a double-quoted string, or list the file in .fleetrelayignore if it is no manifest',
    ...endOf(before),
  };
}

/** A file with a zero byte in its first bytes is binary, as for git. */
const LOOKED_AT = 8_000;
const BINARY = {
  ok: false,
  reason: 'NotUtf8',
  message: 'the file is binary, and no text',
  hint: 'list it in .fleetrelayignore',
  line: 1,
  column: 1,
} as const;

/** UTF-16 and UTF-32, by the byte order mark or by the zeros of the first character, which YAML requires to be ASCII. */
function wideEncoding(bytes: Uint8Array): 'UTF-16' | 'UTF-32' | undefined {
  const [a, b, c, d] = bytes;
  if (a === undefined || b === undefined) return undefined;
  const isLittle = (a === 0xff && b === 0xfe) || (a !== 0 && b === 0);
  const isBig = (a === 0xfe && b === 0xff) || (a === 0 && b !== 0);
  if (isLittle && c === 0 && d === 0) return 'UTF-32';
  if (a === 0 && b === 0 && ((c === 0xfe && d === 0xff) || (c === 0 && d !== undefined && d !== 0))) return 'UTF-32';
  if (!isLittle && !isBig) return undefined;
  const sample = bytes.subarray(0, LOOKED_AT & ~1);
  const start = new TextDecoder(isLittle ? 'utf-16le' : 'utf-16be').decode(sample);
  return CONTROL.test(start) || start.includes('\ufffd') ? undefined : 'UTF-16';
}

/** Decodes leniently, and finds the first replacement character that the bytes themselves do not contain. */
function firstInvalid(bytes: Uint8Array): { readonly line: number; readonly column: number } {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  let offset = 0;
  let from = 0;
  for (let at = text.indexOf('\ufffd'); at >= 0; at = text.indexOf('\ufffd', from)) {
    offset += Buffer.byteLength(text.slice(from, at));
    if (bytes[offset] !== 0xef || bytes[offset + 1] !== 0xbf || bytes[offset + 2] !== 0xbd)
      return endOf(text.slice(0, at));
    offset += 3;
    from = at + 1;
  }
  return { line: 1, column: 1 };
}

/** The line and the column after a text. */
function endOf(text: string): { readonly line: number; readonly column: number } {
  return { line: text.split('\n').length, column: text.length - text.lastIndexOf('\n') };
}
