/** Outcomes counted: applied, failed, held, pending and unreachable add up to targeted. */
export interface OutcomeCounts {
  readonly targeted: number;
  readonly applied: number;
  readonly failed: number;
  readonly held: number;
  readonly pending: number;
  readonly unreachable: number;
}
