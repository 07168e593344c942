/** What a scan of the lines of a YAML text tells about how kubectl's parser sees them. */
export interface LineScan {
  /** Offsets of the tabs that kubectl refuses. */
  readonly tabs: readonly number[];
  /**
   * The text in which each flow collection and each quoted scalar is on one line, and comments that follow a quote or bracket
   * without a space are blank. It has the same length. Undefined: a quote or bracket is not closed, or kubectl refuses its form.
   */
  readonly flat: string | undefined;
  /** The offset of a quote or bracket that is not closed. */
  readonly unclosed: number | undefined;
}

interface Scan {
  readonly text: string;
  readonly tabs: number[];
  /** Ranges of the text that become spaces. */
  readonly blanks: [start: number, end: number][];
  at: number;
}

/** Ends the scan at a quote or bracket that is not closed, or whose form kubectl refuses. */
class Refused extends Error {
  readonly unclosed: number | undefined;
  constructor(unclosed?: number) {
    super();
    this.unclosed = unclosed;
  }
}

const INDENT = /[ \t]*/y;
const BLANK_LINE = /[ \t]*(?:#.*)?(?:\r?\n|$)/y;
const MARKER = /(?:---|\.\.\.)(?=\s|$)/y;
/** A property of a node, or an alias. */
const PROPERTY = /[&!*][^\s,[\]{}]*/y;
/** A plain scalar in a block, up to a colon that ends a key, a comment, or the end of the line. */
const PLAIN = /(?:[^\s:#]|:(?=\S)|(?<=\S)#|[ \t]+(?![ \t]|#|\r?$|:(?:\s|$)))+/my;
const FLOW_PLAIN = /(?:[^\s:#,[\]{}]|:(?![\s,[\]{}]|$)|(?<=\S)#)+/y;

/** Scans a text as libyaml does: the lines of flow collections and quoted scalars need no indentation. */
export function scanLines(text: string): LineScan {
  const scan: Scan = { text, tabs: [], blanks: [], at: 0 };
  try {
    while (scan.at < text.length) scanLine(scan);
  } catch (error) {
    // A line of many millions of characters exceeds the stack of regular expressions.
    if (error instanceof RangeError) return { tabs: [], flat: undefined, unclosed: undefined };
    if (!(error instanceof Refused)) throw error;
    return { tabs: scan.tabs, flat: undefined, unclosed: error.unclosed };
  }
  return { tabs: scan.tabs, flat: flatten(scan), unclosed: undefined };
}

function flatten({ text, blanks }: Scan): string {
  let flat = '';
  let from = 0;
  for (const [start, end] of blanks) {
    flat += text.slice(from, start) + ' '.repeat(end - start);
    from = end;
  }
  return flat + text.slice(from);
}

/** Scans a line of a block, and the lines of the scalars and flow collections that begin in it. */
function scanLine(scan: Scan): void {
  const { text } = scan;
  const start = scan.at;
  if (text[start] === '%') {
    toNextLine(scan);
    return;
  }
  if (matches(MARKER, scan)) scan.at += 3;
  else skipIndent(scan, true);
  /** The column of the innermost list or mapping. */
  let column = -1;
  for (;;) {
    scan.at += matches(INDENT, scan);
    const character = text[scan.at];
    if (character === undefined || character === '\n' || character === '\r' || character === '#') {
      toNextLine(scan);
      return;
    }
    const begin = scan.at;
    const isIndicator = /\s/.test(text[begin + 1] ?? ' ');
    if ((character === '-' || character === '?') && isIndicator) {
      column = begin - start;
      scan.at += 1;
      skipIndent(scan, false);
    } else if (character === ':' && isIndicator) scan.at += 1;
    else if (character === '&' || character === '!' || character === '*') scan.at += matches(PROPERTY, scan) || 1;
    else if (character === '|' || character === '>') {
      scanBlockText(scan, column);
      return;
    } else if (character === '"' || character === "'" || character === '[' || character === '{') {
      if (character === '[' || character === '{') scanFlow(scan);
      else scanQuoted(scan);
      if (isKey(scan, begin)) column = begin - start;
      blankComment(scan);
    } else {
      scan.at += matches(PLAIN, scan) || 1;
      if (isKey(scan, begin)) column = begin - start;
      else {
        scanPlainLines(scan, column);
        return;
      }
    }
  }
}

/** Passes over spaces and tabs; a tab is refused. A line without content is no indentation, but its tabs are refused too. */
function skipIndent(scan: Scan, isLine: boolean): void {
  const tab = scan.text.slice(scan.at, scan.at + matches(INDENT, scan)).indexOf('\t');
  if (tab >= 0 && (isLine || !matches(BLANK_LINE, scan))) scan.tabs.push(scan.at + tab);
  scan.at += matches(INDENT, scan);
}

/** Whether a colon that ends a key follows. A key of several lines is refused. */
function isKey(scan: Scan, begin: number): boolean {
  const after = scan.at + matches(INDENT, scan);
  if (scan.text[after] !== ':' || !/\s/.test(scan.text[after + 1] ?? ' ')) return false;
  if (scan.text.slice(begin, after).includes('\n')) throw new Refused();
  return true;
}

/** Blanks a comment that follows a quote or a bracket without a space. */
function blankComment(scan: Scan): void {
  if (scan.text[scan.at] !== '#') return;
  const start = scan.at;
  scan.at = endOfLine(scan);
  scan.blanks.push([start, scan.at]);
}

/** The lines after a plain scalar, which may continue it: a tab is refused left of the column where they may begin. */
function scanPlainLines(scan: Scan, column: number): void {
  const { text } = scan;
  scan.at += matches(INDENT, scan);
  // A comment ends the scalar.
  const isOver = text[scan.at] === '#';
  toNextLine(scan);
  while (!isOver && scan.at < text.length) {
    const indent = matches(INDENT, scan);
    const tab = text.slice(scan.at, scan.at + indent).indexOf('\t');
    const isBlank = matches(BLANK_LINE, scan) > 0 && text[scan.at + indent] !== '#';
    if (!isBlank && (indent <= column || text[scan.at + indent] === '#')) {
      if (tab >= 0 && tab > column) scan.at += indent;
      return;
    }
    if (tab >= 0 && tab <= column) scan.tabs.push(scan.at + tab);
    if (column < 0 && !isBlank) return;
    toNextLine(scan);
  }
}

/** The lines of a block of text: more indented than the column of its list or mapping. */
function scanBlockText(scan: Scan, column: number): void {
  const { text } = scan;
  const header = /[|>]([-+0-9]*)/y;
  header.lastIndex = scan.at;
  const flags = header.exec(text)?.[1] ?? '';
  scan.at += 1 + flags.length;
  blankComment(scan);
  toNextLine(scan);
  const given = /[1-9]/.exec(flags)?.[0];
  let width = given === undefined ? undefined : Math.max(column, 0) + Number(given);
  while (scan.at < text.length) {
    const spaces = /[ ]*/y;
    spaces.lastIndex = scan.at;
    const indent = spaces.exec(text)?.[0].length ?? 0;
    const next = text[scan.at + indent];
    const isBlank = next === undefined || next === '\n' || next === '\r';
    const isTab = next === '\t';
    if (!isBlank && indent <= column && !isTab) return;
    if (isTab && (width === undefined || indent < width)) scan.tabs.push(scan.at + indent);
    if (!isBlank && !isTab) width ??= indent;
    toNextLine(scan);
  }
}

/** A quoted scalar, on one line in the flat text. */
function scanQuoted(scan: Scan): void {
  const { text } = scan;
  const start = scan.at;
  const quote = text[start];
  for (scan.at += 1; scan.at < text.length; scan.at += 1) {
    const character = text[scan.at];
    if (character === '\n') blankBreak(scan, start);
    else if (character === '\\' && quote === '"') {
      scan.at += 1;
      if (text[scan.at] === '\n') blankBreak(scan, start);
    } else if (character === quote) {
      scan.at += 1;
      if (quote !== "'" || text[scan.at] !== "'") return;
    }
  }
  throw new Refused(start);
}

/** A flow collection, on one line in the flat text. */
function scanFlow(scan: Scan): void {
  const { text } = scan;
  const start = scan.at;
  const open: number[] = [];
  /** Where the last scalar or collection began, which may be a key. */
  let key = start;
  let isPlain = false;
  let lastBreak = -1;
  while (scan.at < text.length) {
    const character = text[scan.at] ?? '';
    if (character === '\n') {
      blankBreak(scan, open.at(-1) ?? start);
      lastBreak = scan.at;
      scan.at += 1;
      if (isPlain && /[ ]*\t/y.test(text.slice(scan.at, endOfLine(scan)))) throw new Refused();
    } else if (character === '\t' || character === ' ' || character === '\r') scan.at += 1;
    else if (character === '#') {
      const from = scan.at;
      scan.at = endOfLine(scan);
      scan.blanks.push([from, scan.at]);
    } else if (character === '[' || character === '{') {
      open.push(scan.at);
      scan.at += 1;
      isPlain = false;
    } else if (character === ']' || character === '}') {
      const begin = open.pop();
      if (begin === undefined || (text[begin] === '[') !== (character === ']')) throw new Refused(begin);
      key = begin;
      isPlain = false;
      scan.at += 1;
      if (open.length === 0) return;
    } else if (character === ',' || (character === '?' && /\s/.test(text[scan.at + 1] ?? ' '))) {
      isPlain = false;
      scan.at += 1;
    } else if (character === ':' && !matches(FLOW_PLAIN, scan)) {
      // The bracket was probably not closed, so that the next key of the block is read as a part of it.
      if (lastBreak > key) throw new Refused(open.at(-1));
      isPlain = false;
      scan.at += 1;
    } else if (character === '"' || character === "'") {
      if (!isPlain) {
        key = scan.at;
        scanQuoted(scan);
        if (text[scan.at] === ':' && text.slice(key, scan.at).includes('\n')) throw new Refused();
        if (text[scan.at] === ':') scan.at += 1;
      } else scan.at += matches(FLOW_PLAIN, scan) || 1;
    } else {
      if (!isPlain) key = scan.at;
      isPlain = true;
      scan.at += matches(FLOW_PLAIN, scan) || 1;
    }
  }
  throw new Refused(open.at(-1) ?? start);
}

/** A line break becomes a space, with the carriage return before it. A document cannot begin in a quote or a bracket. */
function blankBreak(scan: Scan, open: number): void {
  const { text, at } = scan;
  scan.blanks.push([text[at - 1] === '\r' ? at - 1 : at, at + 1]);
  const rest = /[ \t]*/y;
  rest.lastIndex = at + 1;
  const indent = rest.exec(text)?.[0] ?? '';
  if (indent.includes('\t')) scan.blanks.push([at + 1, at + 1 + indent.length]);
  MARKER.lastIndex = at + 1;
  if (MARKER.test(text)) throw new Refused(open);
}

function matches(pattern: RegExp, { text, at }: Scan): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}

function endOfLine({ text, at }: Scan): number {
  const end = text.indexOf('\n', at);
  if (end < 0) return text.length;
  return text[end - 1] === '\r' && end > at ? end - 1 : end;
}

function toNextLine(scan: Scan): void {
  const end = scan.text.indexOf('\n', scan.at);
  scan.at = end < 0 ? scan.text.length : end + 1;
}
