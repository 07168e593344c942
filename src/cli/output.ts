import { styleText } from 'node:util';
import type { Step } from '../compose/step.ts';
import { type Diagnostic, displayLocation } from '../model/fleet/diagnostic.ts';
import { printable, printableJson, printablePath } from '../model/text/printable.ts';
import type { ExitCode } from './exit-codes.ts';

/** Something that text can be written to: a stream of the process, or a list of lines in a test. */
export interface TextOutput {
  write(text: string): void;
  /** A person reads it on a terminal that can show colours. */
  readonly isTerminal: boolean;
  /** Its reader wants colours: on such a terminal unless the user has refused them, and where the user has forced them. */
  readonly colour: boolean;
  /** Width of the terminal in characters; 80 if it is none. */
  readonly columns: number;
}

/** What a command prints at its end. */
export interface CommandAnswer {
  /** Printed as JSON or YAML for programs. */
  readonly value: unknown;
  /** Writes the same for people. */
  readonly table: (out: TextOutput) => void;
  /** The table with all columns; absent: it has them all. */
  readonly wide?: (out: TextOutput) => void;
  /** What `-o name` prints, a line each. */
  readonly names?: readonly string[];
  /** 0 unless set. */
  readonly exitCode?: ExitCode;
  /** The command has written it already, as `--watch` does. */
  readonly isWritten?: true;
}

/** The answer of a command that has written all it had to say. */
export const WRITTEN: CommandAnswer = { value: null, table: () => undefined, isWritten: true };

/** The formats of a command: how each writes an answer. The first is the default. */
export type Formats<Shown> = Readonly<Record<string, (out: TextOutput, shown: Shown) => void | Promise<void>>>;

const json = (out: TextOutput, { value }: Pick<CommandAnswer, 'value'>): void =>
  out.write(`${printableJson(value, 2)}\n`);

const yaml = async (out: TextOutput, { value }: Pick<CommandAnswer, 'value'>): Promise<void> => {
  const { dump } = await import('js-yaml');
  out.write(dump(value, { noRefs: true, lineWidth: -1, skipInvalid: true }));
};

/** The formats of most commands. */
export const FORMATS = { table: (out, { table }) => table(out), json, yaml } as const satisfies Formats<CommandAnswer>;

/** The formats of a command that lists: `wide` has more columns. */
export const LIST_FORMATS = {
  table: FORMATS.table,
  wide: (out, { table, wide = table }) => wide(out),
  json,
  yaml,
} as const satisfies Formats<CommandAnswer>;

/** The formats of a command whose rows have names. */
export const NAME_FORMATS = {
  ...LIST_FORMATS,
  name: (out, { names = [] }) => out.write([...new Set(names)].map((name) => `${printable(name)}\n`).join('')),
} as const satisfies Formats<CommandAnswer>;

/** Writes rows as they come in a format for programs: JSON one after the other, YAML as documents of a stream. */
export async function writeInTurn(out: TextOutput, output: string, values: readonly unknown[]): Promise<void> {
  for (const value of values) {
    if (output === 'json') json(out, { value });
    else {
      out.write('---\n');
      await yaml(out, { value });
    }
  }
}

/** The formats of a command that prints a document for a program. */
export const DOCUMENT_FORMATS = { yaml, json } as const satisfies Formats<Omit<CommandAnswer, 'table'>>;

/** What a text means; its colour follows from it. */
export type Tone = 'good' | 'bad' | 'warn' | 'faint' | 'strong';

const COLOURS = { good: 'green', bad: 'red', warn: 'yellow', faint: 'dim', strong: 'bold' } as const;

/** The tones of the words for states, outcomes and severities. */
const WORDS: Readonly<Record<Tone, readonly string[]>> = {
  good: ['applied', 'create', 'created', 'current', 'done', 'healthy', 'new', 'synced', 'yes'],
  bad: ['conflict', 'error', 'failed', 'failing', 'no', 'not healthy', 'refused', 'unhealthy', 'unreachable'],
  warn: 'adopt change changed held kept left partial paused progressing removed looking suspended unknown warning'.split(
    ' ',
  ),
  faint: ['absent', 'asked', 'hidden', 'in progress', 'inProgress', 'pending', 'removing', 'terminating', 'unchanged'],
  strong: [],
};

/** The worst tone of words for a state, such as `synced, partial`; undefined if they have none. */
export function toneOf(words: string): Tone | undefined {
  const known = words.split(', ');
  return (['bad', 'warn', 'faint', 'good'] as const).find((tone) => known.some((word) => WORDS[tone].includes(word)));
}

/** The text in the colour of its tone, if the output shows colours. */
export function styled(out: TextOutput, tone: Tone | undefined, text: string): string {
  return tone === undefined || !out.colour ? text : styleText(COLOURS[tone], text, { validateStream: false });
}

