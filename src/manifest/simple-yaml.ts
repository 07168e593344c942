import type { JsonValue } from '../model/text/json.ts';
import type { DecodeLimits } from './limits.ts';
import { resolvePlain, yamlSurprise } from './plain-scalars.ts';

/** A document as a value, and the offset at which it begins. */
export interface SimpleDocument {
  readonly value: JsonValue;
  readonly start: number;
}

/**
 * Reads YAML in the form in which most manifests are written, several times faster than the parser of all of YAML: mappings
 * and lists in block style, scalars of one line, literal blocks, and flow collections of scalars in one line. Undefined: the
 * text has another form, an error, or a scalar that deserves a warning. What it returns equals what that parser reads.
 */
export function readSimpleYaml(text: string, limits: DecodeLimits): readonly SimpleDocument[] | undefined {
  // A text has at most as many values as characters.
  if (!text.endsWith('\n') || text.length > limits.maxNodes || SPECIAL.test(text)) return undefined;
  const scan: Scan = { text, maxDepth: limits.maxDepth, line: 0, at: 0, end: -1, indent: END };
  const documents: SimpleDocument[] = [];
  nextLine(scan);
  while (scan.at < text.length) {
    // An empty document is not simple.
    if (scan.indent === END) nextLine(scan);
    const start = scan.at;
    const value = scan.indent === 0 ? readBlock(scan, 1) : undefined;
    if (value === undefined || scan.indent !== END || documents.length >= limits.maxDocuments) return undefined;
    documents.push({ value, start });
  }
  return documents.length === 0 ? undefined : documents;
}

/** Tabs, control characters, all line breaks of any version of YAML but the line feed, byte order marks, surrogates. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a text with control characters is not simple.
const SPECIAL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]/;

/** The indentation of a line that ends a document, and of the end of the text. */
const END = -1;

/** The current line, which is neither empty nor a comment. All functions that read a value end at the line after it. */
interface Scan {
  readonly text: string;
  readonly maxDepth: number;
  /** The offset of the line. */
  line: number;
  /** The offset in it of what is read next. */
  at: number;
  /** The offset of the line feed that ends it. */
  end: number;
  /** The column of its first character that is no space; {@link END} at the end of a document. */
  indent: number;
}

const LINE_FEED = 10;
const SPACE = 32;
const QUOTE = 34;
const HASH = 35;
const APOSTROPHE = 39;
const DASH = 45;
const COLON = 58;
const BRACKET = 91;
const BRACE = 123;
const BAR = 124;

function nextLine(scan: Scan): void {
  const { text } = scan;
  for (let line = scan.end + 1; line < text.length; line = scan.end + 1) {
    const at = afterSpaces(text, line);
    const first = text.charCodeAt(at);
    scan.end = first === LINE_FEED ? at : text.indexOf('\n', at);
    if (first === LINE_FEED || first === HASH) continue;
    const isMarker = first === DASH && at === line && scan.end === line + 3 && text.startsWith('---', line);
    scan.line = line;
    scan.at = at;
    scan.indent = isMarker ? END : at - line;
    return;
  }
  scan.at = text.length;
  scan.indent = END;
}

/** The offset of the first character that is no space. The text ends with a line feed. */
function afterSpaces(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) === SPACE) at += 1;
  return at;
}

function isItem({ text, at }: Scan): boolean {
  const next = text.charCodeAt(at + 1);
  return text.charCodeAt(at) === DASH && (next === SPACE || next === LINE_FEED);
}

/** Reads a mapping or a list that begins at the current line. */
function readBlock(scan: Scan, depth: number): JsonValue | undefined {
  if (depth >= scan.maxDepth) return undefined;
  return isItem(scan) ? readList(scan, depth) : readMapping(scan, scan.indent, depth);
}

