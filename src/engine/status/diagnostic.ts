import type { DocumentRef } from '../fleet/sources.ts';

/** A finding of the engine about what is declared. */
export interface EngineDiagnostic {
  readonly severity: 'error' | 'warning';
  readonly reason: string;
  readonly message: string;
  /** Where it stands: the document that it is about first. */
  readonly at: readonly DocumentRef[];
}
