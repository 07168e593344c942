import stringWidth from 'string-width';
import { printable } from '../../model/text/printable.ts';

/** A line of a file for a terminal, and marks to stand below its value at fault. */
export interface Excerpt {
  readonly text: string;
  readonly marks: string;
}

/** The cells of a character as a person sees it, and its offset in the line. */
interface Cell {
  readonly text: string;
  readonly width: number;
  readonly start: number;
  readonly end: number;
}

const TAB = '  ';
const CUT = '…';
/** No value is underlined further, in UTF-16 units. */
const LONGEST_VALUE = 500;

/**
 * Cuts a line to `width` cells around its value at a column, and marks that value. Control characters are replaced.
 *
 * @param column from 1, in UTF-16 units
 */
export function excerptOf(line: string, column: number, width: number): Excerpt {
  const text = line.replace(/\r$/, '');
  const start = Math.min(Math.max(column - 1, 0), text.length);
  const end = start + valueLength(text, start);
  const room = Math.max(width, 20);
  // A very long line is not divided into characters as a whole.
  const from = Math.max(0, start - 2 * room);
  const cells = cellsOf(text.slice(from, start + LONGEST_VALUE + 2 * room), from);
  const total = widthOf(cells);
  const isCut = from > 0 || total > room;
  const before = widthOf(cells.filter((cell) => cell.end <= start));
  const skipped = isCut ? Math.max(0, before - Math.floor(room / 3)) : 0;
  const visible = isCut ? within(cells, skipped, room - 2) : cells;
  const left = (visible[0]?.start ?? 0) > 0 ? CUT : '';
  const right = (visible.at(-1)?.end ?? text.length) < text.length ? CUT : '';
  const marked = visible.filter((cell) => cell.end > start && cell.start < end);
  const indent = left.length + widthOf(visible.filter((cell) => cell.end <= start));
  return {
    text: `${left}${visible.map((cell) => cell.text).join('')}${right}`,
    marks: `${' '.repeat(indent)}${'^'.repeat(Math.max(1, widthOf(marked)))}`,
  };
}

function cellsOf(text: string, offset: number): readonly Cell[] {
  return [...new Intl.Segmenter('en').segment(text)].map(({ segment, index }) => {
    const shown = segment === '\t' ? TAB : printable(segment);
    const start = offset + index;
    return { text: shown, width: stringWidth(shown), start, end: start + segment.length };
  });
}

function widthOf(cells: readonly Cell[]): number {
  return cells.reduce((sum, { width }) => sum + width, 0);
}

/** The characters that lie behind `skipped` cells and within the next `room`. */
function within(cells: readonly Cell[], skipped: number, room: number): readonly Cell[] {
  let at = 0;
  return cells.filter(({ width }) => {
    at += width;
    return at - width >= skipped && at <= skipped + room;
  });
}

/** The length of a key, of a quoted text, or of a value up to the end of the line, its comment or its flow collection. */
function valueLength(line: string, start: number): number {
  const rest = line.slice(start, start + LONGEST_VALUE);
  const quoted = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')/.exec(rest)?.[0];
  if (quoted !== undefined) return quoted.length;
  const isInFlow = /[[{]/.test(line.slice(0, start));
  const plain = isInFlow ? /^[^,\]}:]+/.exec(rest)?.[0] : /^(?:[^:\s]|:(?!\s|$)|\s(?!#))+/.exec(rest)?.[0];
  return (plain ?? '').trimEnd().length;
}
