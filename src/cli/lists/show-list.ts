import { printable } from '../../model/text/printable.ts';
import type { Api } from '../api.ts';
import type { ProcessContext } from '../command.ts';
import { follow } from '../follow.ts';
import { type CommandAnswer, tableWriter, WRITTEN, writeInTurn, writeTable } from '../output.ts';
import type { ListedRow, ListFilter } from './listed-kind.ts';
import type { Wanted } from './wanted.ts';

/** What is listed, and how. */
export interface ListRequest extends Wanted {
  readonly filter: ListFilter;
  /** One of the formats `table`, `wide`, `json`, `yaml` and `name`. */
  readonly output: string;
  /** The format `table` has all columns. */
  readonly isWide?: boolean;
  /** Goes on and shows changes until a signal stops the process. */
  readonly watch: boolean;
  /** The line for an empty list. */
  readonly none: string;
}

/** Lists what is wanted, or follows it. */
export async function showList(context: ProcessContext, api: Api, request: ListRequest): Promise<CommandAnswer> {
  const { kind, words, filter, none, watch } = request;
  const isWide = request.isWide === true || request.output === 'wide';
  const ask = (): Promise<readonly ListedRow[]> => kind.ask(api, filter, words);
  const rows = await ask();
  if (watch) return followList(context, { ...request, isWide }, rows, () => kind.ask(api, filter, words, true));
  const write = (wide: boolean) => (out: ProcessContext['stdout']) =>
    rows.length === 0 ? out.write(`${none}\n`) : writeTable(out, kind.columns, rows, { isWide: wide });
  const names = rows.map(({ name }) => name);
  return { value: rows.map(({ value }) => value), table: write(isWide), wide: write(true), names };
}

async function followList(
  context: ProcessContext,
  { kind, none, output, isWide = false }: ListRequest,
  first: readonly ListedRow[],
  ask: () => Promise<readonly ListedRow[]>,
): Promise<CommandAnswer> {
  const { stdout: out, stderr } = context;
  const isTable = output === 'table' || output === 'wide';
  if (first.length === 0) stderr.write(`${none}; waiting\n`);
  const writeRows = tableWriter(out, kind.columns, { isWide });
  const writeNames = (rows: readonly ListedRow[]): void =>
    rows.forEach(({ name }) => void out.write(`${printable(name)}\n`));
  const writeValues = (rows: readonly ListedRow[]) =>
    writeInTurn(
      out,
      output,
      rows.map(({ value }) => value),
    );
  await follow(context, first, {
    ask,
    nameOf: ({ id }) => id,
    show: isTable ? writeRows : output === 'name' ? writeNames : writeValues,
    gone: (id) => (isTable ? out : stderr).write(`${kind.one} ${printable(id)} is gone\n`),
  });
  return WRITTEN;
}
