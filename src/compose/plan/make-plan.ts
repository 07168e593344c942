import type { EngineDiagnostic } from '../../engine/domain.ts';
import { type EnginePlan, planOf } from '../../engine/explain/plan.ts';
import type { SidedRef } from '../../engine/explain/plan-causes.ts';
import { warningsOf } from '../../engine/explain/plan-warnings.ts';
import type { Engine } from '../../engine/graph.ts';
import { engineDiagnostics } from '../../engine/status/diagnostics.ts';
import { displayDiagnostic } from '../../model/fleet/diagnostic.ts';
import type { PlanView } from '../../model/plan/plan.ts';
import { createComparison } from '../../model/text/field-diff.ts';
import { clusterPlans, summaryOf } from '../../runtime/api/plan-view.ts';
import type { PlanAbout } from '../../runtime/plans/plan-job.ts';

/** What a plan needs besides the engine. */
export interface PlanDeps {
  /** Displays the place of a document or a value as `path:line:column`, with its source if there are several. */
  readonly place: (ref: SidedRef) => Promise<string>;
}

/** Stages the changes of a revision in an engine that nothing else uses, and says what they do. */
export async function makePlan(engine: Engine, stage: () => void, about: PlanAbout, deps: PlanDeps): Promise<PlanView> {
  const { findings, warnings = [], withoutGuards, ...rest } = about;
  const known = new Set(engineDiagnostics(engine).map(keyOf));
  const plan: EnginePlan = planOf(engine, stage, withoutGuards === true ? 'unguarded' : 'guarded');
  const compare = createComparison();
  const brought = engineDiagnostics(engine).filter((finding) => !known.has(keyOf(finding)));
  return {
    ...rest,
    summary: summaryOf(plan),
    clusters: await clusterPlans(plan, deps.place, compare),
    warnings: [...warnings, ...warningsOf(engine, plan.objects, compare)],
    findings: [
      ...findings.map(displayDiagnostic),
      ...(await Promise.all(brought.map((each) => sentenceOf(each, deps)))),
    ],
  };
}

function keyOf({ severity, reason, message, at }: EngineDiagnostic): string {
  return JSON.stringify([severity, reason, message, at]);
}

/** See {@link displayDiagnostic}. */
async function sentenceOf({ severity, message, hint, at: [first] }: EngineDiagnostic, { place }: PlanDeps) {
  const where = first === undefined ? '' : `${await place({ ...first, side: 'after' })}: `;
  return `${where}${severity}: ${message}${hint === undefined ? '' : ` (${hint})`}`;
}
