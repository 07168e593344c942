import type { PlanView } from '../../model/plan/plan.ts';
import { planMarkdown } from '../../model/plan/plan-markdown.ts';
import { hasChanges, sumOf } from '../../model/plan/plan-text.ts';
import { counted } from '../../model/text/messages.ts';
import type { FinishedPlan } from '../../runtime/plans/plan-job.ts';

/** A server holds a plan as text until its reader has it. */
const MOST_CHARACTERS = 64 * 1024 * 1024;
/** More than a host of pull requests takes of a comment. */
const MARKDOWN_CHARACTERS = 128 * 1024;

/** The texts of a plan. Throws a text for people if the plan is too large. */
export function finishedPlan(plan: PlanView): FinishedPlan {
  return {
    json: jsonOf(plan),
    markdown: planMarkdown(plan, MARKDOWN_CHARACTERS),
    summary: sumOf(plan.summary),
    hasChanges: hasChanges(plan),
  };
}

/** The JSON of a plan, made cluster by cluster, so that one that is too large is noticed in time. */
function jsonOf({ clusters, ...rest }: PlanView): string {
  const head = JSON.stringify({ ...rest, clusters: [] });
  const parts: string[] = [];
  let length = head.length;
  for (const cluster of clusters) {
    const text = JSON.stringify(cluster);
    length += text.length + 1;
    if (length > MOST_CHARACTERS) {
      const changes = clusters.reduce((sum, each) => sum + each.changes.length, 0);
      throw new Error(
        `the plan is larger than ${MOST_CHARACTERS} characters: ${counted(changes, 'change')} in ${counted(clusters.length, 'cluster')}; plan a smaller change`,
      );
    }
    parts.push(text);
  }
  return `${head.slice(0, head.lastIndexOf('[]}'))}[${parts.join(',')}]}`;
}
