import type { PlannedChange, PlanView } from '../model/plan/plan.ts';
import {
  ACTIONS,
  groupsOf,
  hasChanges,
  namedClusters,
  shortRevision,
  shownChange,
  shownReasons,
  sumOf,
} from '../model/plan/plan-text.ts';
import { printable } from '../model/text/printable.ts';
import { styled, type TextOutput, type Tone } from './output.ts';

const TONES: Readonly<Record<PlannedChange['action'], Tone>> = {
  create: 'good',
  change: 'warn',
  move: 'faint',
  remove: 'bad',
  hold: 'warn',
  stay: 'faint',
  leave: 'warn',
  cancel: 'faint',
};

/** Writes a plan for a terminal. */
export function writePlan(out: TextOutput, plan: PlanView): void {
  const { source, revision, base, summary, findings, moved, notJudged } = plan;
  const { all = [], some = [] } = Object.groupBy(plan.warnings, ({ object, clusters }) =>
    object === undefined && clusters.length === 0 ? 'all' : 'some',
  );
  out.write(`${printable(`${source}: ${shortRevision(revision)} compared with ${shortRevision(base)}`)}\n`);
  // A reader of a long plan must know first what is wrong with all of it.
  writeWarnings(out, all);
  for (const { clusters, waits, changes } of groupsOf(plan)) {
    const why = waits === undefined ? '' : styled(out, 'warn', ` (${printable(waits)})`);
    out.write(`\n${styled(out, 'strong', printable(namedClusters(clusters)))}${why}\n`);
    for (const change of changes) writeChange(out, change);
  }
  if (some.length > 0) out.write('\n');
  writeWarnings(out, some);
  if (findings.length > 0) out.write('\n');
  for (const finding of findings) out.write(`${printable(finding)}\n`);
  if (moved !== undefined)
    out.write(moved.length === 0 ? '\nNothing has moved.\n' : '\nMoved since the earlier plan:\n');
  for (const sentence of moved ?? []) out.write(`  ${printable(sentence)}\n`);
  if (notJudged.length > 0) out.write('\nNot judged:\n');
  for (const sentence of notJudged) out.write(`  ${printable(sentence)}\n`);
  out.write(`\n${styled(out, hasChanges(plan) ? 'strong' : undefined, `Plan: ${sumOf(summary)}`)}\n`);
}

function writeWarnings(out: TextOutput, warnings: PlanView['warnings']): void {
  for (const { reason, message, object, clusters } of warnings) {
    const about = [object, clusters.length === 0 ? undefined : `in ${namedClusters(clusters)}`];
    const where = about.filter((part) => part !== undefined).join(' ');
    const text = where === '' ? message : `${where}: ${message}`;
    out.write(`${styled(out, 'warn', 'warning')} ${reason}: ${printable(text)}\n`);
  }
}

function writeChange(out: TextOutput, change: PlannedChange): void {
  const { object, action, reason, message, fields = [], moreFields = 0 } = change;
  const { sign, word } = ACTIONS[action];
  const why = shownReasons(change);
  const places = why === '' ? '' : `   ${styled(out, 'faint', printable(why))}`;
  out.write(`  ${styled(out, TONES[action], `${sign} ${word}`)} ${printable(object)}${places}\n`);
  if (reason !== undefined) out.write(`      held: ${printable(`${reason}: ${message ?? ''}`)}\n`);
  for (const field of fields) {
    const place = field.at === undefined ? '' : `   ${styled(out, 'faint', printable(field.at))}`;
    out.write(`      ${printable(`${field.path}: ${shownChange(field)}`)}${place}\n`);
  }
  if (moreFields > 0) out.write(`      and ${moreFields} more fields\n`);
}
