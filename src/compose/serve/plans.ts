import { decoders } from '../../domains/decoders.ts';
import { type LocateAll, locateHere } from '../../manifest/locate.ts';
import type { Locator } from '../../runtime/api/locator.ts';
import type { ServerParts } from '../../runtime/parts.ts';
import type { EvaluatePlan } from '../../runtime/plans/plan-job.ts';
import { createPlanner } from '../../runtime/plans/planner.ts';
import { createCapture } from '../../runtime/recording/capture.ts';
import type { KeyedHash } from '../../runtime/recording/mask.ts';

/** What plans and recordings need of the process. */
export interface PlanSetup {
  readonly evaluate: EvaluatePlan;
  /** Whether refs of forks of this source may be planned. */
  readonly allowsForks: (source: string) => boolean;
  /** Makes a keyed hash under a fresh key. */
  readonly keyedHash: () => KeyedHash;
}

interface PlanOptions {
  readonly fleet: string;
  readonly version: string;
  readonly locator: Locator;
  /** Absent: the server makes neither plans nor recordings. */
  readonly plans?: PlanSetup;
  /** Absent: lines are found in this thread. */
  readonly locate?: LocateAll;
}

/** What the API needs for plans and recordings. */
export function createPlans(
  parts: ServerParts,
  { fleet, version, locator, plans = NO_PLANS, locate = locateHere(decoders) }: PlanOptions,
) {
  const revisions = () =>
    parts.sources
      .all()
      .flatMap(({ source: { name }, admitted }) =>
        admitted === undefined ? [] : [{ source: name, revision: admitted.revision }],
      );
  const capture = createCapture({ ...parts, fleet, version, revisions });
  return {
    capture,
    planner: createPlanner({ ...parts, ...plans, capture, locator, locate }),
    keyedHash: plans.keyedHash,
  };
}

const NO_PLANS: PlanSetup = {
  evaluate: () => Promise.reject(new Error('this server makes no plans')),
  allowsForks: () => false,
  keyedHash: () => {
    throw new Error('this server makes no recordings');
  },
};
