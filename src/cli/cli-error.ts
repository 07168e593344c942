import type { ExitCode } from './exit-codes.ts';

/** An expected end of a command: what a person reads, and the exit code. No stack trace is shown for it. */
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
