/** What a check found about one thing. Holds no secret. */
export interface Finding {
  /** `error`: it does not work. `warning`: it will not, or not as meant. `ok`: looked at, and well. `unknown`: it could not be looked at. */
  readonly severity: 'error' | 'warning' | 'ok' | 'unknown';
  readonly area: 'server' | 'source' | 'cluster' | 'repository' | 'kubernetes';
  /** Constant UpperCamelCase word. */
  readonly reason: string;
  /** An address, a source, a cluster, `file:line:column`, an object. */
  readonly where: string;
  readonly what: string;
  /** What mends it: a command, or a sentence. */
  readonly fix?: string | undefined;
}

/** A row of the table of a check. It is a finding if `when` holds. `fix` is left out where the table of fixes has the reason. */
export type Row = readonly [
  when: boolean,
  severity: Finding['severity'],
  reason: string,
  what: string,
  fix?: string | undefined,
];

/** What mends a finding, by its reason. */
export type Fixes = Readonly<Record<string, string>>;

/** The rows of one thing that hold, as findings. */
export function findingsOf(
  at: Pick<Finding, 'area' | 'where'>,
  rows: readonly Row[],
  fixes: Fixes = {},
): readonly Finding[] {
  return rows.flatMap(([when, severity, reason, what, fix = fixes[reason]]) =>
    when ? [{ severity, ...at, reason, what, ...(fix === undefined ? {} : { fix }) }] : [],
  );
}

/** The first row that holds, of rows that exclude each other. */
export function firstOf(rows: readonly Row[]): readonly Row[] {
  const found = rows.find(([when]) => when);
  return found === undefined ? [] : [found];
}
