import { styleText } from 'node:util';
import type { Step } from '../compose/step.ts';
import { type Diagnostic, displayLocation } from '../model/diagnostic.ts';
import type { ExitCode } from './exit-codes.ts';

/** Something that text can be written to: a stream of the process, or a list of lines in a test. */
export interface TextOutput {
  write(text: string): void;
  /** It is a terminal whose user wants colours. */
  readonly colour: boolean;
  /** Width of the terminal in characters; 80 if it is none. */
  readonly columns: number;
}

/** How a command prints its answer. */
export type OutputFormat = 'table' | 'json' | 'yaml';

/** What a command prints at its end. */
export interface Answer {
  /** Printed as JSON or YAML for programs. */
  readonly value: unknown;
  /** Writes the same for people. */
  readonly table: (out: TextOutput) => void;
  /** 0 unless set. */
  readonly exitCode?: ExitCode;
}

/** What a text means; its colour follows from it. */
export type Tone = 'good' | 'bad' | 'warn' | 'faint' | 'strong';

const FORMATS = { good: 'green', bad: 'red', warn: 'yellow', faint: 'dim', strong: 'bold' } as const;

/** The text in the colour of its tone, if the output shows colours. */
export function styled(out: TextOutput, tone: Tone | undefined, text: string): string {
  return tone === undefined || !out.colour ? text : styleText(FORMATS[tone], text, { validateStream: false });
}

/** Whether to print colours: on a terminal, unless the user has refused them (https://no-color.org). */
export function wantsColour(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTerminal && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
}

/** A column of a table: its heading, and the text and the tone of a row. */
export interface Column<Row> {
  readonly title: string;
  readonly text: (row: Row) => string;
  readonly tone?: (row: Row) => Tone | undefined;
}

/** The table of an {@link Answer} that is a list. `none` is the line for an empty one. */
export function tableOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[], none = ''): Answer['table'] {
  return (out) => (rows.length === 0 && none !== '' ? out.write(`${none}\n`) : writeTable(out, columns, rows));
}

/** Writes rows under headings; every column but the last is padded to its widest text. */
export function writeTable<Row>(out: TextOutput, columns: readonly Column<Row>[], rows: readonly Row[]): void {
  const headings = columns.map(({ title }) => ({ text: printable(title), tone: undefined as Tone | undefined }));
  const cells = rows.map((row) => columns.map(({ text, tone }) => ({ text: printable(text(row)), tone: tone?.(row) })));
  const lines = [headings, ...cells];
  const widths = columns.map((_, index) =>
    lines.reduce((width, line) => Math.max(width, line[index]?.text.length ?? 0), 0),
  );
  for (const line of lines) {
    const padded = line.map(({ text, tone }, index) =>
      styled(out, tone, index === columns.length - 1 ? text : text.padEnd(widths[index] ?? 0)),
    );
    out.write(`${padded.join('   ').trimEnd()}\n`);
  }
}

/** Prints an answer as JSON or YAML, or as text for people. */
export async function print(out: TextOutput, format: OutputFormat, { value, table }: Answer): Promise<void> {
  switch (format) {
    case 'table':
      return table(out);
    case 'json':
      return out.write(`${JSON.stringify(value, undefined, 2)}\n`);
    case 'yaml': {
      const { dump } = await import('js-yaml');
      return out.write(dump(value, { noRefs: true, lineWidth: -1, skipInvalid: true }));
    }
  }
}

/** Writes each diagnostic on a line: `path:line:column: error CODE: message (hint)`. */
export function writeDiagnostics(out: TextOutput, diagnostics: readonly Diagnostic[]): void {
  for (const { severity, code, message, hint, at } of diagnostics) {
    const where = at === undefined ? '' : `${styled(out, 'strong', printable(displayLocation(at)))}: `;
    const tone = severity === 'error' ? 'bad' : 'warn';
    const more = hint === undefined ? '' : styled(out, 'faint', ` (${printable(hint)})`);
    out.write(`${where}${styled(out, tone, severity)} ${printable(code)}: ${printable(message)}${more}\n`);
  }
}

const STEP_TONES: Readonly<Record<Step['outcome'], Tone>> = {
  created: 'good',
  changed: 'warn',
  unchanged: 'faint',
  removed: 'warn',
  absent: 'faint',
  left: 'warn',
  failed: 'bad',
};

/** Writes each step on a line, in the form of kubectl. */
export function writeSteps(out: TextOutput, steps: readonly Step[]): void {
  for (const { what, outcome, where, message, dryRun } of steps) {
    const more = message === undefined ? '' : `: ${printable(message)}`;
    const unreal = dryRun === true ? ' (dry run)' : '';
    out.write(
      `${printable(what)} ${styled(out, STEP_TONES[outcome], outcome)}${unreal} in ${printable(where)}${more}\n`,
    );
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters on purpose.
const OBEYED_BY_TERMINALS = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Foreign text on one line, without characters that control a terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\r\n\t]+/g, ' ').replaceAll(OBEYED_BY_TERMINALS, '\ufffd');
}
