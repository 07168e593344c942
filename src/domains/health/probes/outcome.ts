/** What a probe found. */
export type ProbeOutcome =
  | { readonly type: 'healthy' }
  /** `status`: of the application's answer from 400 on, else 503. `reason` is for the log. */
  | { readonly type: 'unhealthy'; readonly status: number; readonly reason: string }
  /** The request is no probe, or none that is listed. */
  | { readonly type: 'unknown'; readonly status: 503 | 404 };

/** The answer to a probe: its status, and its body without the line end. */
export function answerOf(outcome: ProbeOutcome): { readonly status: number; readonly word: string } {
  return { status: outcome.type === 'healthy' ? 200 : outcome.status, word: outcome.type.toUpperCase() };
}

/** An application that does not answer, or says that it is not well. */
export function unhealthy(reason: string, status = 503): ProbeOutcome {
  return { type: 'unhealthy', status, reason };
}
