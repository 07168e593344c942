import type { FindingReason } from '../../model/diagnostic.ts';
import type { WrittenPath } from '../../model/field-path.ts';
import type { DocumentRef } from '../fleet/sources.ts';

/** A value of a document. */
export interface ValueRef extends DocumentRef {
  /** Absent: the document as a whole. */
  readonly field?: WrittenPath;
}

/** A finding of the engine about what is declared. */
export interface EngineDiagnostic {
  readonly severity: 'error' | 'warning';
  readonly reason: FindingReason;
  readonly message: string;
  /** The values at fault, the one that it is about first. Empty: it is about no document. */
  readonly at: readonly ValueRef[];
}
