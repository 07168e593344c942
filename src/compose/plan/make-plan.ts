import type { EngineDiagnostic } from '../../engine/domain.ts';
import { type EnginePlan, planOf } from '../../engine/explain/plan.ts';
import type { SidedRef } from '../../engine/explain/plan-causes.ts';
import { warningsOf } from '../../engine/explain/plan-warnings.ts';
import type { Engine } from '../../engine/graph.ts';
import { engineDiagnostics } from '../../engine/status/diagnostics.ts';
import { type Diagnostic, diagnosticOf, displayLocation, type Location } from '../../model/diagnostic.ts';
import type { PlanView, PlanWarning } from '../../model/plan/plan.ts';
import { clusterPlans, summaryOf } from '../../runtime/api/plan-view.ts';

/** What a plan needs besides the engine. */
export interface PlanDeps {
  /** Finds the line of a document. */
  readonly locate: (ref: SidedRef) => Promise<Location>;
  /** Displays a place, with its source if there are several. */
  readonly displayPlace?: (ref: SidedRef, at: Location) => string;
}

/** What is known of the planned revision before it is evaluated. */
export type PlanAbout = Pick<PlanView, 'source' | 'revision' | 'base' | 'at' | 'notJudged'> & {
  /** The findings of its changed files. */
  readonly findings: readonly Diagnostic[];
  readonly warnings?: readonly PlanWarning[];
  /** Nothing is known of what clusters own, so that no guard can judge. */
  readonly withoutGuards?: true;
};

/** Stages the changes of a revision in an engine that nothing else uses, and says what they do. */
export async function makePlan(engine: Engine, stage: () => void, about: PlanAbout, deps: PlanDeps): Promise<PlanView> {
  const { findings, warnings = [], withoutGuards, ...rest } = about;
  const known = new Set(engineDiagnostics(engine).map(keyOf));
  const plan: EnginePlan = planOf(engine, stage, withoutGuards === true ? 'unguarded' : 'guarded');
  const brought = engineDiagnostics(engine).filter((finding) => !known.has(keyOf(finding)));
  const { locate, displayPlace = (_ref, at) => displayLocation(at) } = deps;
  return {
    ...rest,
    summary: summaryOf(plan),
    clusters: await clusterPlans(plan, async (ref) => displayPlace(ref, await locate(ref))),
    warnings: [...warnings, ...warningsOf(engine, plan.objects)],
    findings: [...findings, ...(await Promise.all(brought.map((finding) => located(finding, locate))))],
  };
}

function keyOf({ severity, reason, message, at }: EngineDiagnostic): string {
  return JSON.stringify([severity, reason, message, at]);
}

async function located(
  { severity, reason, message, hint, at: [first] }: EngineDiagnostic,
  locate: PlanDeps['locate'],
): Promise<Diagnostic> {
  const at = first === undefined ? undefined : await locate({ ...first, side: 'after' });
  return diagnosticOf({
    ...{ severity, reason, message },
    ...(hint === undefined ? {} : { hint }),
    ...(at === undefined ? {} : { at }),
  });
}
