import { CST, Parser } from 'yaml';
import { partsOfJson } from './json-parts.ts';
import { defaultDecodeLimits } from './limits.ts';

/** A part of a text: a document, or what stands between documents. The texts of all parts together are the text. */
export type TextPiece =
  | { readonly type: 'between'; readonly text: string }
  | {
      readonly type: 'document';
      readonly format: 'yaml' | 'json';
      readonly text: string;
      /** Lines of the text before the document. */
      readonly linesBefore: number;
      /** Characters before the document in its first line. */
      readonly charactersBefore: number;
    };

/** Splits a text into its documents: YAML, or JSON objects one after the other. A text with errors is split somehow. */
export function splitDocuments(text: string): readonly TextPiece[] {
  const pieces: TextPiece[] = [];
  let lines = 0;
  let characters = 0;
  const add = (piece: string, format?: 'yaml' | 'json'): void => {
    if (piece === '') return;
    const place = { linesBefore: lines, charactersBefore: characters };
    pieces.push(
      format === undefined ? { type: 'between', text: piece } : { type: 'document', format, text: piece, ...place },
    );
    const rows = piece.split('\n');
    lines += rows.length - 1;
    characters = rows.length === 1 ? characters + piece.length : (rows.at(-1)?.length ?? 0);
  };
  const json = partsOfJson(text, defaultDecodeLimits);
  if (json !== undefined) {
    let end = 0;
    for (const { base, text: part } of json) {
      add(text.slice(end, base));
      end = base + part.length;
      add(text.slice(base, end), 'json');
    }
    add(text.slice(end));
    return pieces;
  }
  for (const token of new Parser().parse(text)) {
    add(CST.stringify(token), token.type === 'document' ? 'yaml' : undefined);
  }
  return pieces;
}
