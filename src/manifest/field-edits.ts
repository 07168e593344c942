import {
  EVENT_SCALAR,
  getScalarValue,
  SCALAR_STYLE_DOUBLE_QUOTED,
  SCALAR_STYLE_FOLDED_BLOCK,
  SCALAR_STYLE_LITERAL_BLOCK,
  SCALAR_STYLE_PLAIN,
  SCALAR_STYLE_SINGLE_QUOTED,
} from 'js-yaml';
import type { TextEdit } from '../model/fleet/diagnostic.ts';
import type { FieldPath } from '../model/text/field-path.ts';
import type { YamlDocument, YamlEvent } from './compose-documents.ts';
import { resolvePlain, yamlSurprise } from './plain-scalars.ts';
import { findEvents } from './positions.ts';
import type { FieldFix } from './problem.ts';

type Scalar = Extract<YamlEvent, { readonly type: typeof EVENT_SCALAR }>;

/**
 * The changes of the file that a fix of a field is; undefined if the field is not written as a scalar on one line, or with a
 * tag or an anchor.
 */
export function editsFor(document: YamlDocument, path: FieldPath, fix: FieldFix): readonly TextEdit[] | undefined {
  const found = findEvents(document, path);
  const event = 'key' in fix ? found?.key : found?.value;
  if (event?.type !== EVENT_SCALAR || event.anchorStart >= 0 || event.tagStart >= 0 || event.valueStart < 0)
    return undefined;
  const { text, base } = document;
  const { valueStart, valueEnd } = event;
  if (isBlock(event) || text.slice(valueStart, valueEnd).includes('\n')) return undefined;
  if ('quotes' in fix) return fix.quotes === 'add' ? addQuotes(document, event) : removeQuotes(document, event);
  const word = 'key' in fix ? fix.key : fix.value;
  if (typeof word === 'string' && !isPlainWord(word)) return undefined;
  // Text stays in its quotes, true and false must have none.
  const quotes = typeof word === 'string' || event.style === SCALAR_STYLE_PLAIN ? 0 : 1;
  return [{ start: base + valueStart - quotes, end: base + valueEnd + quotes, text: String(word) }];
}

/** Whether the word is text, the same one with and without quotes, for all readers of YAML. */
function isPlainWord(word: string): boolean {
  if (!/^[A-Za-z][\w./-]*$/.test(word) || yamlSurprise(word, false) !== undefined) return false;
  const plain = resolvePlain(word);
  return plain.ok && plain.value === word;
}

/** Inserts a quote before and after a plain scalar, so that the edits do not hold the scalar. */
export function addQuotes({ text, base }: YamlDocument, event: Scalar): readonly TextEdit[] | undefined {
  const { style, valueStart, valueEnd } = event;
  if (style !== SCALAR_STYLE_PLAIN || /["\\\n]/.test(text.slice(valueStart, valueEnd))) return undefined;
  return [insert(base + valueStart, '"'), insert(base + valueEnd, '"')];
}

function removeQuotes({ text, base }: YamlDocument, event: Scalar): readonly TextEdit[] | undefined {
  const { style, valueStart, valueEnd } = event;
  if (style !== SCALAR_STYLE_SINGLE_QUOTED && style !== SCALAR_STYLE_DOUBLE_QUOTED) return undefined;
  // An escape in the quotes would be left over.
  if (getScalarValue(text, event) !== text.slice(valueStart, valueEnd)) return undefined;
  return [
    { start: base + valueStart - 1, end: base + valueStart, text: '' },
    { start: base + valueEnd, end: base + valueEnd + 1, text: '' },
  ];
}

function isBlock({ style }: Scalar): boolean {
  return style === SCALAR_STYLE_LITERAL_BLOCK || style === SCALAR_STYLE_FOLDED_BLOCK;
}

function insert(at: number, text: string): TextEdit {
  return { start: at, end: at, text };
}
