import { compareText } from '../text/json.ts';
import { findings } from './findings.ts';

/** Constant UpperCamelCase word, for programs. */
export type FindingReason = keyof typeof findings;

/** The stable code of a reason, as `FR1010`. */
export type FindingCode = (typeof findings)[FindingReason]['code'];

/** A place in a file; lines and columns count from 1. */
export interface Location {
  readonly path: string;
  readonly line?: number;
  readonly column?: number;
}

/** Replaces the text from `start` to `end`. Offsets count UTF-16 units of the file's text without its byte order mark. */
export interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * A finding about an input. Each `reason` has one `code`. `message` describes the problem, `hint` what to do; neither
 * contains a secret. Only {@link diagnosticOf} creates diagnostics.
 */
export interface Diagnostic {
  readonly severity: 'error' | 'warning';
  readonly code: FindingCode;
  readonly reason: FindingReason;
  readonly message: string;
  readonly hint?: string;
  readonly at?: Location;
  /** Changes of the file that mend the finding and nothing else, in the order of the text. They hold no secret. */
  readonly fix?: readonly TextEdit[];
}

/** Adds the code of the reason. */
export function diagnosticOf({ severity, reason, ...rest }: Omit<Diagnostic, 'code'>): Diagnostic {
  return { severity, code: findings[reason].code, reason, ...rest };
}

/** `message (hint)`, without the place. */
export function sentenceOf({ message, hint }: Diagnostic): string {
  return hint === undefined ? message : `${message} (${hint})`;
}

/** `path:line:column`, as editors and terminals understand it. */
export function displayLocation({ path, line, column }: Location): string {
  return [path, line, column].filter((part) => part !== undefined).join(':');
}

/** One line: `path:line:column: error: message (hint)`, without the code. */
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
