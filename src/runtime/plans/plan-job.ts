import type { SidedRef } from '../../engine/explain/plan-causes.ts';
import type { Diagnostic } from '../../model/fleet/diagnostic.ts';
import type { SourceName } from '../../model/fleet/ids.ts';
import type { PlanView, PlanWarning } from '../../model/plan/plan.ts';
import type { RefChanges, RefReading, RefRefusal } from '../../ports/source.ts';

/** What is known of a planned revision before it is evaluated. */
export type PlanAbout = Pick<PlanView, 'source' | 'revision' | 'base' | 'at' | 'state' | 'notJudged'> & {
  /** The findings of its changed files. */
  readonly findings: readonly Diagnostic[];
  readonly warnings?: readonly PlanWarning[];
  /** Nothing is known of what clusters own, so that no guard can judge. */
  readonly withoutGuards?: true;
};

/** A revision to plan, as plain data. */
export interface PlanQuestion {
  readonly source: SourceName;
  /** As it was asked for. */
  readonly ref: string;
  readonly reading: RefChanges['reading'];
  readonly conflicts: RefChanges['conflicts'];
  /** What is known before the revision is read. */
  readonly about: Omit<PlanAbout, 'findings' | 'notJudged' | 'withoutGuards'>;
}

/** What a plan is made of. */
export interface PlanJob {
  readonly question: PlanQuestion;
  /** The changes of the revision, which are not read, and what reading them needs. */
  readonly changes: Pick<RefChanges, 'changes' | 'tree' | 'readBlob' | 'signaturesOf'>;
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

/**
 * Reads a revision and evaluates its plan, apart from the server. A revision above a limit is refused. Rejects with a text for people.
 */
export type EvaluatePlan = (job: PlanJob, signal: AbortSignal) => Promise<FinishedPlan | RefRefusal>;

/** All that is known of a revision after it was read. */
export function planAbout(
  { about, conflicts }: Pick<PlanQuestion, 'about' | 'conflicts'>,
  { changes, mustBeAccepted, findings }: RefReading,
): PlanAbout {
  const { warnings = [], revision } = about;
  return {
    ...about,
    notJudged: notJudged(changes),
    findings,
    warnings: [
      ...conflicts.map((path) =>
        warningOf(
          'ChangedOnBothSides',
          `${path} has changed on both sides: the plan takes the file of ${revision.slice(0, 12)}, where git may take parts of both`,
        ),
      ),
      ...(mustBeAccepted === undefined
        ? []
        : [warningOf('MustBeAccepted', `nothing changes before a person accepts the revision: ${mustBeAccepted}`)]),
      ...warnings,
    ],
  };
}

/** A warning about the plan as a whole. */
export function warningOf(reason: PlanWarning['reason'], message: string): PlanWarning {
  return { reason, message, clusters: [] };
}

function notJudged(changes: RefReading['changes']): readonly string[] {
  const hasApproval = changes.some(
    ({ file }) =>
      file?.readable === true &&
      file.documents.some(({ content }) => content.type === 'declaration' && content.kind === 'RemovalApproval'),
  );
  return hasApproval
    ? ['what its RemovalApprovals release: a person approves what is held at the time of the merge']
    : [];
}
