import type { DecodeLimits } from './limits.ts';

/** A part of a text, and its offset. */
export interface TextPart {
  readonly text: string;
  readonly base: number;
}

/** Tabs at the beginning of a line become spaces, which YAML allows there. Changes no offset and no value of JSON. */
export function withoutTabs(text: string): string {
  return text.replace(/^\t+/gm, (tabs) => ' '.repeat(tabs.length));
}

/**
 * The values of a text that consists of JSON objects one after the other, as `kubectl get -o json` prints for several
 * commands; a line `---` may separate them. Undefined: the text is anything else, or holds more than `maxDocuments`.
 */
export function partsOfJson(text: string, { maxDocuments }: DecodeLimits): readonly TextPart[] | undefined {
  const parts: TextPart[] = [];
  for (let at = startOfValue(text, 0); at < text.length; ) {
    const end = endOfValue(text, at);
    if (end === undefined || parts.length > maxDocuments) return undefined;
    const part = text.slice(at, end);
    if (!isJson(part)) return undefined;
    parts.push({ text: withoutTabs(part), base: at });
    at = startOfValue(text, end);
  }
  return parts.length === 0 ? undefined : parts;
}

/** The offset of the first character from `from` on that is neither space nor a separator line. */
function startOfValue(text: string, from: number): number {
  for (let at = from; ; at += 3) {
    const space = text.slice(at).search(/[^ \t\r\n]/);
    if (space < 0) return text.length;
    at += space;
    const isSeparator = text.startsWith('---', at) && text[at - 1] === '\n' && /^[ \t\r\n]?$/.test(text.charAt(at + 3));
    if (!isSeparator) return at;
  }
}

/** The end of the object that begins at an offset; undefined if none does, or it has no end. */
function endOfValue(text: string, start: number): number | undefined {
  if (text[start] !== '{') return undefined;
  const marks = /["\\{}[\]]/g;
  marks.lastIndex = start;
  let depth = 0;
  let isInString = false;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    if (mark[0] === '\\') marks.lastIndex += 1;
    else if (mark[0] === '"') isInString = !isInString;
    else if (!isInString) depth += mark[0] === '{' || mark[0] === '[' ? 1 : -1;
    if (depth === 0) return marks.lastIndex;
  }
  return undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
