import type { ViewFilter } from '../../model/fleet/view-filter.ts';
import { type LabelSelector, matchesLabels } from '../../model/objects/label-selector.ts';
import { suggestion } from '../../model/text/messages.ts';
import { printable } from '../../model/text/printable.ts';
import type { Api } from '../api.ts';
import { CliError, EXIT } from '../exit-codes.ts';
import type { Column } from '../output.ts';

/** Limits a list. */
export interface ListFilter {
  readonly namespace?: string;
  readonly selector?: LabelSelector;
  readonly cluster?: string;
  /** Filters of domains, by name. */
  readonly own?: ViewFilter;
}

/** A row of any list. */
export interface ListedRow {
  /** As `-o name` prints it: `cluster/east`. */
  readonly name: string;
  /** No two rows of a list have it in common. */
  readonly id: string;
  /** For programs. */
  readonly value: unknown;
  /** A text for each column. */
  readonly cells: readonly string[];
}

/** A kind of thing that a server lists, as {@link listedKind} makes it. */
export interface ListedKind extends KindNames {
  /** The names of the filters that limit it. */
  readonly filters: readonly string[];
  readonly columns: readonly Column<ListedRow>[];
  /** Asks for the rows that the filter and one of the words select. Rejects if a word selects none, unless that `isFine`. */
  readonly ask: (
    api: Api,
    filter: ListFilter,
    words: readonly string[],
    isFine?: boolean,
  ) => Promise<readonly ListedRow[]>;
}

/** How people name a kind. */
export interface KindNames {
  /** `clusters`. */
  readonly name: string;
  /** Other words for it, the singular first. */
  readonly words: readonly [string, ...string[]];
  /** In a sentence: `there is no data plane`. */
  readonly one: string;
  readonly many: string;
  /** What it lists, without a full stop. */
  readonly what: string;
  /** How a word names a row, for the help. */
  readonly naming: string;
}

/** What the list of one kind is made of. */
interface KindSpec<Row> extends Omit<KindNames, 'one' | 'many'> {
  /** Absent: the first of `words`. */
  readonly one?: string;
  /** Absent: `name`. */
  readonly many?: string;
  /** The names of the filters that the server, or `ask`, obeys. */
  readonly asked?: readonly string[];
  readonly columns: readonly Column<Row>[];
  readonly ask: (api: Api, filter: ListFilter) => Promise<readonly Row[]>;
  readonly nameOf: (row: Row) => string;
  /** What `-o name` prints; absent: the singular, a slash and the name. */
  readonly fullNameOf?: (row: Row) => string;
  /** Tells rows with one name apart; absent: no two rows have one name. */
  readonly idOf?: (row: Row) => string;
  /** Whether a word selects the row; absent: it does if it is the name. */
  readonly isNamed?: (row: Row, word: string) => boolean;
  /** Whether a word selects rows, and it is no error if there are none. */
  readonly isFilter?: (word: string) => boolean;
  readonly namespaceOf?: (row: Row) => string;
  readonly clusterOf?: (row: Row) => string;
  readonly labelsOf?: (row: Row) => Readonly<Record<string, string>>;
}

/** Makes a kind: its rows are asked for, limited and named in one way. */
export function listedKind<Row>(spec: KindSpec<Row>): ListedKind {
  const { name, words, what, naming, columns, asked = [], clusterOf, namespaceOf, labelsOf, nameOf } = spec;
  const own = {
    ...(clusterOf && { cluster: clusterOf }),
    ...(namespaceOf && { namespace: namespaceOf }),
    ...(labelsOf && { selector: labelsOf }),
  };
  const names = { name, words, one: spec.one ?? words[0], many: spec.many ?? name, what, naming };
  const isLeft = (row: Row, { cluster, namespace, selector }: ListFilter): boolean =>
    (cluster === undefined || clusterOf === undefined || clusterOf(row) === cluster) &&
    (namespace === undefined || namespaceOf?.(row) === namespace) &&
    (selector === undefined || (labelsOf !== undefined && matchesLabels(selector, labelsOf(row))));
  const listed = (row: Row): ListedRow => ({
    name: spec.fullNameOf?.(row) ?? `${spec.words[0]}/${nameOf(row)}`,
    id: spec.idOf?.(row) ?? nameOf(row),
    value: row,
    cells: columns.map(({ text }) => text(row)),
  });
  return {
    ...names,
    filters: [...new Set([...asked, ...Object.keys(own)])],
    columns: columns.map((column, at) => ({ ...column, text: ({ cells }) => cells[at] ?? '' })),
    ask: async (api, filter, asking, isFine = false) => {
      const rows = (await spec.ask(api, filter)).filter((row) => isLeft(row, filter));
      return (asking.length === 0 ? rows : namedRows({ ...spec, ...names }, rows, asking, isFine)).map(listed);
    },
  };
}

/** The part of a filter that a view of the server knows. */
export function asView({ cluster, own }: ListFilter): ViewFilter {
  return { ...own, ...(cluster === undefined ? {} : { cluster: [cluster] }) };
}

function namedRows<Row>(
  spec: KindSpec<Row>,
  rows: readonly Row[],
  words: readonly string[],
  isFine: boolean,
): readonly Row[] {
  const { nameOf, isNamed = (row: Row, word: string) => nameOf(row) === word, isFilter } = spec;
  for (const word of words) {
    if (isFine || isFilter?.(word) === true || rows.some((row) => isNamed(row, word))) continue;
    const meant = suggestion(word, rows.map(nameOf));
    const hint = meant === undefined ? undefined : `did you mean ${printable(meant)}?`;
    throw new CliError(EXIT.notFound, `there is no ${spec.one} ${printable(word)}`, hint);
  }
  return rows.filter((row) => words.some((word) => isNamed(row, word)));
}
