import { given } from '../../model/values/given.ts';
/** What a check found about one thing. Holds no secret. */
export interface Finding {
  /** `error`: it does not work. `warning`: it will not, or not as meant. `ok`: looked at, and well. `unknown`: it could not be looked at. */
  readonly severity: 'error' | 'warning' | 'ok' | 'unknown';
  readonly area: 'server' | 'source' | 'cluster' | 'repository' | 'kubernetes';
  /** Constant UpperCamelCase word. */
  readonly reason: string;
  /** An address, a source, a cluster, `file:line:column`, an object; of a check that failed, its id. */
  readonly where: string;
  readonly what: string;
  /** What mends it: a command, or a sentence. */
  readonly fix?: string | undefined;
}

/** A finding as a check gives it: its row in the table of checks says the area. */
export type Found = Omit<Finding, 'area'>;

/** A row of what a check finds about one thing, if `when` holds. `fix` is left out where the table of fixes has the reason. */
export type Row = readonly [
  when: boolean,
  severity: Finding['severity'],
  reason: string,
  what: string,
  fix?: string | undefined,
];

/** What mends a finding, by its reason. */
export type Fixes = Readonly<Record<string, string>>;

/** The rows about one thing that hold, as findings. */
export function foundAt(where: string, rows: readonly Row[], fixes: Fixes = {}): readonly Found[] {
  return rows.flatMap(([when, severity, reason, what, fix = fixes[reason]]) =>
    when ? [{ severity, reason, where, what, ...given({ fix }) }] : [],
  );
}

/** The first row that holds, of rows that exclude each other. */
export function firstOf(rows: readonly Row[]): readonly Row[] {
  return rows.filter(([when]) => when).slice(0, 1);
}
