import { type FindingCode, type FindingReason, findings } from './finding-codes.ts';
import { compareText } from './json.ts';

/** A place in a file; lines and columns count from 1. */
export interface Location {
  readonly path: string;
  readonly line?: number;
  readonly column?: number;
}

/**
 * Something a person should know about an input. `code` and `reason` are constant and stand for each other; `message` says
 * what is wrong, `hint` what to do. Neither holds a secret. Made by {@link diagnosticOf} only.
 */
export interface Diagnostic {
  readonly severity: 'error' | 'warning';
  readonly code: FindingCode;
  readonly reason: FindingReason;
  readonly message: string;
  readonly hint?: string;
  readonly at?: Location;
}

/** The diagnostic, with the code of its reason. */
export function diagnosticOf({ severity, reason, ...said }: Omit<Diagnostic, 'code'>): Diagnostic {
  return { severity, code: findings[reason].code, reason, ...said };
}

/** What it says, without where: `message (hint)`. */
export function sentenceOf({ message, hint }: Diagnostic): string {
  return hint === undefined ? message : `${message} (${hint})`;
}

/** `path:line:column`, as editors and terminals understand it. */
export function displayLocation(at: Location): string {
  return [at.path, ...(at.line === undefined ? [] : [at.line, ...(at.column === undefined ? [] : [at.column])])].join(
    ':',
  );
}

/** One line: `path:line:column: error: message (hint)`. Without the code, which is for programs and for looking up. */
export function displayDiagnostic(diagnostic: Diagnostic): string {
  const where = diagnostic.at === undefined ? '' : `${displayLocation(diagnostic.at)}: `;
  return `${where}${diagnostic.severity}: ${sentenceOf(diagnostic)}`;
}

/** Orders diagnostics canonically: by path, line, column, reason and message. */
export function compareDiagnostics(a: Diagnostic, b: Diagnostic): number {
  return (
    compareText(a.at?.path ?? '', b.at?.path ?? '') ||
    (a.at?.line ?? 0) - (b.at?.line ?? 0) ||
    (a.at?.column ?? 0) - (b.at?.column ?? 0) ||
    compareText(a.reason, b.reason) ||
    compareText(a.message, b.message)
  );
}
