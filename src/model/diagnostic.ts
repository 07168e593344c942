/** A place in a file; lines and columns count from 1. */
export interface Location {
  readonly path: string;
  readonly line?: number;
  readonly column?: number;
}

/**
 * Something a person should know about an input. `reason` is a constant UpperCamelCase word that programs can match;
 * `message` says what is wrong, `hint` what to do. Neither holds a secret.
 */
export interface Diagnostic {
  readonly severity: 'error' | 'warning';
  readonly reason: string;
  readonly message: string;
  readonly hint?: string;
  readonly at?: Location;
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

/** One line: `path:line:column: error: message (hint)`. */
export function displayDiagnostic(diagnostic: Diagnostic): string {
  const where = diagnostic.at === undefined ? '' : `${displayLocation(diagnostic.at)}: `;
  return `${where}${diagnostic.severity}: ${sentenceOf(diagnostic)}`;
}
