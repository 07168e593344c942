import { SCALAR_STYLE_DOUBLE_QUOTED, SCALAR_STYLE_LITERAL_BLOCK, SCALAR_STYLE_PLAIN, type ScalarEvent } from 'js-yaml';
import { quote } from '../model/fleet/ids.ts';

/** Why kubectl refuses a scalar, or reads it as something else. */
export interface RefusedScalar {
  readonly offset: number;
  readonly message: string;
  readonly hint: string;
}

/** Escapes that JSON has and kubectl refuses in YAML. */
const JSON_ESCAPE = /\\(?:\\|(\/|u[dD][89a-fA-F]))/g;

/** An escape that kubectl refuses. A text that begins with a brace or bracket may be JSON, where they are allowed. */
export function refusedEscape(text: string, event: ScalarEvent, mayQuote: () => boolean): RefusedScalar | undefined {
  if (event.style !== SCALAR_STYLE_DOUBLE_QUOTED || event.fast) return undefined;
  const written = text.slice(event.valueStart, event.valueEnd);
  const found = [...written.matchAll(JSON_ESCAPE)].find(([, code]) => code !== undefined);
  if (found === undefined || /^\s*[[{]/.test(text)) return undefined;
  const offset = event.valueStart + found.index;
  if (!mayQuote())
    return { offset, message: 'kubectl refuses this escape in YAML', hint: 'write the character itself' };
  const isSlash = found[1] === '/';
  const what = isSlash ? 'the escape \\/' : 'an escape of half a character (\\ud...)';
  const hint = isSlash ? 'write / alone' : 'write the character itself, or \\U and eight digits';
  return { offset, message: `kubectl refuses ${what} in YAML`, hint };
}

/** In characters: longer keys are no keys for kubectl. */
const MAX_KEY = 1024;
const COLON = 58;

/** A key that kubectl refuses or reads as another one. */
export function refusedKey(text: string, event: ScalarEvent, offset: number): RefusedScalar | undefined {
  const { style, valueStart, valueEnd } = event;
  const isExplicit = () => style === SCALAR_STYLE_LITERAL_BLOCK || text[offset - 2] === '?';
  if (valueEnd - valueStart >= MAX_KEY && !isExplicit()) {
    const hint = 'write a question mark and a space before the key';
    return { offset, message: `a key must be shorter than ${MAX_KEY} characters`, hint };
  }
  if (style !== SCALAR_STYLE_PLAIN || text.charCodeAt(valueEnd) !== COLON) return undefined;
  const next = text[valueEnd + 1];
  if (next !== ',' && next !== '}' && next !== ']') return undefined;
  const message = 'kubectl takes the colon for a part of the key';
  return { offset: valueEnd, message, hint: 'write a space after the colon' };
}

/**
 * The message for a repeated key. It names the key as written, and also as read if the two differ.
 *
 * @param key as it is read; undefined: it must not be named
 */
export function duplicateKey(key: string | undefined, written: string): string {
  if (key === undefined) return 'the key is here twice';
  return `the key ${quote(written)} is here twice${written === key ? '' : `: ${written} is read as ${quote(key)}`}`;
}