/**
 * Whether a person reads a stream, and whether in colours: FORCE_COLOR says yes, or no with 0 or false; else NO_COLOR says no
 * (https://force-color.org, https://no-color.org); else a terminal has colours.
 */
export function terminalOf(isTty: boolean, env: Readonly<Record<string, string | undefined>>) {
  // Editors that parse the output of a command start it on a terminal that is called dumb.
  const isTerminal = isTty && env.TERM !== 'dumb';
  const { FORCE_COLOR: forced = '', NO_COLOR: refused = '' } = env;
  const colour = forced === '' ? isTerminal && refused === '' : !['0', 'false'].includes(forced.toLowerCase());
  return { isTerminal, colour };
}

/** A column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly text: (row: Row) => string;
  /** The text is a word for a state, and has its colour. */
  readonly isState?: true;
  /** Only the wide table has it. */
  readonly isWide?: true;
}

/** The answer that is a list. `none` is the line for an empty one; `value` is the list for programs, unless it is the rows. */
export function listAnswer<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  none: string,
  value: unknown = rows,
): CommandAnswer {
  const write = (isWide: boolean) => (out: TextOutput) =>
    rows.length === 0 ? out.write(`${none}\n`) : writeTable(out, columns, rows, { isWide });
  return { value, table: write(false), wide: write(true) };
}

/** Which columns a table has: with `isWide` all of them. */
interface TableOptions {
  readonly isWide?: boolean;
}

/** Writes rows under headings; every column but the last is padded to its widest text. */
export function writeTable<Row>(
  out: TextOutput,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  options: TableOptions = {},
): void {
  tableWriter(out, columns, options)(rows);
}

/** Writes one table in parts: the headings once, and each column as wide as its widest text until then. */
export function tableWriter<Row>(
  out: TextOutput,
  all: readonly Column<Row>[],
  { isWide: wantsAll = false }: TableOptions = {},
): (rows: readonly Row[]) => void {
  const columns = all.filter(({ isWide }) => wantsAll || isWide !== true);
  let titles = [columns.map(({ title }) => printable(title))];
  let widths: readonly number[] = columns.map(() => 0);
  return (rows) => {
    const lines = [...titles, ...rows.map((row) => columns.map(({ text }) => printable(text(row))))];
    titles = [];
    widths = widths.map((width, index) =>
      lines.reduce((most, line) => Math.max(most, line[index]?.length ?? 0), width),
    );
    for (const line of lines) {
      const cells = columns.map(({ isState }, index) => {
        const text = line[index] ?? '';
        const padded = index === columns.length - 1 ? text : text.padEnd(widths[index] ?? 0);
        return styled(out, isState === true ? toneOf(text) : undefined, padded);
      });
      out.write(`${cells.join('   ').trimEnd()}\n`);
    }
  };
}

/** Writes an empty line and the rows under their headings; nothing without rows. */
export function writeTableBelow<Row>(out: TextOutput, columns: readonly Column<Row>[], rows: readonly Row[]): void {
  if (rows.length === 0) return;
  out.write('\n');
  writeTable(out, columns, rows);
}

/** Writes each diagnostic on a line: `path:line:column: error CODE: message (hint)`. */
export function writeDiagnostics(out: TextOutput, diagnostics: readonly Diagnostic[]): void {
  for (const { severity, code, message, hint, at } of diagnostics) {
    const where = at === undefined ? '' : `${styled(out, 'strong', printablePath(displayLocation(at)))}: `;
    const more = hint === undefined ? '' : styled(out, 'faint', ` (${printable(hint)})`);
    out.write(`${where}${styled(out, toneOf(severity), severity)} ${printable(code)}: ${printable(message)}${more}\n`);
  }
}

/** Shows on a terminal that long work goes on, and for how many seconds, until it ends. Writes nothing elsewhere. */
export async function whileWaiting<Value>(out: TextOutput, what: string, work: () => Promise<Value>): Promise<Value> {
  if (!out.isTerminal) return work();
  const begun = performance.now();
  let isShown = false;
  const timer = setInterval(() => {
    isShown = true;
    out.write(`\r${what}, ${Math.round((performance.now() - begun) / 1_000)} s\u001b[K`);
  }, 1_000);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    if (isShown) out.write('\r\u001b[K');
  }
}

/** Writes each step on a line, in the form of kubectl. */
export function writeSteps(out: TextOutput, steps: readonly Step[]): void {
  for (const { what, outcome, where, message, dryRun } of steps) {
    const more = message === undefined ? '' : `: ${printable(message)}`;
    const unreal = dryRun === true ? ' (dry run)' : '';
    out.write(`${printable(what)} ${styled(out, toneOf(outcome), outcome)}${unreal} in ${printable(where)}${more}\n`);
  }
}