function readList(scan: Scan, depth: number): JsonValue | undefined {
  const { text, indent } = scan;
  const items: JsonValue[] = [];
  do {
    scan.at = afterSpaces(text, scan.at + 1);
    // A mapping may begin in the line of the dash.
    const item = keyEnd(scan) < 0 ? readValue(scan, indent, false, depth) : readInnerMapping(scan, depth);
    if (item === undefined) return undefined;
    items.push(item);
  } while (scan.indent === indent && isItem(scan));
  // A line that is indented more continues the last item, or is an error.
  return scan.indent > indent ? undefined : items;
}

function readInnerMapping(scan: Scan, depth: number): JsonValue | undefined {
  return depth + 1 >= scan.maxDepth ? undefined : readMapping(scan, scan.at - scan.line, depth + 1);
}

function readMapping(scan: Scan, indent: number, depth: number): JsonValue | undefined {
  const { text } = scan;
  const members: Record<string, JsonValue> = {};
  do {
    const end = keyEnd(scan);
    const key = end < 0 ? undefined : text.slice(scan.at, end);
    if (key === undefined || !isTextKey(key) || Object.hasOwn(members, key)) return undefined;
    scan.at = afterSpaces(text, end + 1);
    const value = readValue(scan, indent, true, depth);
    if (value === undefined) return undefined;
    members[key] = value;
  } while (scan.indent === indent);
  return scan.indent > indent ? undefined : members;
}

/** The characters of keys: letters, digits and `-./_`. */
const IN_KEY = Uint8Array.from({ length: 128 }, (_, code) => Number(/[-./\w]/.test(String.fromCharCode(code))));
/** Longer keys are no keys to some parsers. */
const LONGEST_KEY = 1_000;

/** The offset of the colon after the key that is read next; negative if none is. */
function keyEnd({ text, at }: Scan): number {
  if (text.charCodeAt(at) === DASH) return -1;
  let end = at;
  while (IN_KEY[text.charCodeAt(end)] === 1) end += 1;
  if (text.charCodeAt(end) !== COLON || end === at || end - at > LONGEST_KEY) return -1;
  const next = text.charCodeAt(end + 1);
  return next === SPACE || next === LINE_FEED ? end : -1;
}

function isTextKey(key: string): boolean {
  return key !== '__proto__' && plainValue(key, true) === key;
}

/** The value of a plain scalar; undefined: it deserves a finding. */
function plainValue(source: string, isKey: boolean): JsonValue | undefined {
  if (yamlSurprise(source, isKey) !== undefined) return undefined;
  const plain = resolvePlain(source);
  return plain.ok ? plain.value : undefined;
}

/** Reads the value of a member or item that is indented by `indent`: the rest of the line, or the lines below. */
function readValue(scan: Scan, indent: number, isMember: boolean, depth: number): JsonValue | undefined {
  const { text, at, end } = scan;
  const first = text.charCodeAt(at);
  if (first === BAR) return readLiteral(scan, indent);
  if (first === LINE_FEED || first === HASH) {
    nextLine(scan);
    if (scan.indent > indent || (isMember && scan.indent === indent && isItem(scan))) return readBlock(scan, depth + 1);
    return null;
  }
  if (first === BRACKET || first === BRACE) return depth + 1 >= scan.maxDepth ? undefined : readFlow(scan);
  if (first === QUOTE || first === APOSTROPHE) {
    const close = text.indexOf(first === QUOTE ? '"' : "'", at + 1);
    const value = text.slice(at + 1, close);
    const isSimple = close >= 0 && close < end && (first === APOSTROPHE || !value.includes('\\'));
    return isSimple && endsLine(scan, close + 1) ? value : undefined;
  }
  return readPlain(scan);
}

/** Ends a value at an offset of the line: only a comment may follow. */
function endsLine(scan: Scan, from: number): boolean {
  const at = afterSpaces(scan.text, from);
  if (at !== scan.end && (at === from || scan.text.charCodeAt(at) !== HASH)) return false;
  nextLine(scan);
  return true;
}

