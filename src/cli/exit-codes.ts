/** What the exit code of every command means. */
export const EXIT = {
  ok: 0,
  notWell: 1,
  usage: 2,
  unreachable: 3,
  refused: 4,
  notFound: 5,
  internal: 70,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** One line for each exit code, for help and documents. */
export const EXIT_CODE_MEANINGS: readonly (readonly [code: ExitCode, meaning: string])[] = [
  [EXIT.ok, 'done, nothing is wrong'],
  [EXIT.notWell, 'something is wrong: invalid manifests, a fleet out of sync, a server that cannot start'],
  [EXIT.usage, 'the command line is wrong'],
  [EXIT.unreachable, 'no server answers, or not in time'],
  [
    EXIT.refused,
    'the server refused: a missing or wrong token or certificate, a role without permission, or a state that does not allow it',
  ],
  [EXIT.notFound, 'there is no such cluster, object, source, revision or held removal'],
  [EXIT.internal, 'a bug in fleetrelay'],
  [EXIT.interrupted, 'stopped before the end: a command by Ctrl-C, a server or an agent by a second one'],
];

/** An expected failure of a command: its message, what to do about it, and the exit code. No stack trace is shown for it. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;
  readonly hint: string | undefined;

  constructor(exitCode: ExitCode, message: string, hint?: string) {
    super(message);
    this.exitCode = exitCode;
    this.hint = hint;
  }
}

/** A usage error, if `when` holds. */
export type UsageRow = readonly [when: boolean, problem: string, hint?: string];

/** Throws a usage error for the first row that holds. */
export function refuseUsage(rows: readonly UsageRow[]): void {
  const [, problem = '', hint] = rows.find(([when]) => when) ?? [];
  if (problem !== '') throw new CliError(EXIT.usage, problem, hint);
}
