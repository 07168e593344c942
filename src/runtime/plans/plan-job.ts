import type { SidedRef } from '../../engine/explain/plan-causes.ts';
import type { FileReading } from '../../model/desired.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import type { FileSignatures } from '../../model/file-signature.ts';
import type { SourceName } from '../../model/ids.ts';
import type { PlanView, PlanWarning } from '../../model/plan/plan.ts';

/** What is known of a planned revision before it is evaluated. */
export type PlanAbout = Pick<PlanView, 'source' | 'revision' | 'base' | 'at' | 'state' | 'notJudged'> & {
  /** The findings of its changed files. */
  readonly findings: readonly Diagnostic[];
  readonly warnings?: readonly PlanWarning[];
  /** Nothing is known of what clusters own, so that no guard can judge. */
  readonly withoutGuards?: true;
};

/** A revision to plan. */
export interface PlanQuestion {
  readonly source: SourceName;
  readonly changes: readonly { readonly path: string; readonly file: FileReading | null }[];
  readonly signatures?: FileSignatures;
  readonly about: PlanAbout;
}

/** What a plan is made of. */
export interface PlanJob {
  readonly question: PlanQuestion;
  /** A recording of the state that the revision is compared with, not masked, in texts. */
  readonly state: AsyncIterable<string>;
  /** Displays places, in the order of the references. */
  readonly places: (refs: readonly SidedRef[]) => Promise<readonly string[]>;
}

/** A finished plan. */
export interface FinishedPlan {
  /** The {@link PlanView} as JSON. */
  readonly json: string;
  readonly markdown: string;
  /** One line. */
  readonly summary: string;
  readonly hasChanges: boolean;
}

/** Evaluates a plan apart from the server. Rejects with a text for people. */
export type EvaluatePlan = (job: PlanJob, signal: AbortSignal) => Promise<FinishedPlan>;
