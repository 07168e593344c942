import { Option } from 'commander';
import type { CliContext, TextOutput } from './command.ts';
import { styled, type Tone } from './style.ts';

/** How a command prints what it found. */
export type OutputFormat = 'table' | 'json' | 'yaml';

/** `-o table|json|yaml`. */
export function outputOption(): Option {
  return new Option('-o, --output <format>', 'how to print it').choices(['table', 'json', 'yaml']).default('table');
}

/** A column of a table: its heading, a row's text, and the tone of that text. */
export interface Column<Row> {
  readonly title: string;
  readonly text: (row: Row) => string;
  readonly tone?: (row: Row) => Tone | undefined;
}

/** Prints `value` as JSON or YAML, or calls `table` for people. */
export async function print(
  context: CliContext,
  format: OutputFormat,
  value: unknown,
  table: (out: TextOutput) => void,
): Promise<void> {
  switch (format) {
    case 'table':
      return table(context.stdout);
    case 'json':
      return context.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
    case 'yaml': {
      const { dump } = await import('js-yaml');
      return context.stdout.write(dump(value, { noRefs: true, lineWidth: -1, skipInvalid: true }));
    }
  }
}

/** Writes rows under headings; every column but the last is padded to its widest text. */
export function writeTable<Row>(out: TextOutput, columns: readonly Column<Row>[], rows: readonly Row[]): void {
  const cells = rows.map((row) => columns.map((column) => printable(column.text(row))));
  const widths = columns.map(({ title }, index) =>
    cells.reduce((width, line) => Math.max(width, line[index]?.length ?? 0), title.length),
  );
  const pad = (text: string, index: number): string =>
    index === columns.length - 1 ? text : text.padEnd(widths[index] ?? 0);
  out.write(
    `${columns
      .map(({ title }, index) => pad(title, index))
      .join('   ')
      .trimEnd()}\n`,
  );
  for (const [rowIndex, row] of rows.entries()) {
    const line = columns.map(({ tone }, index) => styled(out, tone?.(row), pad(cells[rowIndex]?.[index] ?? '', index)));
    out.write(`${line.join('   ').trimEnd()}\n`);
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: taking control characters out is the point.
const OBEYED_BY_TERMINALS = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Text from elsewhere on one line and without anything that a terminal would obey. */
export function printable(text: string): string {
  return text.replaceAll(/[\r\n\t]+/g, ' ').replaceAll(OBEYED_BY_TERMINALS, '\ufffd');
}