/** The characters with which a plain scalar does not begin; a dash may begin one. */
const INDICATOR = /[?:,[\]{}#&*!|>'"%@`]/;

function readPlain(scan: Scan): JsonValue | undefined {
  const { text, at, end } = scan;
  if (isItem(scan) || INDICATOR.test(text.charAt(at))) return undefined;
  let stop = end;
  for (let next = at; next < stop; next += 1) {
    const code = text.charCodeAt(next);
    if (code === COLON && (next + 1 === end || text.charCodeAt(next + 1) === SPACE)) return undefined;
    if (code === HASH && text.charCodeAt(next - 1) === SPACE) stop = next;
  }
  while (text.charCodeAt(stop - 1) === SPACE) stop -= 1;
  nextLine(scan);
  return plainValue(text.slice(at, stop), false);
}

/** Reads the lines of a literal block with `|` or `|-`. */
function readLiteral(scan: Scan, indent: number): JsonValue | undefined {
  const { text, at, end } = scan;
  const isStripped = text.charCodeAt(at + 1) === DASH;
  if (end !== at + (isStripped ? 2 : 1)) return undefined;
  const lines: string[] = [];
  let width = 0;
  let kept = 0;
  for (let line = end + 1; line < text.length; line = scan.end + 1) {
    const first = afterSpaces(text, line);
    const isEmpty = text.charCodeAt(first) === LINE_FEED;
    if (width === 0 && !isEmpty) width = first - line;
    // Nothing but spaces in a line is simple only if there are fewer than the others begin with.
    if (isEmpty && first > line + (width === 0 ? indent : width)) return undefined;
    if (!isEmpty && (width <= indent || first < line + width)) break;
    scan.end = isEmpty ? first : text.indexOf('\n', first);
    lines.push(isEmpty ? '' : text.slice(line + width, scan.end));
    if (!isEmpty) kept = lines.length;
  }
  if (kept === 0) return undefined;
  lines.length = kept;
  nextLine(scan);
  return isStripped ? lines.join('\n') : `${lines.join('\n')}\n`;
}

/** A scalar in a flow collection. */
const IN_FLOW = /"([^"\\\n]*)"|'([^'\n]*)'|(?:--?)?[A-Za-z0-9_/.][-A-Za-z0-9_/.=@+]*/y;

/** Reads a flow collection of scalars that ends in its line. */
function readFlow(scan: Scan): JsonValue | undefined {
  const { text, at } = scan;
  const isMapping = text.charCodeAt(at) === BRACE;
  const close = isMapping ? '}' : ']';
  const members: Record<string, JsonValue> = {};
  const items: JsonValue[] = [];
  let next = afterSpaces(text, at + 1);
  while (text.charAt(next) !== close || items.length > 0) {
    let key: JsonValue | undefined;
    if (isMapping) {
      key = flowScalar(text, next, true);
      next = IN_FLOW.lastIndex;
      if (typeof key !== 'string' || key === '__proto__' || Object.hasOwn(members, key)) return undefined;
      if (!text.startsWith(': ', next)) return undefined;
      next = afterSpaces(text, next + 1);
    }
    const value = flowScalar(text, next, false);
    if (value === undefined) return undefined;
    if (typeof key === 'string') members[key] = value;
    items.push(value);
    next = afterSpaces(text, IN_FLOW.lastIndex);
    if (text.charAt(next) === close) break;
    if (text.charAt(next) !== ',') return undefined;
    next = afterSpaces(text, next + 1);
  }
  return endsLine(scan, next + 1) ? (isMapping ? members : items) : undefined;
}

function flowScalar(text: string, at: number, isKey: boolean): JsonValue | undefined {
  IN_FLOW.lastIndex = at;
  const found = IN_FLOW.exec(text);
  return found === null ? undefined : (found[1] ?? found[2] ?? plainValue(found[0], isKey));
}
