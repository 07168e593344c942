/** Something that a check found, good or bad. Holds no secret. */
export interface Finding {
  /** `error`: it does not work. `warning`: it will not, or not as meant. `ok`: looked at, and well. `unknown`: it could not be looked at. */
  readonly severity: 'error' | 'warning' | 'ok' | 'unknown';
  readonly area: 'server' | 'source' | 'cluster' | 'repository' | 'kubernetes';
  /** Constant UpperCamelCase word. */
  readonly reason: string;
  /** An address, a source, a cluster, `file:line:column`, an object. */
  readonly where: string;
  readonly what: string;
  /** What to do: a command, or a sentence. */
  readonly fix?: string;
}
